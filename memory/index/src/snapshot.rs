//! Snapshots: the index over a worktree at one moment.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use muninn_base::RelPath;
use muninn_text::lexical::{DocId, Inverted, Tokenizer};

use super::digest::{Digest, Span};
use super::graph::Graph;
use super::segment::{File, FileFacts, Removals, Segment, SegmentBuilder};
use super::syntax::Symbol;

/// With more parts, all except the first are merged.
const MAX_PARTS: usize = 6;
/// All parts are merged if more than 1/8 of the files are removed from the first part or outside of it.
const STALE_SHARE: usize = 8;
/// Minimum number of such files for a merge.
const STALE_FILES: usize = 256;

/// Files, their chunks, and the words of both. Numbers of files and chunks are valid within one snapshot; not every
/// number below [`Snapshot::file_numbers`] and [`Snapshot::chunk_numbers`] is in use.
#[derive(Clone, Default)]
pub struct Snapshot {
    parts: Vec<Part>,
    files: usize,
    chunks: usize,
    /// The file of each chunk.
    owners: Vec<u32>,
    /// Terms in each chunk.
    lengths: Vec<u32>,
    /// Number of terms in all used chunks, and in all their paths.
    total_length: u64,
    total_path_length: u64,
    /// Built on first use.
    graph: Arc<OnceLock<Graph>>,
}

#[derive(Clone)]
struct Part {
    segment: Segment,
    /// Removed files; `None` if there are none.
    gone: Option<Arc<Removals>>,
    /// The first numbers of its files and chunks.
    first_file: usize,
    first_chunk: usize,
}

/// A searchable field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Words of chunks.
    Bodies,
    /// Names defined by chunks, each as one term.
    Names,
    /// Words of paths.
    Paths,
}

/// A document that contains a term: the number of a chunk, or of a file for [`Field::Paths`], and the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The chunk's or file's number.
    pub number: u32,
    /// Number of occurrences.
    pub count: u32,
}

/// The difference between two snapshots.
#[derive(Default)]
pub(super) struct Changes {
    /// Files that were removed, or have other content.
    pub(super) gone: Vec<RelPath>,
    /// Files with the same content and another time.
    pub(super) touched: Vec<FileFacts>,
    /// New files.
    pub(super) new: Segment,
}

impl Snapshot {
    pub(super) fn of(segment: Segment) -> Snapshot {
        Snapshot::assembled(vec![Part::whole(segment)])
    }

    /// Builds an index of these files.
    pub fn of_files(tokenizer: &mut Tokenizer, files: Vec<(FileFacts, Digest)>) -> Snapshot {
        let mut builder = SegmentBuilder::default();
        for (facts, digest) in files {
            builder.add(tokenizer, facts, digest);
        }
        Snapshot::of(builder.finish())
    }

    /// Applies changes. Costs what the changes cost, and a pass over the chunk numbers.
    pub(super) fn changed(&self, changes: Changes) -> Snapshot {
        let mut parts = self.parts.clone();
        for path in &changes.gone {
            if let Some((part, number)) = find(&parts, path) {
                let part = &mut parts[part];
                let gone = part.gone.get_or_insert_with(|| Arc::new(Removals::none_of(&part.segment)));
                Arc::make_mut(gone).add(&part.segment, number);
            }
        }
        for facts in changes.touched {
            if let Some((part, number)) = find(&parts, &facts.path) {
                Arc::make_mut(&mut parts[part].segment.files)[number].facts = facts;
            }
        }
        if !changes.new.files.is_empty() {
            if parts.len() >= MAX_PARTS {
                let small = merged(&parts.split_off(1));
                parts.push(small);
            }
            parts.push(Part::whole(changes.new));
        }
        Snapshot::assembled(parts)
    }

    /// Merges all parts, if it is worth it.
    pub(super) fn compacted(&self) -> Option<Snapshot> {
        let first = self.parts.first()?;
        let in_first = first.live_files();
        let outside = self.files - in_first;
        let stale = first.segment.files.len() - in_first + outside;
        (stale > STALE_FILES.max(self.files / STALE_SHARE)).then(|| Snapshot::assembled(vec![merged(&self.parts)]))
    }

    /// All parts as one segment, for storing.
    pub(super) fn whole(&self) -> Segment {
        match self.parts.as_slice() {
            [part] if part.gone.is_none() => part.segment.clone(),
            parts => merged(parts).segment,
        }
    }

