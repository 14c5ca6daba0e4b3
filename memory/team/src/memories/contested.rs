//! Memories in open conflicts.

use std::collections::{HashMap, HashSet};

use super::conflict_side::ConflictSide;
use super::memory::Memory;
use crate::records::{Body, Record, RecordStatus};

/// The conflicts of all files.
#[derive(Default)]
pub struct ConflictPairs(Vec<ConflictPair>);

struct ConflictPair {
    /// The conflict's id.
    conflict: String,
    left: String,
    right: String,
    is_undecided: bool,
}

impl ConflictPairs {
    /// Adds a record. Only conflicts have an effect.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Body::Conflict(conflict) = &record.body {
            self.0.push(ConflictPair {
                conflict: record.id.clone(),
                left: conflict.left.clone(),
                right: conflict.right.clone(),
                is_undecided: !conflict.is_judged(),
            });
        }
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Marks both sides of each open conflict. A conflict is open if main holds both sides and it is not settled.
    /// `of_main` holds the representatives of the records in main.
    pub fn mark(&self, items: &mut [Memory], status: &RecordStatus, of_main: &HashSet<String>) {
        let mut positions: HashMap<String, usize> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            let kept = status.kept(&item.source);
            if of_main.contains(kept) {
                positions.insert(kept.to_owned(), at);
            }
        }
        let position = |id: &str| positions.get(status.kept(id)).copied();
        let is_open = |pair: &&ConflictPair| !status.is_settled(&pair.left, &pair.right);
        let (undecided, judged): (Vec<_>, Vec<_>) = self.0.iter().filter(is_open).partition(|pair| pair.is_undecided);
        // A judge's conflict counts before what rules found.
        for pair in judged.into_iter().chain(undecided) {
            let (Some(left), Some(right)) = (position(&pair.left), position(&pair.right)) else {
                continue;
            };
            for (side, other) in [(left, right), (right, left)] {
                let other = items[other].source.clone();
                items[side].contested.get_or_insert(ConflictSide {
                    conflict: pair.conflict.clone(),
                    other,
                    is_undecided: pair.is_undecided,
                });
            }
        }
    }
}
