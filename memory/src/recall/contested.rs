//! Memories that contradict each other, as long as nobody has settled which holds.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use crate::records::{Alike, MAIN, Same};

/// An open conflict, seen from one of its sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contested {
    /// The conflict's id.
    pub conflict: String,
    /// The source of the memory on the other side.
    pub other: String,
}

/// A conflict as a file has it, and records that say the same as others.
#[derive(Default)]
pub(crate) struct Disputes {
    /// The conflict's id, and those of the two records.
    pub(crate) conflicts: Vec<(String, String, String)>,
    /// Which records are recalled for others.
    pub(crate) same: Same,
}

impl Disputes {
    pub(super) fn extend(&mut self, other: Self) {
        self.conflicts.extend(other.conflicts);
        self.same.extend(other.same);
    }

    /// Marks both sides of each conflict. One of which main has only one side is not open yet, or no more.
    pub(super) fn mark(&self, items: &mut [Memory], same: &Alike) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, item) in items.iter().enumerate().filter(|(_, item)| item.path == MAIN) {
            // The one that all of them are kept for may be in the archive.
            places.insert(same.kept(&item.source).to_owned(), at);
        }
        let place = |id: &str| places.get(same.kept(id)).copied();
        for (conflict, left, right) in &self.conflicts {
            let (Some(left), Some(right)) = (place(left), place(right)) else {
                continue;
            };
            for (side, other) in [(left, right), (right, left)] {
                let other = items[other].source.clone();
                items[side].contested.get_or_insert(Contested {
                    conflict: conflict.clone(),
                    other,
                });
            }
        }
    }
}
