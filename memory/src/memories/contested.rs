//! Memories that contradict each other, as long as nobody has settled which holds.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use crate::records::{Body, Record, RecordStatus, kinds};

/// An open conflict, seen from one of its sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictSide {
    /// The conflict's id.
    pub conflict: String,
    /// The source of the memory on the other side.
    pub other: String,
}

/// Conflicts as files have them.
#[derive(Default)]
pub(crate) struct ConflictPairs(Vec<ConflictPair>);

struct ConflictPair {
    /// The conflict's id.
    conflict: String,
    left: String,
    right: String,
}

impl ConflictPairs {
    /// Takes a record in; one that is no conflict changes nothing.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Body::Conflict(kinds::Conflict { left, right, .. }) = &record.body {
            self.0.push(ConflictPair {
                conflict: record.id.clone(),
                left: left.clone(),
                right: right.clone(),
            });
        }
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Marks both sides of each conflict. One of which main has only one side is not open yet, or no more (`of_main` are the
    /// records that stand for what main has something of); nor is one that was settled.
    pub(crate) fn mark(&self, items: &mut [Memory], status: &RecordStatus, of_main: &HashSet<String>) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            let kept = status.kept(&item.source);
            if of_main.contains(kept) {
                places.insert(kept.to_owned(), at);
            }
        }
        let place = |id: &str| places.get(status.kept(id)).copied();
        let is_open = |pair: &&ConflictPair| !status.is_settled(&pair.left, &pair.right);
        let open = self.0.iter().filter(is_open);
        for pair in open {
            let (Some(left), Some(right)) = (place(&pair.left), place(&pair.right)) else {
                continue;
            };
            for (side, other) in [(left, right), (right, left)] {
                let other = items[other].source.clone();
                items[side].contested.get_or_insert(ConflictSide {
                    conflict: pair.conflict.clone(),
                    other,
                });
            }
        }
    }
}
