//! The types of the engine's interface.

use std::time::{Duration, Instant};

use muninn_repo_tools::SkipCounts;
use serde::{Deserialize, Serialize};

/// The limits of an exploration.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum tokens of the rendered block, including its fence and its headings.
    pub tokens: u32,
    /// The deadline. A result that comes later is discarded.
    pub deadline: Instant,
}

/// The result of an exploration for one question.
#[derive(Debug, Clone, Serialize)]
pub struct Exploration {
    /// Whether the index was ready.
    pub completeness: Completeness,
    /// The items to pack, in order.
    pub items: Vec<Item>,
    /// The tokens of the rendered block; 0 if there are no items.
    pub tokens: u32,
    pub elapsed: Duration,
    /// Why the exploration has no items, or fewer than it could have.
    pub reason: Option<String>,
    /// The words of the question that the repository contains, by descending weight. A record can store them, because
    /// they are words of the repository and not only of the user.
    pub question_terms: Vec<String>,
    /// How probable it is that the question is about the repository; `None` if nothing was decided.
    pub relevance: Option<Relevance>,
    /// Whether the question was found to be about the repository, even if there is nothing new to say.
    #[serde(skip)]
    pub is_about_repository: bool,
    /// The number of the repository's files; `None` if the index was not ready.
    #[serde(skip)]
    pub files: Option<usize>,
}

/// How probable it is that a question is about the repository, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Relevance {
    /// From 0 to 1.
    pub probability: f32,
    /// The words that are more common in the repository than elsewhere, by descending evidence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub words_for: Vec<String>,
    /// The words that most repositories contain and this one lacks, by descending evidence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub words_against: Vec<String>,
}

impl Exploration {
    /// Returns the exploration of a turn for which nothing was searched.
    pub fn nothing() -> Self {
        Self {
            completeness: Completeness::Full,
            items: Vec::new(),
            tokens: 0,
            elapsed: Duration::ZERO,
            reason: None,
            question_terms: Vec::new(),
            relevance: None,
            is_about_repository: false,
            files: None,
        }
    }
}

/// Whether an exploration could use the whole index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The index was ready.
    Full,
    /// The index was not ready; paths and a limited text search were used.
    Partial,
}

/// One packed item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    pub kind: ItemKind,
    /// `path:first-last`, the path of a place without lines, or the id of a memory.
    pub source: String,
    /// The blob id of the file, in hexadecimal; `None` for a memory.
    pub blob: Option<String>,
    /// The date of a memory, as recorded.
    pub date: Option<String>,
    /// The confidence of a memory, from 0 to 1; `None` for other items.
    pub confidence: Option<f32>,
    /// Author, branch and cited places of a memory, in words; empty for other items.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// The defining line of code, or the heading of a section.
    pub title: String,
    /// Whole lines, redacted.
    pub text: String,
    /// The first line of `text` in the file, counted from 1; 0 for a memory.
    pub first_line: u32,
    /// The Markdown name of the language; empty if unknown.
    pub language: &'static str,
    /// The tokens of the rendered item.
    pub tokens: u32,
    /// The score; comparable within one exploration only.
    pub score: f32,
    /// The expected gain of a place, see [`crate::value`]; 0 for other items.
    pub gain: f32,
    /// The reasons for the choice, in words.
    pub why: String,
}

impl Item {
    /// The path of code or of a place.
    pub fn file(&self) -> &str {
        self.source.rsplit_once(':').map_or(&*self.source, |(file, _)| file)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A span of a file of the repository.
    Code,
    /// A file or a line range without its text, for a client that reads files itself. `text` is the signature.
    Place,
    /// A record of `.muninn/memory/`.
    Memory,
    /// A record or a section that may be relevant, named by its first words. `text` is these words.
    Hint,
    /// A section of `.muninn/knowledge/`, or of a Metis document.
    Knowledge,
    /// A text of the user's personal memory.
    Personal,
}

/// The state of an engine's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum IndexStatus {
    /// Nothing is indexed yet.
    Empty,
    /// The first index is being built.
    Indexing {
        /// The number of indexed files.
        done: usize,
        /// The number of all files.
        total: usize,
    },
    /// The index is complete.
    Ready {
        /// The number of files.
        files: usize,
        /// The number of chunks.
        chunks: usize,
        /// The number of memories and of knowledge sections.
        memories: usize,
        /// The number of their texts that have no vector yet.
        unembedded: usize,
        /// Whether history and vectors have been complete once. Both are read after the files.
        settled: bool,
    },
}

/// The result of a refresh.
#[derive(Debug, Clone, Serialize)]
pub struct IndexReport {
    /// The number of files in the index.
    pub files: usize,
    /// The number of chunks in the index.
    pub chunks: usize,
    /// The number of memories and sections of knowledge.
    pub memories: usize,
    /// The number of files that were not parsed again, because they are unchanged or their digest was cached.
    pub reused: usize,
    /// The skipped files, by reason.
    pub skipped: SkipCounts,
    /// The duration in milliseconds.
    pub millis: u64,
    /// Problems that did not stop the refresh, such as a rebuilt cache or torn lines of a memory file.
    pub notes: Vec<String>,
}

/// Why a refresh failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The worktree does not exist any more, or cannot be read.
    #[error("the worktree at {} cannot be read", path.display())]
    WorktreeGone {
        /// The root.
        path: std::path::PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
}
