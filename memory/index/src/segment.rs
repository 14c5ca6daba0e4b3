//! Immutable segments of an index.
//!
//! A worktree's index is one large segment, and small ones for changes since, until they are merged. So a changed file
//! costs what the file costs, not what the repository costs.

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use muninn_base::RelPath;
use muninn_repo_tools::BlobId;
use muninn_text::lexical::{Bm25, Bm25Builder, Inverted, InvertedBuilder, Keep, Tokenizer, counted};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::digest::{Digest, Span};
use super::language::{FileRole, file_role};
use super::syntax::Syntax;
use crate::cache::nanos;

/// Files, their chunks, and the words of both. Cheap to clone: large parts are shared.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    /// Files. Only their times can change.
    pub(super) files: Arc<Vec<File>>,
    /// File numbers, sorted by path.
    by_path: Arc<Vec<u32>>,
    pub(super) words: Arc<SegmentContent>,
}

/// Data extracted from the files' content.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SegmentContent {
    pub(super) spans: Vec<Span>,
    /// The file of each span.
    pub(super) owners: Vec<u32>,
    /// One document for each span.
    pub(super) bodies: Bm25,
    /// Names defined by each span: one document per span.
    pub(super) names: Inverted,
    /// One document for each file.
    pub(super) paths: Bm25,
    /// Syntax of each file.
    pub(super) syntax: Vec<Syntax>,
}

/// A file in the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct File {
    /// Path, size, time and blob at the last read.
    pub facts: FileFacts,
    /// The file's role.
    pub role: FileRole,
    /// Whether most lines of the source file are comments.
    pub commented: bool,
    /// Terms in all its chunks.
    pub length: u32,
    pub(super) first_span: u32,
    pub(super) spans: u32,
}

/// A file at its last read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    pub path: RelPath,
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970; [`i64::MIN`] if the file can have changed after the read with the
    /// same time.
    pub modified: i64,
    /// Blob id of the content.
    pub blob: BlobId,
}

impl FileFacts {
    /// Returns whether size and time are those of the last read.
    pub fn fits(&self, size: u64, modified: SystemTime) -> bool {
        self.size == size && self.modified == nanos(modified)
    }
}

/// A time that no file has, so that a file with it is read again.
pub(super) const RACY: i64 = i64::MIN;

#[derive(Default)]
pub(super) struct SegmentBuilder {
    files: Vec<File>,
    spans: Vec<Span>,
    owners: Vec<u32>,
    bodies: Bm25Builder,
    names: InvertedBuilder,
    paths: Bm25Builder,
    syntax: Vec<Syntax>,
}

impl SegmentBuilder {
    pub(super) fn add(&mut self, tokenizer: &mut Tokenizer, facts: FileFacts, digest: Digest) {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let first_span = u32::try_from(self.spans.len()).unwrap_or(u32::MAX);
        let path_terms = counted(tokenizer, facts.path.as_str());
        self.paths.add(path_terms.iter().map(|(term, count)| (term.as_str(), *count)));
        let mut length = 0u32;
        for (at, span) in digest.spans.iter().enumerate() {
            let bag = digest.bag(at);
            self.bodies.add(bag.inspect(|(_, count)| length = length.saturating_add(*count)));
            let mut names: Vec<&str> = digest.names(at).collect();
            names.sort_unstable();
            names.dedup();
            self.names.add(names.into_iter().map(|name| (name, 1)));
            self.spans.push(*span);
            self.owners.push(number);
        }
        let role = if digest.data { FileRole::Generated } else { file_role(&facts.path) };
        self.syntax.push(digest.syntax);
        self.files.push(File {
            facts,
            role,
            commented: digest.commented,
            length,
            first_span,
            spans: u32::try_from(digest.spans.len()).unwrap_or(u32::MAX),
        });
    }

    pub(super) fn finish(self) -> Segment {
        let words = SegmentContent {
            spans: self.spans,
            owners: self.owners,
            bodies: self.bodies.finish(),
            names: self.names.finish(),
            paths: self.paths.finish(),
            syntax: self.syntax,
        };
        Segment::new(self.files, words)
    }
}

/// The stored format of a segment.
#[derive(Serialize, Deserialize)]
struct StoredSegment<F, P, W> {
    files: F,
    by_path: P,
    words: W,
}

impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = StoredSegment { files: &*self.files, by_path: &*self.by_path, words: &*self.words };
        kept.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kept: StoredSegment<Vec<File>, Vec<u32>, SegmentContent> = StoredSegment::deserialize(deserializer)?;
        Ok(Segment { files: Arc::new(kept.files), by_path: Arc::new(kept.by_path), words: Arc::new(kept.words) })
    }
}

