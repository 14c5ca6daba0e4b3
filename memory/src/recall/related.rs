//! Related texts: words by which a memory is found besides its own.
//!
//! People ask in the words that they know, and these are often the words of a statement that was replaced. The valid
//! statement is about the same subject. Therefore a memory is also found by the texts of the records that it replaces, of
//! its duplicates, and of the other side of its open conflict.

use std::collections::HashMap;

use crate::memories::{Memory, MemoryKind};
use crate::records::RecordStatus;

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
        for item in items.iter().filter(|item| item.kind == MemoryKind::Record) {
            let valid = valid_record(&item.source, status);
            if valid != item.source {
                let texts = texts.entry(valid.to_owned()).or_default();
                if texts.len() < MAX_TEXTS && !texts.contains(&item.text) {
                    texts.push(item.text.clone());
                }
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