    fn assembled(mut parts: Vec<Part>) -> Snapshot {
        parts.retain(|part| part.live_files() > 0);
        let mut made = Snapshot::default();
        let mut first_file = 0;
        for part in &mut parts {
            (part.first_file, part.first_chunk) = (first_file, made.owners.len());
            let words = &part.segment.words;
            let base = u32::try_from(first_file).unwrap_or(u32::MAX);
            made.owners.extend(words.owners.iter().map(|owner| owner + base));
            made.lengths.extend_from_slice(words.bodies.lengths());
            first_file += part.segment.files.len();
            for (number, file) in part.live() {
                made.files += 1;
                made.chunks += file.spans as usize;
                made.total_length += u64::from(file.length);
                made.total_path_length += u64::from(words.paths.lengths()[number]);
            }
        }
        made.parts = parts;
        made
    }

    /// All files with their numbers.
    pub fn files(&self) -> impl Iterator<Item = (usize, &File)> {
        self.parts.iter().flat_map(|part| part.live().map(|(number, file)| (part.first_file + number, file)))
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.files
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Upper bound of file numbers.
    pub fn file_numbers(&self) -> usize {
        self.parts.last().map_or(0, |part| part.first_file + part.segment.files.len())
    }

    /// Upper bound of chunk numbers.
    pub fn chunk_numbers(&self) -> usize {
        self.owners.len()
    }

    pub fn file(&self, number: usize) -> &File {
        let part = self.part_of(number, |part| part.first_file);
        &part.segment.files[number - part.first_file]
    }

    /// The number and the entry of the file at a path.
    pub fn find(&self, path: &RelPath) -> Option<(usize, &File)> {
        let (part, number) = find(&self.parts, path)?;
        let part = &self.parts[part];
        Some((part.first_file + number, &part.segment.files[number]))
    }

    /// The files at some paths, or below them if they were directories.
    pub(super) fn at(&self, paths: &BTreeSet<RelPath>) -> Vec<RelPath> {
        let parts = self.parts.iter();
        let found = parts.flat_map(|part| paths.iter().flat_map(|path| part.at(path)));
        found.cloned().collect()
    }

    /// The number of the file that a chunk belongs to.
    pub fn file_of(&self, chunk: DocId) -> usize {
        self.owners[chunk.0 as usize] as usize
    }

    pub fn span(&self, chunk: DocId) -> Span {
        let number = chunk.0 as usize;
        let part = self.part_of(number, |part| part.first_chunk);
        part.segment.words.spans[number - part.first_chunk]
    }

    /// The numbers of a file's chunks, in line order.
    pub fn spans_of(&self, file: usize) -> Range<u32> {
        let part = self.part_of(file, |part| part.first_file);
        let range = part.segment.spans_of(file - part.first_file);
        let global = |number: usize| u32::try_from(part.first_chunk + number).unwrap_or(u32::MAX);
        global(range.start)..global(range.end)
    }

    /// Number of chunks, or files for [`Field::Paths`], that contain a term.
    pub fn frequency(&self, field: Field, term: &str) -> u32 {
        if self.parts.iter().any(|part| part.gone.is_some()) {
            return u32::try_from(self.postings(field, term).count()).unwrap_or(u32::MAX);
        }
        self.parts.iter().map(|part| part.index(field).frequency(term)).sum()
    }

    /// Postings of a term, sorted by number.
    pub fn lookup(&self, field: Field, term: &str) -> Vec<Posting> {
        self.postings(field, term).collect()
    }

    fn postings(&self, field: Field, term: &str) -> impl Iterator<Item = Posting> {
        self.parts.iter().flat_map(move |part| {
            let (first, gone) = match field {
                Field::Paths => (part.first_file, part.gone.as_ref().map(|gone| &gone.files)),
                Field::Bodies | Field::Names => (part.first_chunk, part.gone.as_ref().map(|gone| &gone.spans)),
            };
            let first = u32::try_from(first).unwrap_or(u32::MAX);
            let postings = part.index(field).postings(term);
            let live = postings.filter(move |(doc, _)| !gone.is_some_and(|gone| gone[doc.0 as usize]));
            live.map(move |(doc, count)| Posting { number: first + doc.0, count })
        })
    }

    /// The graph of definitions, imports and calls. Built on first use, which takes a fraction of a second for a
    /// million lines.
    pub fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| {
            let live = self.parts.iter().flat_map(|part| {
                let number = |number: usize| u32::try_from(part.first_file + number).unwrap_or(u32::MAX);
                let syntax = &part.segment.words.syntax;
                part.live().map(move |(at, file)| (number(at), &file.facts.path, &syntax[at]))
            });
            Graph::build(live)
        })
    }

    /// The numbers of files that call a name.
    pub fn calling(&self, name: &str) -> impl Iterator<Item = usize> {
        self.parts.iter().flat_map(move |part| {
            let calls = move |number: &usize| part.segment.words.syntax[*number].calls(name);
            let numbers = part.live().map(|(number, _)| number).filter(calls);
            numbers.map(|number| part.first_file + number)
        })
    }

    /// Symbols defined in a chunk's lines.
    pub fn symbols_of(&self, chunk: DocId) -> impl Iterator<Item = Symbol<'_>> {
        let (file, span) = (self.file_of(chunk), self.span(chunk));
        let part = self.part_of(file, |part| part.first_file);
        let symbols = part.segment.words.syntax[file - part.first_file].symbols();
        symbols.filter(move |symbol| (span.first..=span.last).contains(&symbol.line))
    }

    /// Number of terms in each chunk.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Mean length of chunks, in terms.
    pub fn average_length(&self) -> f32 {
        mean(self.total_length, self.chunks)
    }

    /// Mean length of files, in terms.
    pub fn average_file_length(&self) -> f32 {
        mean(self.total_length, self.files)
    }

    /// Number of terms in a file's path.
    pub fn path_length(&self, file: usize) -> u32 {
        let part = self.part_of(file, |part| part.first_file);
        part.segment.words.paths.lengths()[file - part.first_file]
    }

    /// Mean number of terms in paths.
    pub fn average_path_length(&self) -> f32 {
        mean(self.total_path_length, self.files)
    }

    fn part_of(&self, number: usize, first: impl Fn(&Part) -> usize) -> &Part {
        let behind = self.parts.partition_point(|part| first(part) <= number);
        &self.parts[behind - 1]
    }
}

