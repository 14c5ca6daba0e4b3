use std::borrow::Cow;

use muninn_index::{Field, Snapshot};
use muninn_text::lexical::{DocId, idf, saturation};

use super::candidate::{
    Candidate, ChunkScores, FileCounts, FileStatistics, Index, PART_WEIGHT, PostingsCache, ScoredChunk, Statistics,
};
use super::weights::RankWeights;
use super::{co_change, hits, messages, named};
use crate::question::Question;
use crate::tuning::Lists;
use crate::vector_list;

/// Weight of the path's words, relative to 1 for the file and 1 for its best chunk.
const PATH_WEIGHT: f32 = 0.5;

/// Score added to a file whose path the question names.
const NAMED_PATH: f32 = 2.0;

/// Score added to a chunk that defines a concept, in units of the term's idf.
const DEFINES: f32 = 1.0;

const DEFINES_IDENTIFIER: f32 = 2.0;

/// Weight of the headline, relative to 1 for the whole text.
const HEADLINE_WEIGHT: f32 = 0.55;

/// Maximum number of candidates.
pub(crate) const MAX_FILES: usize = 24;

/// A search term of a concept.
pub(crate) struct Probe {
    pub(crate) term: String,
    /// The bit of its concept.
    pub(crate) concept: usize,
    pub(crate) weight: f32,
    pub(crate) idf: f32,
    /// Whether a match counts as a match of the whole concept, and not only of a part of its name.
    pub(crate) covers: bool,
}

impl Statistics for Snapshot {
    fn frequency(&self, term: &str) -> u32 {
        self.frequency(Field::Bodies, term).max(self.frequency(Field::Paths, term))
    }

    fn documents(&self) -> usize {
        self.chunks()
    }
}

impl Statistics for PostingsCache<'_> {
    fn frequency(&self, term: &str) -> u32 {
        let found = self.get(term);
        u32::try_from(found.bodies.len().max(found.paths.len())).unwrap_or(u32::MAX)
    }

    fn documents(&self) -> usize {
        Statistics::documents(self.snapshot)
    }
}

impl FileStatistics for PostingsCache<'_> {
    fn files_with(&self, term: &str) -> FileCounts {
        let mut counts = FileCounts::default();
        let mut last = None;
        // The chunks of a file are adjacent.
        for posting in &self.get(term).bodies {
            let file = self.snapshot.file_of(DocId(posting.number));
            if last != Some(file) {
                last = Some(file);
                counts.count(self.snapshot.file(file).role.kind());
            }
        }
        counts
    }

    fn files(&self) -> FileCounts {
        let mut counts = FileCounts::default();
        for (_, file) in self.snapshot.files() {
            counts.count(file.role.kind());
        }
        counts
    }
}

/// A question with the index statistics of its words.
pub(crate) struct Query {
    pub(crate) probes: Vec<Probe>,
    /// The weight of each concept: its idf times its emphasis. A concept that the repository lacks weighs like one that
    /// occurs once.
    pub(crate) weights: Vec<f32>,
    /// The concepts that occur in the repository, as bits.
    pub(crate) known: u64,
    /// The chunks with similar vectors, from 1 down; see [`vector_list`].
    pub(crate) near: Vec<(DocId, f32)>,
    /// The query of the headline alone.
    headline: Option<Box<Query>>,
}

impl Query {
    /// Looks up each concept as a whole, and with less weight by its parts. If the repository lacks the whole word, its
    /// rarest part counts as the concept.
    pub(crate) fn new(question: &Question, statistics: &impl Statistics) -> Self {
        let n = statistics.documents();
        let mut query = Self {
            probes: Vec::new(),
            weights: Vec::new(),
            known: 0,
            near: Vec::new(),
            headline: question.headline.as_deref().map(|headline| Box::new(Self::new(headline, statistics))),
        };
        for (concept, named) in question.concepts.iter().enumerate() {
            let whole = statistics.frequency(&named.whole);
            let parts: Vec<u32> = named.parts.iter().map(|part| statistics.frequency(part)).collect();
            let by_parts = whole == 0 && !parts.is_empty() && parts.iter().all(|df| *df > 0);
            let rarest = parts.iter().filter(|df| **df > 0).min().copied().unwrap_or(0);
            let df = if by_parts { rarest } else { whole };
            query.known |= u64::from(df > 0) << concept;
            query.weights.push(named.weight * idf(df.max(1), n));
            let mut probe = |term: &String, df: u32, weight: f32, covers: bool| {
                if df > 0 {
                    query.probes.push(Probe { term: term.clone(), concept, weight, idf: idf(df, n), covers });
                }
            };
            probe(&named.whole, whole, named.weight, true);
            for (part, df) in named.parts.iter().zip(parts) {
                probe(part, df, named.weight * PART_WEIGHT, by_parts && df == rarest);
            }
        }
        query
    }
}

