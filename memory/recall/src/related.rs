//! Related texts: words by which a memory is found besides its own.
//!
//! People ask in the words that they know, and these are often the words of a statement that was replaced. The valid
//! statement is about the same subject. Therefore a memory is also found by the texts of the records that it replaces, of
//! its duplicates, and of the other side of its open conflict.

use std::collections::HashMap;

use muninn_team::memories::{Memory, MemoryKind};
use muninn_team::records::RecordStatus;

/// Maximum number of related texts of a memory.
const MAX_TEXTS: usize = 4;
/// Maximum number of successors that are followed; files can contain a cycle.
const MAX_SUCCESSORS: usize = 64;

/// The texts of records that recall does not return, by the representative of the record that stands for them.
pub(super) struct RelatedTexts(HashMap<String, Vec<String>>);

impl RelatedTexts {
    /// Collects the texts of superseded records and of duplicates.
    pub(super) fn of(items: &[Memory], status: &RecordStatus) -> Self {
        let mut texts: HashMap<String, Vec<String>> = HashMap::new();
        for item in items.iter().filter(|item| item.superseded.is_some()) {
            let valid = valid_record(&item.source, status);
            let texts = texts.entry(valid.to_owned()).or_default();
            if texts.len() < MAX_TEXTS && !texts.contains(&item.text) {
                texts.push(item.text.clone());
            }
        }
        Self(texts)
    }

    /// Adds them to the memories that stand for these records, and to each side of a conflict the text of the other.
    pub(super) fn add_to(mut self, items: &mut [Memory], status: &RecordStatus) {
        let positions: HashMap<&str, usize> = items.iter().map(|item| &*item.source).zip(0..).collect();
        let other_side = |item: &Memory| {
            let other = positions.get(&*item.contested.as_ref()?.other)?;
            Some(items.get(*other)?.text.clone())
        };
        let others: Vec<Option<String>> = items.iter().map(other_side).collect();
        for (item, other) in items.iter_mut().zip(others) {
            let mut texts = other.map_or_else(Vec::new, |text| vec![text]);
            if item.kind == MemoryKind::Record {
                texts.extend(self.0.remove(status.kept(&item.source)).unwrap_or_default());
            }
            texts.retain(|text| *text != item.text);
            item.related = texts.join("\n");
        }
    }
}

/// The representative of the valid record that stands for a record: its last successor, or itself.
fn valid_record<'a>(id: &'a str, status: &'a RecordStatus) -> &'a str {
    let mut valid = id;
    for _ in 0..MAX_SUCCESSORS {
        match status.superseded(valid).and_then(|superseded| superseded.by.as_deref()) {
            Some(successor) => valid = successor,
            None => break,
        }
    }
    status.kept(valid)
}

#[cfg(test)]
mod tests {
    use crate::{Memories, RecallOptions};
    use muninn_team::fixture::Fixture;
    use muninn_team::records::MAIN;

    fn learning(id: &str, text: &str) -> String {
        format!("{{\"id\":\"{id}\",\"ts\":\"2026-01-0{id}\",\"type\":\"learning\",\"text\":\"{text}\"}}\n")
    }

    fn found(main: &str, question: &str) -> Vec<String> {
        let repo = Fixture::with(&[(MAIN, main)]);
        let memories = Memories::load(&repo.home());
        let recalled = memories.recall(question, &RecallOptions::default());
        let found = recalled.iter().filter_map(|one| memories.get(one.doc));
        found.map(|memory| format!("{}: {}", memory.source, memory.text)).collect()
    }

    #[test]
    fn memory_is_found_by_the_texts_that_it_replaces() {
        let main = [
            learning("1", "standard lints the code"),
            learning("2", "rubocop does it"),
            learning("3", "the govuk rules are enough"),
            learning("4", "nothing else"),
        ];
        let main = main.concat()
            + r#"{"id":"5","ts":"2026-01-06","type":"supersedes","older":"1","newer":"2"}
{"id":"6","ts":"2026-01-06","type":"supersedes","older":"2","newer":"3"}
"#;
        for question in ["standard", "rubocop", "govuk"] {
            assert_eq!(found(&main, question), ["3: the govuk rules are enough"], "{question}");
        }
        let cycle = main + r#"{"id":"7","ts":"2026-01-06","type":"supersedes","older":"3","newer":"1"}"#;
        assert_eq!(found(&cycle, "standard"), Vec::<String>::new());
    }

    #[test]
    fn memory_is_found_by_its_duplicates_and_by_the_other_side_of_its_conflict() {
        let main = learning("1", "timeout of thirty")
            + &learning("2", "deadline of thirty")
            + &learning("3", "patience is a minute")
            + r#"{"id":"4","ts":"2026-01-06","type":"same","kept":"1","folded":"2"}
{"id":"5","ts":"2026-01-06","type":"conflict","left":"1","right":"3"}
"#;
        assert_eq!(found(&main, "timeout"), ["2: deadline of thirty"]);
        assert_eq!(found(&main, "patience"), ["3: patience is a minute", "2: deadline of thirty"]);
    }
}