impl Segment {
    fn new(files: Vec<File>, words: SegmentContent) -> Segment {
        let mut by_path: Vec<u32> = (0..u32::try_from(files.len()).unwrap_or(u32::MAX)).collect();
        by_path.sort_unstable_by(|a, b| files[*a as usize].facts.path.cmp(&files[*b as usize].facts.path));
        Segment { files: Arc::new(files), by_path: Arc::new(by_path), words: Arc::new(words) }
    }

    /// The number of the file at a path.
    pub(super) fn find(&self, path: &RelPath) -> Option<usize> {
        let path_of = |number: &u32| &self.files[*number as usize].facts.path;
        let at = self.by_path.binary_search_by(|number| path_of(number).cmp(path)).ok()?;
        Some(self.by_path[at] as usize)
    }

    /// The numbers of the file at a path and of files below it, if it was a directory.
    pub(super) fn below<'a>(&'a self, path: &'a RelPath) -> impl Iterator<Item = usize> {
        let path_of = |number: &u32| &self.files[*number as usize].facts.path;
        let first = self.by_path.partition_point(move |number| path_of(number) < path);
        // A file can sort between a directory's name and its content: `a`, `a-b`, `a/c`.
        let near = self.by_path[first..].iter();
        let near = near.take_while(move |number| path_of(number).as_str().starts_with(path.as_str()));
        let under = near.filter(move |number| path_of(number).is_under(path));
        under.map(|number| *number as usize)
    }

    /// The spans of a file.
    pub(super) fn spans_of(&self, number: usize) -> Range<usize> {
        let file = &self.files[number];
        file.first_span as usize..(file.first_span + file.spans) as usize
    }

    /// Merges segments without their removed files. The remaining files have distinct paths.
    pub(super) fn merged(parts: &[(&Segment, Option<&Removals>)]) -> Segment {
        let mut files = Vec::new();
        let mut words = SegmentContent::default();
        for (part, gone) in parts {
            for (number, file) in part.files.iter().enumerate() {
                if gone.is_some_and(|gone| gone.files[number]) {
                    continue;
                }
                let owner = u32::try_from(files.len()).unwrap_or(u32::MAX);
                let spans = &part.words.spans[part.spans_of(number)];
                files.push(File { first_span: u32::try_from(words.spans.len()).unwrap_or(u32::MAX), ..file.clone() });
                words.owners.extend(spans.iter().map(|_| owner));
                words.spans.extend_from_slice(spans);
                words.syntax.push(part.words.syntax[number].clone());
            }
        }
        let stays = |flags: &Vec<bool>| flags.iter().map(|gone| !gone).collect::<Vec<_>>();
        let keep: Vec<_> =
            parts.iter().map(|(_, gone)| gone.map(|gone| (stays(&gone.files), stays(&gone.spans)))).collect();
        let bodies: Vec<(&Bm25, Keep<'_>)> = zip(parts, &keep, |words| &words.bodies, |keep| &keep.1);
        let names: Vec<(&Inverted, Keep<'_>)> = zip(parts, &keep, |words| &words.names, |keep| &keep.1);
        let paths: Vec<(&Bm25, Keep<'_>)> = zip(parts, &keep, |words| &words.paths, |keep| &keep.0);
        words.bodies = Bm25::merged(&bodies);
        words.names = Inverted::merged(&names);
        words.paths = Bm25::merged(&paths);
        Segment::new(files, words)
    }
}

/// Flags of the files, and of the spans, of a part that remain.
type KeepFlags = (Vec<bool>, Vec<bool>);

fn zip<'a, T>(
    parts: &[(&'a Segment, Option<&Removals>)],
    keep: &'a [Option<KeepFlags>],
    field: impl Fn(&'a SegmentContent) -> &'a T,
    flags: impl Fn(&'a KeepFlags) -> &'a Vec<bool>,
) -> Vec<(&'a T, Keep<'a>)> {
    let pairs = parts.iter().zip(keep);
    pairs.map(|((part, _), keep)| (field(&part.words), keep.as_ref().map(|keep| flags(keep).as_slice()))).collect()
}

/// Removed files and spans of a segment.
#[derive(Debug, Clone)]
pub(super) struct Removals {
    pub(super) files: Vec<bool>,
    pub(super) spans: Vec<bool>,
}

impl Removals {
    pub(super) fn none_of(segment: &Segment) -> Removals {
        Removals { files: vec![false; segment.files.len()], spans: vec![false; segment.words.spans.len()] }
    }

    pub(super) fn add(&mut self, segment: &Segment, number: usize) {
        self.files[number] = true;
        self.spans[segment.spans_of(number)].fill(true);
    }
}
