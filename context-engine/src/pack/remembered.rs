//! Packing what is remembered: before the code, and for a part of the budget.

use muninn_memory::index::lexical::DocId;
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

/// Said of both sides of an open conflict.
const DISPUTED: &str = " (disputed)";

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
    /// What contradicts it, which is told with it or not at all.
    pub(crate) opponent: Option<Box<Remembered<'a>>>,
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
            let Some(items) = self.items_of(memories, remembered, left) else {
                continue;
            };
            packed.remembered.push(memory.path.clone());
            for item in items {
                if self.already.holds_entry(&render::entry(&item)) {
                    packed.held = true;
                } else {
                    left -= item.tokens;
                    packed.items.push(item);
                }
            }
        }
    }

    /// A memory and what contradicts it; `None` where they are too much together.
    fn items_of(&self, memories: &Memories, remembered: &Remembered<'_>, left: u32) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        let mut needed = 0;
        for side in std::iter::once(remembered).chain(remembered.opponent.as_deref()) {
            let mut item = self.item_of(memories.get(side.doc)?, side);
            if measure(&mut item) > left && item.kind == ItemKind::Knowledge {
                item = self.shortened(item, left)?;
            }
            if !self.already.holds_entry(&render::entry(&item)) {
                needed += item.tokens;
            }
            items.push(item);
        }
        (needed <= left).then_some(items)
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
        let mut title = memory.title.clone();
        if let Some(contested) = &memory.contested {
            title.push_str(DISPUTED);
            why.push_str(&format!(
                "; contradicted by {}, see `muninn conflicts`",
                contested.other
            ));
        }
        Item {
            kind: match memory.kind {
                MemoryKind::Knowledge => ItemKind::Knowledge,
                MemoryKind::Record => ItemKind::Memory,
            },
            source: memory.source.clone(),
            blob: None,
            date: memory.date.as_ref().map(ToString::to_string),
            confidence: memory.confidence,
            title,
            text: memory.text.clone(),
            first_line: memory.first_line,
            language: "markdown",
            tokens: 0,
            score: remembered.score,
            why,
        }
    }
}
