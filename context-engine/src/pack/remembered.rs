//! Packing what is remembered: before the code, and for a part of the budget.

use muninn_memory::{Memories, MemoryKind, redact};
use muninn_repo_tools::RelPath;

use super::{Packed, Packer};
use crate::cost::measure;
use crate::item::{Item, ItemKind};
use crate::render;

/// The part of the budget that memory and knowledge may take.
const MEMORY_SHARE: f32 = 0.35;
const MAX_MEMORIES: usize = 4;

/// A memory that fits the question.
pub(crate) struct Fitting<'a> {
    /// Its number.
    pub(crate) at: usize,
    pub(crate) score: f32,
    /// Concepts of the question found in it.
    pub(crate) concepts: u64,
    /// The file for which it fits: one of the best ones, which it is about.
    pub(crate) about: Option<&'a RelPath>,
}

impl Packer<'_> {
    /// Adds the memories that fit the question by themselves, for at most a third of `budget`.
    pub(crate) fn memories(&self, memories: &Memories, found: &[Fitting<'_>], budget: u32, packed: &mut Packed) {
        let mut left = (f64::from(budget) * f64::from(MEMORY_SHARE)) as u32;
        for fitting in found.iter().take(MAX_MEMORIES) {
            let Some(memory) = memories.items().get(fitting.at) else {
                continue;
            };
            let matched = self.why(fitting.concepts, 0, 0, false);
            let why = match fitting.about {
                Some(path) => format!("{matched}; applies to {}", redact(&path.printed())),
                None => matched,
            };
            let mut item = Item {
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
                score: fitting.score,
                why,
            };
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
}
