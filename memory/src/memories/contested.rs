//! Memories that contradict each other, as long as nobody has settled which holds.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use crate::records::{Body, Record, Standing, kinds};

/// An open conflict, seen from one of its sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contested {
    /// The conflict's id.
    pub conflict: String,
    /// The source of the memory on the other side.
    pub other: String,
}

/// Conflicts as files have them.
#[derive(Default)]
pub(crate) struct Disputes(Vec<Dispute>);

struct Dispute {
    /// The conflict's id.
    conflict: String,
    left: String,
    right: String,
}

impl Disputes {
    /// Takes a record in; one that is no conflict changes nothing.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Body::Conflict(kinds::Conflict { left, right, .. }) = &record.body {
            self.0.push(Dispute {
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
    pub(crate) fn mark(&self, items: &mut [Memory], standing: &Standing, of_main: &HashSet<String>) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            let kept = standing.kept(&item.source);
            if of_main.contains(kept) {
                places.insert(kept.to_owned(), at);
            }
        }
        let place = |id: &str| places.get(standing.kept(id)).copied();
        let is_open = |dispute: &&Dispute| !standing.is_settled(&dispute.left, &dispute.right);
        let open = self.0.iter().filter(is_open);
        for dispute in open {
            let (Some(left), Some(right)) = (place(&dispute.left), place(&dispute.right)) else {
                continue;
            };
            for (side, other) in [(left, right), (right, left)] {
                let other = items[other].source.clone();
                items[side].contested.get_or_insert(Contested {
                    conflict: dispute.conflict.clone(),
                    other,
                });
            }
        }
    }
}
