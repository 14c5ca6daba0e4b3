//! The index over a worktree at one moment.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::lexical::{Bm25, DocId, Tokenizer, counted};
use muninn_repo_tools::{BlobId, RelPath};

use super::digest::{Digest, Span};
use super::language::{Place, place};

/// Files, their chunks, and the words of both.
#[derive(Clone, Default)]
pub struct Snapshot {
    files: Vec<File>,
    spans: Vec<(u32, Span)>,
    /// One document for each span, in the same order.
    bodies: Bm25,
    /// One document for each file, in the same order.
    paths: Bm25,
}

/// A file as it was when it was last read.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// Where it is.
    pub path: RelPath,
    /// In bytes.
    pub size: u64,
    /// Nanoseconds since 1970; [`i64::MIN`] if the file may have changed after it was read without showing it.
    pub modified: i64,
    /// What it held.
    pub blob: BlobId,
}

/// No file has this time, so that a file that carries it is read again.
pub(super) const RACY: i64 = i64::MIN;

/// A file in the index.
#[derive(Clone)]
pub struct File {
    /// What it was when it was last read.
    pub facts: FileFacts,
    /// The part that it plays.
    pub place: Place,
    /// Terms in all its chunks.
    pub length: u32,
    first_span: u32,
    spans: u32,
}

impl Snapshot {
    /// The snapshot after some files are gone, others have only a new time, and others came. A file with new content is
    /// both gone and new.
    pub fn with_changes(&self, gone: &HashSet<RelPath>, touched: &[FileFacts], new: &[(FileFacts, Digest)]) -> Self {
        let mut next = self.clone();
        if !gone.is_empty() {
            next.forget(gone);
        }
        let mut times: HashMap<&RelPath, &FileFacts> = touched.iter().map(|facts| (&facts.path, facts)).collect();
        for file in &mut next.files {
            if let Some(facts) = times.remove(&file.facts.path) {
                file.facts = facts.clone();
            }
        }
        let mut tokenizer = Tokenizer::new();
        for (facts, digest) in new {
            next.add(&mut tokenizer, facts.clone(), digest);
        }
        next.bodies.shrink();
        next.paths.shrink();
        next.spans.shrink_to_fit();
        next
    }

    fn forget(&mut self, gone: &HashSet<RelPath>) {
        let stays: Vec<bool> = self.files.iter().map(|file| !gone.contains(&file.facts.path)).collect();
        let file_of: Vec<u32> = self.spans.iter().map(|(file, _)| *file).collect();
        self.bodies.retain(|doc| stays[file_of[doc.0 as usize] as usize]);
        self.paths.retain(|doc| stays[doc.0 as usize]);
        self.spans.retain(|(file, _)| stays[*file as usize]);
        self.files.retain(|file| !gone.contains(&file.facts.path));
        let mut first = 0;
        for (number, file) in (0u32..).zip(&mut self.files) {
            file.first_span = first;
            first += file.spans;
            let range = file.first_span as usize..first as usize;
            self.spans[range].iter_mut().for_each(|(owner, _)| *owner = number);
        }
    }

    fn add(&mut self, tokenizer: &mut Tokenizer, facts: FileFacts, digest: &Digest) {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let first_span = u32::try_from(self.spans.len()).unwrap_or(u32::MAX);
        let path_terms = counted(tokenizer, facts.path.as_str());
        self.paths
            .add(path_terms.iter().map(|(term, count)| (term.as_str(), *count)));
        let mut length = 0;
        for (at, span) in digest.spans.iter().enumerate() {
            let doc = self.bodies.add(digest.bag(at));
            length += self.bodies.length(doc);
            self.spans.push((number, span.clone()));
        }
        let place = if digest.data {
            Place::Generated
        } else {
            place(&facts.path)
        };
        let spans = u32::try_from(digest.spans.len()).unwrap_or(u32::MAX);
        self.files.push(File {
            facts,
            place,
            length,
            first_span,
            spans,
        });
    }

    /// All files; one is meant by its position here.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The words of chunks.
    pub fn bodies(&self) -> &Bm25 {
        &self.bodies
    }

    /// The words of paths.
    pub fn paths(&self) -> &Bm25 {
        &self.paths
    }

    /// The number of the file that a chunk belongs to.
    pub fn file_of(&self, doc: DocId) -> usize {
        self.spans[doc.0 as usize].0 as usize
    }

    /// A chunk.
    pub fn span(&self, doc: DocId) -> &Span {
        &self.spans[doc.0 as usize].1
    }

    /// The numbers of a file's chunks.
    pub fn spans_of(&self, file: usize) -> Range<u32> {
        let file = &self.files[file];
        file.first_span..file.first_span + file.spans
    }

    /// How many chunks there are.
    pub fn chunks(&self) -> usize {
        self.spans.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::digest;
    use super::*;

    fn file(path: &str, text: &str) -> (FileFacts, Digest) {
        let path = RelPath::new(path).unwrap();
        let digest = digest(&mut Tokenizer::new(), &path, text);
        let blob = BlobId::of(text.as_bytes()).unwrap();
        (
            FileFacts {
                path,
                size: text.len() as u64,
                modified: 1,
                blob,
            },
            digest,
        )
    }

    fn found(snapshot: &Snapshot, term: &str) -> Vec<(String, u32)> {
        let docs = snapshot.bodies().postings(term);
        docs.map(|(doc, _)| {
            let path = snapshot.files()[snapshot.file_of(doc)].facts.path.to_string();
            (path, snapshot.span(doc).first)
        })
        .collect()
    }

    #[test]
    fn a_changed_file_takes_its_old_chunks_along() {
        let one = [
            file("a.rs", "fn alpha() {}\n"),
            file("b.rs", "fn beta() {}\n"),
            file("c.rs", "fn beta() {}\n"),
        ];
        let before = Snapshot::default().with_changes(&HashSet::new(), &[], &one);
        let gone = HashSet::from([RelPath::new("a.rs").unwrap(), RelPath::new("b.rs").unwrap()]);
        let after = before.with_changes(&gone, &[], &[file("b.rs", "// moved\n\nfn gamma() {}\n")]);
        assert_eq!(found(&before, "beta"), [("b.rs".to_owned(), 1), ("c.rs".to_owned(), 1)]);
        assert_eq!(found(&after, "beta"), [("c.rs".to_owned(), 1)]);
        assert_eq!(found(&after, "gamma"), [("b.rs".to_owned(), 1)]);
        assert!(found(&after, "alpha").is_empty());
        assert_eq!((after.files().len(), after.chunks()), (2, 2));
        assert!((0..2).all(|file| after.spans_of(file).all(|doc| after.file_of(DocId(doc)) == file)));
    }
}
