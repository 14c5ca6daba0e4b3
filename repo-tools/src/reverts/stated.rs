//! The commits that a message states to revert, in git's words.

/// Git's words before the id of the reverted commit, at the beginning of a line.
pub(super) const REVERTS: &str = "This reverts commit ";
/// Git's words between the id of a reverted merge and that of the parent whose side stays.
const SIDE: &str = ", reversing changes made to ";
/// Maximum number of commits that one message states. `git revert` states one, and a forge joins the messages of a squashed
/// branch.
const MOST_STATED: usize = 4;
/// Minimum length of an abbreviated id: git's own abbreviations have at least 7 digits.
const SHORTEST_ID: usize = 7;

/// A reverted commit as a message names it, in hexadecimal; ids can be abbreviated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatedRevert<'m> {
    pub(super) commit: &'m str,
    /// The parent whose side stays.
    pub(super) side: Option<&'m str>,
}

/// The different commits that a message names, the first ones.
pub(super) fn stated(message: &str) -> Vec<StatedRevert<'_>> {
    let mut stated = Vec::new();
    let mut lines = message.lines().peekable();
    while let Some(line) = lines.next() {
        // A forge indents the messages of a squashed branch.
        let Some((commit, rest)) = line.trim_start().strip_prefix(REVERTS).and_then(id) else {
            continue;
        };
        let revert = StatedRevert { commit, side: side(rest, lines.peek().copied().unwrap_or_default()) };
        if !stated.contains(&revert) {
            stated.push(revert);
        }
        if stated.len() == MOST_STATED {
            break;
        }
    }
    stated
}

/// The id of the parent whose side stays, from the rest of a sentence after the id of a merge. Git wraps the sentence after
/// `reversing`. After an abbreviated id, the subject and the date of the commit follow in parentheses.
fn side<'m>(rest: &'m str, next_line: &'m str) -> Option<&'m str> {
    let has_details = rest.starts_with(" (");
    let after = |text: &'m str, words: &str| {
        let start = text.rfind(words)?;
        let is_next = start == 0 || has_details && text[..start].ends_with(')');
        is_next.then(|| &text[start + words.len()..])
    };
    let (wrapped, continued) = SIDE.split_at(SIDE.find(" changes")?);
    let text = after(rest, SIDE).or_else(|| {
        let is_wrapped = after(rest.trim_end(), wrapped)?.is_empty();
        next_line.trim_start().strip_prefix(continued.trim_start()).filter(|_| is_wrapped)
    });
    Some(id(text?)?.0)
}

/// The object id at the beginning of a text, and the rest.
fn id(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    let is_word = text[end..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    let is_id = matches!(end, SHORTEST_ID..=40 | 64) && is_word;
    is_id.then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::stated;

    #[test]
    fn git_and_forges_state_reverts_in_these_forms() {
        let [one, two] = ["1234567890".repeat(4), "abcdef7890".repeat(4)];
        let long = "0123abcd".repeat(8);
        type Stated<'a> = &'a [(&'a str, Option<&'a str>)];
        let both: Stated<'_> = &[(&one, Some(&two))];
        let alone: Stated<'_> = &[(&one, None)];
        let short: Stated<'_> = &[("603d58a", Some("84fb4f9"))];
        let cases: [(String, Stated<'_>); 19] = [
            (format!("Revert\n\nThis reverts commit {one}."), alone),
            (format!("This reverts commit {one}"), alone),
            (format!("  This reverts commit {one}.\r\n"), alone),
            (format!("This reverts commit {long}."), &[(&long, None)]),
            (format!("This reverts commit {one}, reversing\nchanges made to {two}."), both),
            (format!("This reverts commit {one}, reversing changes made to {two}."), both),
            (format!("  This reverts commit {one}, reversing\n  changes made to {two}."), both),
            (format!("This reverts commit {one}, reversing\r\nchanges made to {two}.\r\n"), both),
            ("This reverts commit 603d58a (Add x, 2026-11-28).".to_owned(), &[("603d58a", None)]),
            (
                "This reverts commit 603d58a (Merge (#1), y, 2026-11-28), reversing\nchanges made to 84fb4f9 (m, 2026-11-28)."
                    .to_owned(),
                short,
            ),
            (
                "This reverts commit 603d58a (Merge one, 2026-11-28), reversing changes made to 84fb4f9 (m, 2026-11-28)."
                    .to_owned(),
                short,
            ),
            (
                format!("This reverts commit {one}.\nThis reverts commit {two}."),
                &[(&one, None), (&two, None)],
            ),
            (format!("This reverts commit {one}.\n").repeat(900), alone),
            (
                format!("This reverts commit {one}, after\nchanges made to {two}."),
                alone,
            ),
            ("This reverts commit 603d58.".to_owned(), &[]),
            ("This reverts commit 603d58ag.".to_owned(), &[]),
            (format!("This reverts commit {one}0."), &[]),
            (format!("He says: This reverts commit {one}."), &[]),
            (format!("This reverts commit\n{one}."), &[]),
        ];
        for (message, expected) in cases {
            let found = stated(&message);
            let found: Vec<_> = found.iter().map(|revert| (revert.commit, revert.side)).collect();
            assert_eq!(found, expected, "{message}");
        }
        let many: String = (0..1_000).map(|id| format!("This reverts commit {id:040x}.\n")).collect();
        assert_eq!(stated(&many).len(), 4);
    }
}
