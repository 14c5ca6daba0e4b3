use std::time::Instant;

use muninn_base::RelPath;
use muninn_index::Span;
use muninn_repo_tools::Worktree;

use crate::citations::Citations;
use crate::item::Item;
use crate::prior_context::{KnownLines, PriorContext};
use crate::question::Question;
use crate::rank::Query;

/// The inputs of packing.
pub(crate) struct Packer<'a> {
    pub(crate) worktree: &'a Worktree,
    pub(crate) citations: &'a Citations<'a>,
    pub(crate) max_file_bytes: u64,
    pub(crate) question: &'a Question,
    pub(crate) query: &'a Query,
    pub(crate) prior: &'a PriorContext,
    pub(crate) deadline: Instant,
}

/// The deadline passed during packing.
pub(crate) struct DeadlineExceeded;

/// The packed items.
#[derive(Default)]
pub(crate) struct Packed {
    pub(crate) items: Vec<Item>,
    /// Whether an item was skipped because the conversation already contains it.
    pub(crate) known: bool,
    /// The files of packed memories. Some of these files are also indexed, and must not be packed twice.
    pub(crate) remembered: Vec<String>,
}

/// The current text of a file, redacted.
pub(crate) struct FileContent {
    pub(crate) path: RelPath,
    pub(crate) blob: String,
    pub(crate) text: String,
}

/// A file to pack from, with those of its lines that the conversation contains.
pub(crate) struct PackFile<'a> {
    pub(crate) text: &'a FileContent,
    pub(crate) lines: Vec<&'a str>,
    pub(crate) known: KnownLines<'a>,
}

/// A chosen span.
#[derive(Clone)]
pub(crate) struct Pick {
    pub(crate) span: Span,
    pub(crate) score: f32,
    pub(crate) concepts: u64,
    pub(crate) defines: u64,
    /// The probability that it is useful.
    pub(crate) usefulness: f32,
}
