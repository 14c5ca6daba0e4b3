//! All that a worktree's `.muninn/` remembers, loaded and searchable.
//!
//! Knowledge and records are read whole: they are small beside the code, and a memory that a person just corrected must
//! not be recalled as it was. What cannot be read is left out and reported, never fatal, for these files arrive by
//! `git pull` from anyone.

use std::time::SystemTime;

use muninn_repo_tools::{RelPath, Worktree};

use crate::hits::{Hit, Hits};
use crate::lexical::{Bm25, Bm25Builder, DocId, Tokenizer, counted};
use crate::{knowledge, records};

/// What kind of memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// A section of a knowledge file.
    Knowledge,
    /// A record of `memory/main.jsonl`.
    Record,
}

/// One thing that is remembered, already redacted.
#[derive(Debug, Clone)]
pub struct Memory {
    /// What kind it is.
    pub kind: MemoryKind,
    /// `path:first-last` of a section, or the record's id.
    pub source: String,
    /// The file that it comes from.
    pub path: RelPath,
    /// The heading, or the record's type and subject.
    pub title: String,
    /// What is remembered.
    pub text: String,
    /// Where a section begins, counted from 1; 0 for a record.
    pub first_line: u32,
    /// When a record was written, as it says itself.
    pub date: Option<String>,
    /// How sure it is, from 0 to 1.
    pub confidence: Option<f32>,
}

/// A file of `.muninn/` as it was when it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The file.
    pub path: RelPath,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last modified.
    pub modified: SystemTime,
}

/// What a worktree remembers.
#[derive(Clone, Default)]
pub struct Memories {
    items: Vec<Memory>,
    stamps: Vec<Stamp>,
    notes: Vec<String>,
    index: Bm25,
    hits: Hits,
}

impl Memories {
    /// Reads `.muninn/knowledge/**/*.md` and `.muninn/memory/main.jsonl`.
    pub fn load(worktree: &Worktree) -> Self {
        let mut memories = Self::default();
        let mut hits = Vec::new();
        for part in [knowledge::load(worktree), records::load(worktree)] {
            hits.extend(part.hits);
            memories.items.extend(part.items);
            memories.stamps.extend(part.stamps);
            memories.notes.extend(part.notes);
        }
        let mut tokenizer = Tokenizer::new();
        let mut index = Bm25Builder::default();
        for item in &memories.items {
            let mut terms = counted(&mut tokenizer, &item.text);
            for (term, count) in counted(&mut tokenizer, &item.title) {
                match terms.iter_mut().find(|(seen, _)| *seen == term) {
                    // A heading says what the section is about, so it counts twice.
                    Some((_, body)) => *body += count,
                    None => terms.push((term, count)),
                }
            }
            index.add(terms.iter().map(|(term, count)| (term.as_str(), *count)));
        }
        memories.index = index.finish();
        memories.hits = Hits::new(hits);
        memories
    }

    /// Whether the files are still as they were loaded, judged by their metadata.
    pub fn is_current(&self, worktree: &Worktree) -> bool {
        let mut now = knowledge::stamps(worktree).0;
        now.extend(records::stamp(worktree));
        now == self.stamps
    }

    /// The memory of a number that [`Self::index`] gave.
    pub fn get(&self, doc: DocId) -> Option<&Memory> {
        self.items.get(doc.0 as usize)
    }

    /// All of them, in the order of their files.
    pub fn items(&self) -> &[Memory] {
        &self.items
    }

    /// What was left out, in words for a person.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What earlier sessions worked on for which questions.
    pub fn hits(&self) -> &Hits {
        &self.hits
    }

    /// The index over titles and texts.
    pub fn index(&self) -> &Bm25 {
        &self.index
    }
}

/// What one of the two readers found.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) items: Vec<Memory>,
    pub(crate) stamps: Vec<Stamp>,
    pub(crate) notes: Vec<String>,
    pub(crate) hits: Vec<Hit>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn finds_both_layers_and_sees_a_change() {
        let repo = Fixture::with(&[
            (
                ".muninn/knowledge/errors.md",
                "# Error handling\nEvery endpoint returns a code.\n",
            ),
            (
                ".muninn/memory/main.jsonl",
                "{\"id\":\"01A\",\"type\":\"learning\",\"text\":\"retries use jitter\"}\n",
            ),
        ]);
        let worktree = repo.worktree();
        let memories = Memories::load(&worktree);
        let best = |term: &str| {
            let found = memories.index().search(std::iter::once((term, 1.0)));
            found
                .first()
                .and_then(|(doc, _)| memories.get(*doc))
                .map(|memory| memory.source.clone())
        };
        assert_eq!(best("endpoint").as_deref(), Some(".muninn/knowledge/errors.md:1-2"));
        assert_eq!(best("jitter").as_deref(), Some("01A"));
        assert_eq!(best("absent"), None);
        assert!(memories.is_current(&worktree));
        repo.write(".muninn/knowledge/new.md", b"# New\n");
        assert!(!memories.is_current(&worktree));
    }

    #[test]
    fn a_worktree_without_memory_is_no_trouble() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        let memories = Memories::load(&repo.worktree());
        assert!(memories.items().is_empty() && memories.notes().is_empty());
        assert!(memories.is_current(&repo.worktree()));
    }
}