impl Query {
    /// Returns the total weight of a set of concepts.
    pub(crate) fn weigh(&self, concepts: u64) -> f32 {
        let bits = self.weights.iter().enumerate().filter(|(bit, _)| concepts >> bit & 1 == 1);
        bits.map(|(_, weight)| *weight).sum()
    }
}

/// Returns the `keep` best files, best first. The order does not depend on the history of the index.
pub(crate) fn rank(index: Index<'_>, question: &Question, query: &Query, lists: Lists, keep: usize) -> Vec<Candidate> {
    WordScores::of(&PostingsCache::new(index.snapshot), question, query, lists).rank(index, query, keep)
}

/// The scores of files and chunks by the words of a question. The other lists of a ranking are added to them.
pub(crate) struct WordScores<'a> {
    question: &'a Question,
    lists: Lists,
    weights: RankWeights<'a>,
    chunks: ChunkScores,
    /// The sums of the measures, by file number.
    fused: Vec<f32>,
    /// The concepts in the paths, by file number.
    path_concepts: Vec<u64>,
    /// The sums for the headline alone; `None` without a headline.
    headline: Option<Vec<f32>>,
}

impl<'a> WordScores<'a> {
    pub(crate) fn of(terms: &PostingsCache<'a>, question: &'a Question, query: &Query, lists: Lists) -> Self {
        let weights = RankWeights::of(terms, question, lists);
        let chunks = chunk_scores(terms, question, query, (lists, &weights));
        let (fused, path_concepts) = fused_scores(terms, query, &chunks, lists);
        let headline = headline_scores(terms, question, query, (lists, &weights));
        Self { question, lists, weights, chunks, fused, path_concepts, headline }
    }

    /// Adds the scores of the other lists, and returns the `keep` best files, best first.
    pub(crate) fn rank(&self, index: Index<'_>, query: &Query, keep: usize) -> Vec<Candidate> {
        let Self { question, lists, weights, fused, path_concepts, headline, .. } = self;
        let snapshot = index.snapshot;
        let mut meaning = vec![0.0; snapshot.file_numbers()];
        for (file, score) in vector_list::file_scores(snapshot, &query.near, |doc| weights.of_chunk(doc)) {
            meaning[file] = score;
        }
        let named_paths = if lists.has(Lists::NAMED) { &*question.paths } else { &[] };
        let mut chunks = Cow::Borrowed(&self.chunks);
        let mut named = Vec::new();
        if !query.near.is_empty() || !named_paths.is_empty() {
            let chunks = chunks.to_mut();
            for (chunk, _) in &query.near {
                chunks.add_candidate(snapshot, *chunk);
            }
            named = named::by_path(snapshot, named_paths, chunks);
        }

        let factor = |file: usize| weights.of_file(file);
        let mut scores = vec![0.0f32; snapshot.file_numbers()];
        for (number, score) in scores.iter_mut().enumerate() {
            let named_path = if named.contains(&number) { NAMED_PATH } else { 0.0 };
            let headline = headline.as_ref().map_or(0.0, |headline| headline[number]);
            let sum = fused[number] + meaning[number] + HEADLINE_WEIGHT * headline + named_path;
            if sum > 0.0 {
                *score = sum * factor(number);
            }
        }
        let best = scores.iter().copied().fold(0.0, f32::max);
        if lists.has(Lists::MESSAGES) {
            let shares = messages::shares(index, question);
            add(&mut scores, &shares, |file| messages::WEIGHT * best * factor(file));
        }
        let worked_with = if lists.has(Lists::HITS) { hits::shares(index, question) } else { Vec::new() };
        add(&mut scores, &worked_with, |file| hits::WEIGHT * best * factor(file));
        if lists.has(Lists::CO_CHANGE) {
            let leaders = leading(snapshot, &scores, &chunks, co_change::LEADERS);
            let lifts = co_change::lifts(index, &leaders);
            add(&mut scores, &lifts, factor);
        }
        let candidate = |(score, file): (f32, usize)| {
            let chunks = chunks.of(snapshot, file);
            let path_concepts = path_concepts[file];
            Candidate {
                file,
                score,
                concepts: chunks.iter().fold(path_concepts, |all, chunk| all | chunk.concepts),
                chunks,
                path_concepts,
                named: named.contains(&file),
                remembered: worked_with.get(file).is_some_and(|share| *share >= hits::MIN_REPORTED_SHARE),
            }
        };
        let ranked = leading(snapshot, &scores, &chunks, keep);
        ranked.into_iter().map(candidate).collect()
    }
}

