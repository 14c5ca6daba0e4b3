//! Patterns of model names with `*`, and renaming by them.

/// Matches a name against a pattern. Returns the text that each `*` matches, or `None` if the name does not match. A
/// `*` matches as few characters as possible, the last one all remaining characters.
pub(crate) fn captures<'n>(pattern: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let mut parts = pattern.split('*');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut captured = Vec::new();
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty().then_some(captured);
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            captured.push(rest.strip_suffix(part)?);
            break;
        }
        let at = rest.find(part)?;
        captured.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    Some(captured)
}

/// Replaces each `*` of `rename` by the captured text at the same position.
pub(crate) fn filled(rename: &str, captured: &[&str]) -> String {
    let mut captured = captured.iter();
    let mut parts = rename.split('*');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        name.push_str(captured.next().copied().unwrap_or_default());
        name.push_str(part);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_run_of_characters() {
        for (pattern, name, matches) in [
            ("claude-*", "claude-opus", true),
            ("claude-*", "gpt", false),
            ("*", "", true),
            ("*-mini", "gpt-5-mini", true),
            ("gpt-*-mini", "gpt-mini", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(captures(pattern, name).is_some(), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn captures_fill_the_stars_of_a_new_name() {
        for (pattern, name, rename, expected) in [
            ("claude-*", "claude-opus", "anthropic/claude-*", "anthropic/claude-opus"),
            ("*", "ü-1", "x/*", "x/ü-1"),
            ("a*b*c", "a1b2c", "*-*", "1-2"),
            ("a*b*c", "a1b2c", "*", "1"),
            ("exact", "exact", "other", "other"),
        ] {
            let captured = captures(pattern, name).unwrap();
            assert_eq!(filled(rename, &captured), expected, "{pattern} {name} {rename}");
        }
    }
}
