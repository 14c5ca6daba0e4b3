//! One summary of a task, or of a session that had none, instead of one for each time that it was left.
//!
//! A conversation is summed up whenever it is left, and a task takes several. What files were touched is told of the whole
//! conversation each time; what a model says of it, only of the turns since it said something the last time. So to show
//! the newest alone would lose words, and to show all of them says the files again and again: the newest is recalled, with
//! the words of a few before it behind its own, and with the files of all. In main each stays as it is.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::memories::{FILES_TOUCHED, Memory, MemoryKind};

/// The words of so many are told, the newest first.
const TOLD: usize = 4;
/// So many files are named.
const FILES: usize = 64;

/// Leaves one summary of each task, or session without one. Keeps the order.
pub(super) fn fold(items: &mut Vec<Memory>) {
    let mut groups: HashMap<(bool, String), Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        if let Some(key) = key(item) {
            groups.entry(key).or_default().push(at);
        }
    }
    let mut is_left_out = vec![false; items.len()];
    for mut group in groups.into_values().filter(|group| group.len() > 1) {
        group.sort_by_key(|at| Reverse((&items[*at].date, &items[*at].source)));
        let text = together(group.iter().map(|at| items[*at].text.as_str()));
        items[group[0]].text = text;
        group[1..].iter().for_each(|at| is_left_out[*at] = true);
    }
    let mut is_left_out = is_left_out.into_iter();
    items.retain(|_| !is_left_out.next().unwrap_or(false));
}

/// Whether a summary is of a task, and of which task or session; `None` of all else.
fn key(item: &Memory) -> Option<(bool, String)> {
    let is_summary = item.kind == MemoryKind::Record && item.record_type.as_deref() == Some("session_summary");
    let of = item.task.as_ref().or(item.session.as_ref()).filter(|_| is_summary)?;
    Some((item.task.is_some(), of.clone()))
}

/// The words of a few texts, and the files of all.
fn together<'a>(newest_first: impl Iterator<Item = &'a str>) -> String {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    let mut named = BTreeSet::new();
    for text in newest_first {
        let (said, touched) = parts(text);
        if !said.is_empty() && !words.contains(&said) && words.len() < TOLD {
            words.push(said);
        }
        files.extend(touched.filter(|file| named.insert(*file)));
    }
    files.truncate(FILES);
    let listed = (!files.is_empty()).then(|| format!("{FILES_TOUCHED}: {}", files.join(", ")));
    let lines = words.into_iter().map(str::to_owned).chain(listed);
    lines.collect::<Vec<_>>().join("\n")
}

/// What a summary says in words, and the files that it names.
fn parts(text: &str) -> (&str, impl Iterator<Item = &str>) {
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let files = last
        .strip_prefix(FILES_TOUCHED)
        .and_then(|rest| rest.strip_prefix(": "));
    let words = if files.is_some() { before } else { text };
    (words, files.into_iter().flat_map(|files| files.split(", ")))
}

#[cfg(test)]
mod tests {
    use crate::recall::Memories;
    use crate::records::Record;

    /// The ids and texts of what is left of these.
    fn folded(records: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        let record = |(id, origin, says): &(&str, &str, &str)| {
            let line = format!(r#"{{"id":"{id}","ts":"2026-01-0{id}","type":"session_summary",{says},{origin}}}"#);
            Record::parse(&line).unwrap()
        };
        let records: Vec<Record> = records.iter().map(record).collect();
        let memories = Memories::of_records(&records, None);
        let mut left: Vec<_> = memories
            .items()
            .iter()
            .map(|item| (item.source.clone(), item.text.clone()))
            .collect();
        left.sort();
        left
    }

    #[test]
    fn the_newest_of_a_task_is_told_with_the_words_and_files_of_those_before_it() {
        let left = folded(&[
            (
                "1",
                r#""session":"s","task":"T-1""#,
                r#""learnings":["the parser is done"],"files_touched":["parse.rs"]"#,
            ),
            (
                "2",
                r#""session":"s","task":"T-1""#,
                r#""files_touched":["parse.rs","lex.rs"]"#,
            ),
            (
                "4",
                r#""session":"t","task":"T-1""#,
                r#""files_touched":["main.rs","parse.rs"]"#,
            ),
            (
                "3",
                r#""session":"t","task":"T-1""#,
                r#""learnings":["it is called","and tested"]"#,
            ),
            ("5", r#""session":"t","task":"T-2""#, r#""files_touched":["x.rs"]"#),
        ]);
        let told = "it is called\nand tested\nthe parser is done\nfiles touched: main.rs, parse.rs, lex.rs";
        let expected = [("4", told), ("5", "files touched: x.rs")];
        assert_eq!(left, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    }

    #[test]
    fn without_a_task_those_of_a_session_fold_and_without_either_none() {
        let left = folded(&[
            ("1", r#""session":"s""#, r#""learnings":["one"]"#),
            ("2", r#""session":"s""#, r#""learnings":["two"]"#),
            ("3", r#""session":"t""#, r#""learnings":["three"]"#),
            ("4", r#""branch":"b""#, r#""learnings":["four"]"#),
            ("5", r#""branch":"b""#, r#""learnings":["five"]"#),
            ("6", r#""session":"u","task":"s""#, r#""learnings":["six"]"#),
        ]);
        let expected = [
            ("2", "two\none"),
            ("3", "three"),
            ("4", "four"),
            ("5", "five"),
            ("6", "six"),
        ];
        assert_eq!(left, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    }

    #[test]
    fn words_of_a_few_are_told_and_none_twice() {
        let says: Vec<String> = ["a", "b", "c", "d", "e", "d"]
            .map(|word| format!(r#""learnings":["{word}"]"#))
            .to_vec();
        let ids = ["1", "2", "3", "4", "5", "6"];
        let records: Vec<_> = ids
            .iter()
            .zip(&says)
            .map(|(id, says)| (*id, r#""session":"s""#, says.as_str()))
            .collect();
        assert_eq!(folded(&records), [("6".to_owned(), "d\ne\nc\nb".to_owned())]);
    }
}