/// Returns the `keep` best files with a match, with their scores, best first.
fn leading(snapshot: &Snapshot, scores: &[f32], chunks: &ChunkScores, keep: usize) -> Vec<(f32, usize)> {
    let files = snapshot.files().map(|(number, _)| number);
    let found = files.filter(|file| scores[*file] > 0.0 || chunks.best[*file] > 0.0);
    let mut found: Vec<(f32, usize)> = found.map(|file| (scores[file], file)).collect();
    let path = |number: usize| &snapshot.file(number).facts.path;
    let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then_with(|| path(a.1).cmp(path(b.1)));
    if found.len() > keep && keep > 0 {
        found.select_nth_unstable_by(keep - 1, order);
    }
    found.truncate(keep);
    found.sort_unstable_by(order);
    found
}

/// Adds the shares of another list, by file number, times a factor; `shares` may be empty.
fn add(scores: &mut [f32], shares: &[f32], factor: impl Fn(usize) -> f32) {
    for (file, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        scores[file] += share * factor(file);
    }
}

impl ChunkScores {
    /// Makes a chunk a candidate although no word of the question is in it.
    fn add_candidate(&mut self, snapshot: &Snapshot, chunk: DocId) {
        let score = self.scores[chunk.0 as usize];
        self.set(snapshot, chunk, score.max(f32::MIN_POSITIVE));
    }

    /// Sets a score that is not smaller than the chunk's.
    pub(super) fn set(&mut self, snapshot: &Snapshot, chunk: DocId, score: f32) {
        self.scores[chunk.0 as usize] = score;
        let best = &mut self.best[snapshot.file_of(chunk)];
        *best = best.max(score);
    }

    /// Returns the chunks of a file with a match, best first.
    fn of(&self, snapshot: &Snapshot, file: usize) -> Vec<ScoredChunk> {
        let scored = |number: u32| {
            let at = number as usize;
            (self.scores[at] > 0.0).then(|| ScoredChunk {
                doc: DocId(number),
                score: self.scores[at],
                concepts: self.concepts[at],
                defines: self.defines[at],
                usefulness: 0.0,
            })
        };
        let mut chunks: Vec<ScoredChunk> = snapshot.spans_of(file).filter_map(scored).collect();
        chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        chunks
    }
}

/// Returns the sum of the measures, and the concepts in the path, by file number.
fn fused_scores(terms: &PostingsCache<'_>, query: &Query, chunks: &ChunkScores, lists: Lists) -> (Vec<f32>, Vec<u64>) {
    let snapshot = terms.snapshot;
    let (paths, path_concepts) = path_scores(terms, query);
    let mut fused = vec![0.0; snapshot.file_numbers()];
    for (list, weight, scores) in [
        (Lists::FILES, 1.0, file_scores(terms, query)),
        (Lists::CHUNKS, 1.0, chunks.best.clone()),
        (Lists::PATHS, PATH_WEIGHT, paths),
    ] {
        let best = scores.iter().copied().fold(0.0, f32::max);
        if lists.has(list) && best > 0.0 {
            let weight = weight / best;
            fused.iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight * score);
        }
    }
    (fused, path_concepts)
}

