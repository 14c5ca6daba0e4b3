use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use muninn_index::{Companions, Field, FileKind, Posting, Snapshot};
use muninn_text::hits::Hits;
use muninn_text::lexical::DocId;

/// Weight of a part of an identifier, relative to the whole.
pub(crate) const PART_WEIGHT: f32 = 0.5;

/// Term frequencies: of the index, or, without an index, of a text search.
pub(crate) trait Statistics {
    /// Returns the number of documents with a term.
    fn frequency(&self, term: &str) -> u32;
    /// Returns the number of documents.
    fn documents(&self) -> usize;
}

/// The numbers of a repository's files with terms.
pub(crate) trait FileStatistics: Statistics {
    /// Returns the numbers of files with a term.
    fn files_with(&self, term: &str) -> FileCounts;
    /// Returns the numbers of files.
    fn files(&self) -> FileCounts;
}

/// Numbers of files of code and of prose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileCounts {
    pub(crate) code: u32,
    pub(crate) prose: u32,
}

impl FileCounts {
    pub(crate) fn count(&mut self, kind: Option<FileKind>) {
        match kind {
            Some(FileKind::Code) => self.code += 1,
            Some(FileKind::Prose) => self.prose += 1,
            None => {}
        }
    }
}

/// The index data for a ranking.
#[derive(Clone, Copy)]
pub(crate) struct Index<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// Uses the file numbers of the snapshot; empty without history.
    pub(crate) companions: &'a Companions,
    /// Empty without memory.
    pub(crate) hits: &'a Hits,
}

/// A ranked file.
pub(crate) struct Candidate {
    pub(crate) file: usize,
    pub(crate) score: f32,
    /// The chunks with a match, best first.
    pub(crate) chunks: Vec<ScoredChunk>,
    /// The concepts in its text or path.
    pub(crate) concepts: u64,
    pub(crate) path_concepts: u64,
    /// Whether the question names its path.
    pub(crate) named: bool,
    /// Whether sessions used it for similar questions.
    pub(crate) remembered: bool,
}

/// A ranked chunk.
#[derive(Clone, Copy)]
pub(crate) struct ScoredChunk {
    pub(crate) doc: DocId,
    pub(crate) score: f32,
    pub(crate) concepts: u64,
    /// The concepts that it defines.
    pub(crate) defines: u64,
    /// The probability that it is useful, see [`rate`]; 0 until it is rated.
    pub(crate) usefulness: f32,
}

/// The postings of terms, each looked up once for a question.
pub(crate) struct PostingsCache<'a> {
    pub(crate) snapshot: &'a Snapshot,
    found: RefCell<HashMap<String, Rc<TermPostings>>>,
}

/// The postings of a term, by field.
pub(crate) struct TermPostings {
    pub(crate) bodies: Vec<Posting>,
    pub(crate) names: Vec<Posting>,
    pub(crate) paths: Vec<Posting>,
}

impl<'a> PostingsCache<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, found: RefCell::default() }
    }

    pub(crate) fn get(&self, term: &str) -> Rc<TermPostings> {
        if let Some(found) = self.found.borrow().get(term) {
            return Rc::clone(found);
        }
        let found = Rc::new(TermPostings {
            bodies: self.snapshot.lookup(Field::Bodies, term),
            names: self.snapshot.lookup(Field::Names, term),
            paths: self.snapshot.lookup(Field::Paths, term),
        });
        self.found.borrow_mut().insert(term.to_owned(), Rc::clone(&found));
        found
    }
}

/// The scores and concepts of all chunks, by chunk number; zero for a chunk without a match.
#[derive(Clone)]
pub(crate) struct ChunkScores {
    pub(crate) scores: Vec<f32>,
    /// The best score of each file's chunks, by file number.
    pub(crate) best: Vec<f32>,
    pub(crate) concepts: Vec<u64>,
    /// The concepts that each chunk defines.
    pub(crate) defines: Vec<u64>,
}
