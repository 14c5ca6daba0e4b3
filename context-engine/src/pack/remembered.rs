//! Packing what is remembered: before the code, and for a part of the budget.

use muninn_memory::lexical::DocId;
use muninn_memory::{Memories, Memory, MemoryKind, redact};
use muninn_repo_tools::RelPath;

use super::{Packed, Packer};
use crate::cost::measure;
use crate::item::{Item, ItemKind};
use crate::render;

/// The part of the budget that memory and knowledge may take.
const MEMORY_SHARE: f32 = 0.35;
const MAX_MEMORIES: usize = 4;
/// So many sections of one file are packed; records are no part of this, for one file holds all of them.
const MAX_OF_ONE_FILE: usize = 2;
/// Said of a memory that rests on what is another by now.
const STALE: &str = "; what it rests on has changed since";

/// A memory that fits the question.
pub(crate) struct Remembered<'a> {
    pub(crate) doc: DocId,
    pub(crate) score: f32,
    /// The question's concepts that it has, as bits.
    pub(crate) concepts: u64,
    /// The file for which it fits, where it does not by its words alone: one of the best ones, which it is about.
    pub(crate) about: Option<&'a RelPath>,
    /// A file that it rests on is another by now.
    pub(crate) stale: bool,
}

impl Packer<'_> {
    /// Adds the memories that fit the question by themselves, for at most a third of `budget`.
    pub(crate) fn memories(&self, memories: &Memories, found: &[Remembered<'_>], budget: u32, packed: &mut Packed) {
        let mut left = (f64::from(budget) * f64::from(MEMORY_SHARE)) as u32;
        let mut tried = 0;
        for remembered in found {
            let Some(memory) = memories.get(remembered.doc) else {
                continue;
            };
            let of_its_file = packed.remembered.iter().filter(|path| **path == memory.path).count();
            if memory.kind == MemoryKind::Knowledge && of_its_file >= MAX_OF_ONE_FILE {
                continue;
            }
            if tried == MAX_MEMORIES {
                break;
            }
            tried += 1;
            let mut item = self.item_of(memory, remembered);
            if measure(&mut item) > left && item.kind == ItemKind::Knowledge {
                item = match self.shortened(item, left) {
                    Some(item) => item,
                    None => continue,
                };
            }
            let held = self.already.holds_entry(&render::entry(&item));
            if !held && item.tokens > left {
                continue;
            }
            packed.held |= held;
            packed.remembered.push(memory.path.clone());
            if !held {
                left -= item.tokens;
                packed.items.push(item);
            }
        }
    }

    fn item_of(&self, memory: &Memory, remembered: &Remembered<'_>) -> Item {
        let mut why = self.why(remembered.concepts, 0, 0, false);
        if let Some(path) = remembered.about {
            why.push_str("; applies to ");
            why.push_str(&redact(&path.printed()));
        }
        if remembered.stale {
            why.push_str(STALE);
        }
        Item {
            kind: match memory.kind {
                MemoryKind::Knowledge => ItemKind::Knowledge,
                MemoryKind::Record => ItemKind::Memory,
            },
            source: memory.source.clone(),
            blob: None,
            date: memory.date.clone(),
            confidence: memory.confidence,
            title: memory.title.clone(),
            text: memory.text.clone(),
            first_line: memory.first_line,
            language: "markdown",
            tokens: 0,
            score: remembered.score,
            why,
        }
    }
}