/// Returns the file scores for the headline alone; `None` without a headline.
fn headline_scores(
    terms: &PostingsCache<'_>,
    question: &Question,
    query: &Query,
    (lists, weights): (Lists, &RankWeights<'_>),
) -> Option<Vec<f32>> {
    let (question, query) = (question.headline.as_deref()?, query.headline.as_deref()?);
    lists.has(Lists::HEADLINE).then(|| {
        let chunks = chunk_scores(terms, question, query, (lists, weights));
        fused_scores(terms, query, &chunks, lists).0
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn chunk_scores(
    terms: &PostingsCache<'_>,
    question: &Question,
    query: &Query,
    (lists, weights): (Lists, &RankWeights<'_>),
) -> ChunkScores {
    let snapshot = terms.snapshot;
    let (average, lengths) = (snapshot.average_length(), snapshot.lengths());
    let numbers = snapshot.chunk_numbers();
    let mut chunks = ChunkScores {
        scores: vec![0.0; numbers],
        best: vec![0.0; snapshot.file_numbers()],
        concepts: vec![0; numbers],
        defines: vec![0; numbers],
    };
    for probe in &query.probes {
        let postings = terms.get(&probe.term);
        let (factor, bit) = (probe.weight * probe.idf, u64::from(probe.covers) << probe.concept);
        for posting in &postings.bodies {
            let at = posting.number as usize;
            chunks.scores[at] += factor * saturation(posting.count as f32, lengths[at] as f32, average);
            chunks.concepts[at] |= bit;
        }
        if lists.has(Lists::DEFINITIONS) && probe.covers {
            let identifier = question.concepts[probe.concept].identifier;
            let added = probe.idf * if identifier { DEFINES_IDENTIFIER } else { DEFINES };
            for posting in &postings.names {
                chunks.scores[posting.number as usize] += added;
                chunks.defines[posting.number as usize] |= bit;
            }
        }
    }
    for (number, score) in (0..).zip(&mut chunks.scores).filter(|(_, score)| **score > 0.0) {
        let chunk = DocId(number);
        *score *= weights.of_chunk(chunk);
        let best = &mut chunks.best[snapshot.file_of(chunk)];
        *best = best.max(*score);
    }
    chunks
}

/// Returns BM25 with files as documents, from the postings of chunks; the chunks of a file are adjacent in them.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn file_scores(terms: &PostingsCache<'_>, query: &Query) -> Vec<f32> {
    let snapshot = terms.snapshot;
    let average = snapshot.average_file_length();
    let mut scores = vec![0.0; snapshot.file_numbers()];
    let mut counts: Vec<(usize, u32)> = Vec::new();
    for probe in &query.probes {
        counts.clear();
        for posting in &terms.get(&probe.term).bodies {
            let file = snapshot.file_of(DocId(posting.number));
            match counts.last_mut() {
                Some((last, sum)) if *last == file => *sum += posting.count,
                _ => counts.push((file, posting.count)),
            }
        }
        let idf = idf(u32::try_from(counts.len()).unwrap_or(u32::MAX), snapshot.len());
        for (file, count) in &counts {
            let length = snapshot.file(*file).length as f32;
            scores[*file] += probe.weight * idf * saturation(*count as f32, length, average);
        }
    }
    scores
}

/// Returns BM25 over the words of paths, and the concepts in each path, by file number.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn path_scores(terms: &PostingsCache<'_>, query: &Query) -> (Vec<f32>, Vec<u64>) {
    let snapshot = terms.snapshot;
    let average = snapshot.average_path_length();
    let mut scores = vec![0.0; snapshot.file_numbers()];
    let mut concepts = vec![0; snapshot.file_numbers()];
    for probe in &query.probes {
        let postings = terms.get(&probe.term);
        let idf = idf(u32::try_from(postings.paths.len()).unwrap_or(u32::MAX), snapshot.len());
        for posting in &postings.paths {
            let file = posting.number as usize;
            let length = snapshot.path_length(file) as f32;
            scores[file] += probe.weight * idf * saturation(posting.count as f32, length, average);
            concepts[file] |= u64::from(probe.covers) << probe.concept;
        }
    }
    (scores, concepts)
}
