//! The words between the engine and its caller.

use std::time::{Duration, Instant};

use muninn_repo_tools::SkipCounts;
use serde::Serialize;

/// How much may be packed, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Tokens of the whole rendered block, fence and headings included.
    pub tokens: u32,
    /// When the answer is no longer wanted.
    pub deadline: Instant,
}

/// What one question found.
#[derive(Debug, Clone, Serialize)]
pub struct Exploration {
    /// Whether the index was ready.
    pub completeness: Completeness,
    /// What to pack, in the order in which to pack it.
    pub items: Vec<Item>,
    /// Tokens of the rendered block; 0 without items.
    pub tokens: u32,
    /// How long it took.
    pub elapsed: Duration,
    /// Why there is nothing, or less than there could be.
    pub reason: Option<String>,
    /// The words of the question that the repository itself contains, the most telling first. They are the
    /// repository's words and not the user's, so a record may keep them.
    pub question_terms: Vec<String>,
}

impl Exploration {
    /// Of a turn for which nothing was looked for.
    pub fn nothing() -> Self {
        Self {
            completeness: Completeness::Full,
            items: Vec::new(),
            tokens: 0,
            elapsed: Duration::ZERO,
            reason: None,
            question_terms: Vec::new(),
        }
    }
}

/// Whether an exploration could use the whole index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The index was ready.
    Full,
    /// It was not: paths and a bounded search answered.
    Partial,
}

/// One thing that is packed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// `path:first-last`, or the id of a memory.
    pub source: String,
    /// The git blob that the span was read from, in hexadecimal; `None` for a memory.
    pub blob: Option<String>,
    /// When a memory was recorded, as it was written.
    pub date: Option<String>,
    /// How sure a memory is, from 0 to 1.
    pub confidence: Option<f32>,
    /// The defining line, or the heading.
    pub title: String,
    /// Whole lines, redacted.
    pub text: String,
    /// The line of the file that `text` begins with, counted from 1; 0 for a memory.
    pub first_line: u32,
    /// The name that Markdown gives the language; empty where it is not known.
    pub language: &'static str,
    /// Tokens of the item as it is rendered.
    pub tokens: u32,
    /// Its rank's measure; comparable within one exploration only.
    pub score: f32,
    /// What it was chosen for.
    pub why: String,
}

/// The three things that are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A span of a file of the repository.
    Code,
    /// A record of `.muninn/memory/`.
    Memory,
    /// A section of `.muninn/knowledge/`, or of a Metis document.
    Knowledge,
}

/// Where an engine's index stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum IndexStatus {
    /// Nothing was indexed yet.
    Empty,
    /// The first index is being made.
    Indexing {
        /// Files done.
        done: usize,
        /// Files in all.
        total: usize,
    },
    /// Questions are answered from the index.
    Ready {
        /// Files in it.
        files: usize,
        /// Chunks in it.
        chunks: usize,
        /// Memories and sections of knowledge in it.
        memories: usize,
        /// Whether history and vectors, which come after it, have taken part for a first time.
        settled: bool,
    },
}

/// What a refresh did.
#[derive(Debug, Clone, Serialize)]
pub struct IndexReport {
    /// Files in the index.
    pub files: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Memories and sections of knowledge in the index.
    pub memories: usize,
    /// Files that did not have to be taken apart again, being unchanged or known to the cache.
    pub reused: usize,
    /// Files that were left out, by reason.
    pub skipped: SkipCounts,
    /// How long it took.
    pub millis: u64,
    /// What went wrong without stopping it: a cache that was rebuilt, lines of a memory that are torn.
    pub notes: Vec<String>,
}

/// Why a refresh could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The worktree is no longer there.
    #[error("the worktree at {} cannot be read", path.display())]
    WorktreeGone {
        /// Its root.
        path: std::path::PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
}
