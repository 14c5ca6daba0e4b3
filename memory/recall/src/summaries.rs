//! Folds the summaries of a task, or of a session without a task, into one.
//!
//! A conversation is summarized whenever the user leaves it, and a task takes several conversations. Each summary lists
//! all files of the conversation, but its text covers only the turns since the previous text. Therefore recall returns
//! the newest summary, with the texts of a few earlier summaries and the files of all. Main keeps every summary.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use muninn_team::memories::{FILES_TOUCHED, Memory, MemoryKind};

/// Number of texts in a folded summary, newest first.
const MAX_TEXTS: usize = 4;
/// Maximum number of files.
const MAX_FILES: usize = 64;

/// Keeps one summary per task, or per session without a task. Keeps the order.
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

/// The group of a summary: whether it has a task, and the task or session; `None` for other memories.
fn key(item: &Memory) -> Option<(bool, String)> {
    let is_summary = item.kind == MemoryKind::Record && item.record_type.as_deref() == Some("session_summary");
    let of = item.task.as_ref().or(item.session.as_ref()).filter(|_| is_summary)?;
    Some((item.task.is_some(), of.clone()))
}

/// Joins the first texts, and the files of all.
fn together<'a>(newest_first: impl Iterator<Item = &'a str>) -> String {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    let mut named = BTreeSet::new();
    for text in newest_first {
        let (summary, touched) = parts(text);
        if !summary.is_empty() && !words.contains(&summary) && words.len() < MAX_TEXTS {
            words.push(summary);
        }
        files.extend(touched.filter(|file| named.insert(*file)));
    }
    files.truncate(MAX_FILES);
    let listed = (!files.is_empty()).then(|| format!("{FILES_TOUCHED}: {}", files.join(", ")));
    let lines = words.into_iter().map(str::to_owned).chain(listed);
    lines.collect::<Vec<_>>().join("\n")
}

/// Splits a summary into its text and its files.
fn parts(text: &str) -> (&str, impl Iterator<Item = &str>) {
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let files = last.strip_prefix(FILES_TOUCHED).and_then(|rest| rest.strip_prefix(": "));
    let words = if files.is_some() { before } else { text };
    (words, files.into_iter().flat_map(|files| files.split(", ")))
}

#[cfg(test)]
mod tests {
    use crate::Memories;
    use muninn_team::records::Record;

    /// Ids and texts of the folded summaries.
    fn folded(records: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        let record = |(id, origin, says): &(&str, &str, &str)| {
            let line = format!(r#"{{"id":"{id}","ts":"2026-01-0{id}","type":"session_summary",{says},{origin}}}"#);
            Record::parse(&line).unwrap()
        };
        let records: Vec<Record> = records.iter().map(record).collect();
        let memories = Memories::of_records(&records, None);
        let mut left: Vec<_> = memories.items().iter().map(|item| (item.source.clone(), item.text.clone())).collect();
        left.sort();
        left
    }

    #[test]
    fn newest_summary_of_a_task_includes_earlier_texts_and_files() {
        let left = folded(&[
            (
                "1",
                r#""session":"s","task":"T-1""#,
                r#""learnings":["the parser is done"],"files_touched":["parse.rs"]"#,
            ),
            ("2", r#""session":"s","task":"T-1""#, r#""files_touched":["parse.rs","lex.rs"]"#),
            ("4", r#""session":"t","task":"T-1""#, r#""files_touched":["main.rs","parse.rs"]"#),
            ("3", r#""session":"t","task":"T-1""#, r#""learnings":["it is called","and tested"]"#),
            ("5", r#""session":"t","task":"T-2""#, r#""files_touched":["x.rs"]"#),
        ]);
        let folded_text = "it is called\nand tested\nthe parser is done\nfiles touched: main.rs, parse.rs, lex.rs";
        let expected = [("4", folded_text), ("5", "files touched: x.rs")];
        assert_eq!(left, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    }

    #[test]
    fn summaries_fold_by_session_without_a_task() {
        let left = folded(&[
            ("1", r#""session":"s""#, r#""learnings":["one"]"#),
            ("2", r#""session":"s""#, r#""learnings":["two"]"#),
            ("3", r#""session":"t""#, r#""learnings":["three"]"#),
            ("4", r#""branch":"b""#, r#""learnings":["four"]"#),
            ("5", r#""branch":"b""#, r#""learnings":["five"]"#),
            ("6", r#""session":"u","task":"s""#, r#""learnings":["six"]"#),
        ]);
        let expected = [("2", "two\none"), ("3", "three"), ("4", "four"), ("5", "five"), ("6", "six")];
        assert_eq!(left, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    }

    #[test]
    fn folded_summary_has_few_texts_without_repetition() {
        let says: Vec<String> =
            ["a", "b", "c", "d", "e", "d"].map(|word| format!(r#""learnings":["{word}"]"#)).to_vec();
        let ids = ["1", "2", "3", "4", "5", "6"];
        let records: Vec<_> =
            ids.iter().zip(&says).map(|(id, says)| (*id, r#""session":"s""#, says.as_str())).collect();
        assert_eq!(folded(&records), [("6".to_owned(), "d\ne\nc\nb".to_owned())]);
    }
}