impl Part {
    fn whole(segment: Segment) -> Part {
        Part { segment, gone: None, first_file: 0, first_chunk: 0 }
    }

    fn index(&self, field: Field) -> &Inverted {
        let words = &self.segment.words;
        match field {
            Field::Bodies => words.bodies.inverted(),
            Field::Names => &words.names,
            Field::Paths => words.paths.inverted(),
        }
    }

    fn is_gone(&self, number: usize) -> bool {
        self.gone.as_ref().is_some_and(|gone| gone.files[number])
    }

    fn live(&self) -> impl Iterator<Item = (usize, &File)> {
        let files = self.segment.files.iter().enumerate();
        files.filter(|(number, _)| !self.is_gone(*number))
    }

    fn at<'a>(&'a self, path: &'a RelPath) -> impl Iterator<Item = &'a RelPath> {
        let numbers = self.segment.below(path).filter(|number| !self.is_gone(*number));
        numbers.map(|number| &self.segment.files[number].facts.path)
    }

    fn live_files(&self) -> usize {
        let gone = |gone: &Arc<Removals>| gone.files.iter().filter(|gone| **gone).count();
        self.segment.files.len() - self.gone.as_ref().map_or(0, gone)
    }
}

/// The part that contains a path, and the file's number in it.
fn find(parts: &[Part], path: &RelPath) -> Option<(usize, usize)> {
    let in_part = |(at, part): (usize, &Part)| {
        let number = part.segment.find(path).filter(|number| !part.is_gone(*number))?;
        Some((at, number))
    };
    parts.iter().enumerate().find_map(in_part)
}

fn merged(parts: &[Part]) -> Part {
    let parts: Vec<_> = parts.iter().map(|part| (&part.segment, part.gone.as_deref())).collect();
    Part::whole(Segment::merged(&parts))
}

#[expect(clippy::cast_precision_loss, reason = "a mean of lengths needs no more than 24 bits")]
fn mean(total: u64, count: usize) -> f32 {
    total as f32 / count.max(1) as f32
}

#[cfg(test)]
mod tests;
