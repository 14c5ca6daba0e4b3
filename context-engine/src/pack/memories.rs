//! Packing memories: before the code, with a share of the budget.

use muninn_base::RelPath;
use muninn_recall::Memories;
use muninn_team::{Memory, MemoryKind};
use muninn_text::lexical::DocId;
use muninn_text::redact;

use super::{Packed, Packer};
use crate::citations::Citations;
use crate::cost::measure;
use crate::item::{Item, ItemKind};
use crate::render;

/// Maximum share of the budget for memory and knowledge.
const MEMORY_SHARE: f32 = 0.35;
pub(crate) const MAX_MEMORIES: usize = 4;
/// Maximum number of memories that are only named, and of the words that name one.
const MAX_HINTS: usize = 3;
const HINT_WORDS: usize = 15;
/// Maximum number of sections of one file. Records do not count, because one file holds all of them.
const MAX_OF_ONE_FILE: usize = 2;
/// Maximum number of cited places that are shown.
const MAX_CITED: usize = 3;

/// The marks in the titles of both sides of an open conflict, and of an undecided pair.
const DISPUTED: &str = " (disputed)";
const PERHAPS_DISPUTED: &str = " (perhaps disputed)";

/// A memory that is relevant for the question.
pub(crate) struct MemoryCandidate<'a> {
    pub(crate) doc: DocId,
    pub(crate) score: f32,
    /// Whether the pack shows its text. Otherwise a line names it.
    pub(crate) is_sure: bool,
    /// The question's concepts that it contains, as bits.
    pub(crate) concepts: u64,
    /// The top-ranked file that it applies to, if its words alone are too few.
    pub(crate) about: Option<&'a RelPath>,
    /// The older memory that it accompanies, because it is about the same subject.
    pub(crate) newer_than: Option<DocId>,
    /// The other side of an open conflict. Both sides are packed, or neither.
    pub(crate) opponent: Option<Box<MemoryCandidate<'a>>>,
}

impl MemoryCandidate<'_> {
    /// A memory of which nothing is known but its number.
    pub(crate) fn of(doc: DocId) -> Self {
        Self { doc, score: 0.0, is_sure: true, concepts: 0, about: None, newer_than: None, opponent: None }
    }
}

impl Packer<'_> {
    /// Adds memories, for at most [`MEMORY_SHARE`] of `budget`.
    pub(crate) fn memories(
        &self,
        memories: &Memories,
        found: &[MemoryCandidate<'_>],
        budget: u32,
        packed: &mut Packed,
    ) {
        let mut left = (f64::from(budget) * f64::from(MEMORY_SHARE)) as u32;
        let mut tried = 0;
        let (sure, likely): (Vec<_>, Vec<_>) = found.iter().partition(|remembered| remembered.is_sure);
        for remembered in sure {
            let Some(memory) = memories.get(remembered.doc) else {
                continue;
            };
            let of_its_file = packed.remembered.iter().filter(|path| **path == memory.path).count();
            if memory.kind != MemoryKind::Record && of_its_file >= MAX_OF_ONE_FILE {
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
                if self.prior.contains_item(&item) {
                    packed.known = true;
                } else {
                    left -= item.tokens;
                    packed.items.push(item);
                }
            }
        }
        self.hints(memories, &likely, left, packed);
    }

    /// Names memories that may be relevant, a line each, and both sides of a conflict or none.
    fn hints(&self, memories: &Memories, likely: &[&MemoryCandidate<'_>], left: u32, packed: &mut Packed) {
        let mut named = 0;
        let mut left = left;
        for remembered in likely.iter().take_while(|_| self.prior.has_hints()) {
            let sides = || std::iter::once(*remembered).chain(remembered.opponent.as_deref());
            let mut hints: Vec<Item> = sides().filter_map(|side| self.hint(memories, side)).collect();
            let tokens: u32 = hints.iter_mut().map(measure).sum();
            if hints.len() != sides().count() || named + hints.len() > MAX_HINTS || tokens > left {
                continue;
            }
            hints.retain(|hint| !self.prior.mentions(render::short_id(&hint.source)));
            (named, left) = (named + hints.len(), left - tokens);
            packed.items.extend(hints);
        }
    }

    fn hint(&self, memories: &Memories, remembered: &MemoryCandidate<'_>) -> Option<Item> {
        let mut item = self.item_of(memories, remembered)?;
        let words: Vec<&str> = item.text.split_whitespace().take(HINT_WORDS + 1).collect();
        let is_cut = words.len() > HINT_WORDS;
        let text = words[..words.len().min(HINT_WORDS)].join(" ");
        item.text = if is_cut { text + " ..." } else { text };
        item.kind = ItemKind::Hint;
        Some(item)
    }

    /// Returns a memory and the other side of its conflict as items; `None` if they do not fit together.
    fn items_of(&self, memories: &Memories, remembered: &MemoryCandidate<'_>, left: u32) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        let mut needed = 0;
        for side in std::iter::once(remembered).chain(remembered.opponent.as_deref()) {
            let mut item = self.item_of(memories, side)?;
            if measure(&mut item) > left && item.kind == ItemKind::Knowledge {
                item = self.shortened(item, left)?;
            }
            if !self.prior.contains_item(&item) {
                needed += item.tokens;
            }
            items.push(item);
        }
        (needed <= left).then_some(items)
    }

    fn item_of(&self, memories: &Memories, remembered: &MemoryCandidate<'_>) -> Option<Item> {
        let memory = memories.get(remembered.doc).filter(|memory| !self.citations.are_gone(memory))?;
        let mut why = vec![self.why(remembered.concepts, 0, 0, false)];
        if let Some(path) = remembered.about {
            why.push(format!("applies to {}", redact(&path.printed())));
        }
        if let Some(older) = remembered.newer_than.and_then(|older| memories.get(older)) {
            why.push(format!("newer than {} and similar to it", older.source));
        }
        Some(memory_item(memory, self.citations, (remembered.score, why)))
    }
}

/// A memory as an item, with these reasons.
pub(crate) fn memory_item(memory: &Memory, citations: &Citations<'_>, (score, mut why): (f32, Vec<String>)) -> Item {
    let mut title = memory.title.clone();
    if let Some(contested) = &memory.contested {
        let (mark, relation) =
            if contested.is_undecided { (PERHAPS_DISPUTED, "may contradict") } else { (DISPUTED, "contradicted by") };
        title.push_str(mark);
        why.push(format!("{relation} {}, see `muninn conflicts`", contested.other));
    }
    why.retain(|reason| !reason.is_empty());
    Item {
        kind: match memory.kind {
            MemoryKind::Knowledge | MemoryKind::Journal => ItemKind::Knowledge,
            MemoryKind::Record => ItemKind::Memory,
        },
        source: memory.source.clone(),
        blob: None,
        date: memory.date.as_ref().map(ToString::to_string),
        confidence: memory.confidence,
        origin: origin(memory, citations),
        title,
        text: memory.text.clone(),
        first_line: memory.first_line,
        language: "markdown",
        tokens: 0,
        score,
        gain: 0.0,
        why: why.join("; "),
    }
}

/// The author and the branch of a memory, and the state of the places that it cites.
fn origin(memory: &Memory, citations: &Citations<'_>) -> String {
    let mut origin: Vec<String> = memory.author.iter().map(|author| format!("by {author}")).collect();
    origin.extend(memory.branch.iter().map(|branch| format!("on {branch}")));
    let shown = memory.cites.iter().take(MAX_CITED);
    origin.extend(shown.map(|cited| format!("cites {} ({})", cited.place(), citations.state(cited))));
    origin.join(", ")
}
