//! Which files and chunks fit a question, and how well.
//!
//! Three measures of a file are added: BM25 of the file as a whole, BM25 of its best chunk, and half of BM25 over the
//! words of its path; each divided by the best that any file reached, since their scales have nothing in common. Of a
//! long text the headline is asked by itself too, and counts about half. Paths and names that the question spells out
//! count on top, and so does what history knows: the files of commits whose messages are like the question ([`messages`]),
//! those that sessions worked on for questions like it ([`hits`]), and those that were changed along with the best
//! ([`co_change`]). Sums of scores beat sums of ranks here, because a
//! rank forgets by how much the first was better.

mod co_change;
mod hits;
mod messages;
mod named;
mod standing;

use std::collections::HashMap;
use std::rc::Rc;

use muninn_memory::hits::Hits;
use muninn_memory::index::lexical::{DocId, idf, saturation};

use crate::question::Question;
use crate::tuning::Lists;
use crate::vector_list;
use muninn_memory::index::{Companions, Field, Posting, Snapshot};

use standing::Standing;
pub(crate) use standing::place_of;

/// Weight of the words of a path, beside 1 for the file and 1 for its best chunk.
const PATH_WEIGHT: f32 = 0.5;
/// What a path that the question spells out adds.
const NAMED_PATH: f32 = 2.0;
/// How much more a part of an identifier would weigh if it stood alone.
const PART_WEIGHT: f32 = 0.5;
/// What defining a thing that the question names adds to a chunk, in units of the name's idf.
const DEFINES: f32 = 1.0;
const DEFINES_IDENTIFIER: f32 = 2.0;
/// What the headline of a long text counts, beside 1 for all of it.
const HEADLINE_WEIGHT: f32 = 0.55;

/// How many of the best files are looked at closely.
pub(crate) const MAX_FILES: usize = 24;

/// A term that is looked for on behalf of a concept.
pub(crate) struct Probe {
    pub(crate) term: String,
    /// The bit of its concept.
    pub(crate) concept: usize,
    pub(crate) weight: f32,
    pub(crate) idf: f32,
    /// Whether finding it is finding the concept, and not just a part of its name.
    pub(crate) covers: bool,
}

/// How common terms are: in the whole index, or, while there is none, in what a search saw.
pub(crate) trait Statistics {
    /// In how many documents a term occurs.
    fn frequency(&self, term: &str) -> u32;
    /// How many documents there are.
    fn documents(&self) -> usize;
}

impl Statistics for Snapshot {
    fn frequency(&self, term: &str) -> u32 {
        self.frequency(Field::Bodies, term)
            .max(self.frequency(Field::Paths, term))
    }

    fn documents(&self) -> usize {
        self.chunks()
    }
}

/// What is ranked.
#[derive(Clone, Copy)]
pub(crate) struct Index<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// In the numbers of the snapshot; none where history is not read.
    pub(crate) companions: &'a Companions,
    /// None where memory is not read.
    pub(crate) hits: &'a Hits,
}

/// A question, with what the index knows of its words.
pub(crate) struct Query {
    pub(crate) probes: Vec<Probe>,
    /// What each concept weighs: its idf, times how much the question dwells on it. One that the repository never
    /// mentions weighs like one that it mentions once.
    pub(crate) weights: Vec<f32>,
    /// Concepts that occur in the repository.
    pub(crate) known: u64,
    /// Chunks that are like the question in meaning, from 1 down; see [`vector_list`].
    pub(crate) near: Vec<(DocId, f32)>,
    /// The same of the headline alone.
    headline: Option<Box<Query>>,
}

/// A file that fits.
pub(crate) struct Candidate {
    pub(crate) file: usize,
    pub(crate) score: f32,
    /// Its chunks that hold anything of the question, best first.
    pub(crate) chunks: Vec<Scored>,
    /// Concepts found in its text or path.
    pub(crate) concepts: u64,
    /// Concepts found in its path.
    pub(crate) path_concepts: u64,
    /// The question spells its path out.
    pub(crate) named: bool,
    /// Sessions worked with it for questions like this one.
    pub(crate) remembered: bool,
}

/// A chunk that fits.
#[derive(Clone, Copy)]
pub(crate) struct Scored {
    pub(crate) doc: DocId,
    pub(crate) score: f32,
    pub(crate) concepts: u64,
    /// Concepts that it defines.
    pub(crate) defines: u64,
}

impl Query {
    /// Looks up each concept: as a whole where the repository knows it, else, and with less weight besides, by parts.
    pub(crate) fn new(question: &Question, statistics: &impl Statistics) -> Self {
        let n = statistics.documents();
        let mut query = Self {
            probes: Vec::new(),
            weights: Vec::new(),
            known: 0,
            near: Vec::new(),
            headline: question
                .headline
                .as_deref()
                .map(|headline| Box::new(Self::new(headline, statistics))),
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
                    query.probes.push(Probe {
                        term: term.clone(),
                        concept,
                        weight,
                        idf: idf(df, n),
                        covers,
                    });
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
    /// What a set of concepts weighs together.
    pub(crate) fn weigh(&self, concepts: u64) -> f32 {
        let bits = self
            .weights
            .iter()
            .enumerate()
            .filter(|(bit, _)| concepts >> bit & 1 == 1);
        bits.map(|(_, weight)| *weight).sum()
    }
}

/// The `keep` files that fit best, best first; the order does not depend on how the index came about.
pub(crate) fn rank(index: Index<'_>, question: &Question, query: &Query, lists: Lists, keep: usize) -> Vec<Candidate> {
    let snapshot = index.snapshot;
    let mut terms = Terms::new(snapshot);
    let standing = Standing::of(&mut terms, question, lists);
    let mut chunks = chunk_scores(&mut terms, question, query, (lists, &standing));
    let (fused, path_concepts) = fused_scores(&mut terms, query, &chunks, lists);
    let headline = headline_scores(&mut terms, question, query, (lists, &standing));
    let meaning = vector_list::file_scores(snapshot, &query.near, |doc| standing.of_chunk(doc));
    for (chunk, _) in &query.near {
        chunks.consider(*chunk);
    }
    let named_paths = if lists.has(Lists::NAMED) { &*question.paths } else { &[] };
    let named = named::by_path(snapshot, named_paths, &mut chunks);

    let factor = |file: usize| standing.of_file(file);
    let mut scores = vec![0.0f32; snapshot.file_numbers()];
    for (number, _) in snapshot.files() {
        let named_path = if named.contains(&number) { NAMED_PATH } else { 0.0 };
        let headline = headline.as_ref().map_or(0.0, |headline| headline[number]);
        let meaning = meaning.get(&number).copied().unwrap_or(0.0);
        scores[number] = (fused[number] + meaning + HEADLINE_WEIGHT * headline + named_path) * factor(number);
    }
    let best = scores.iter().copied().fold(0.0, f32::max);
    if lists.has(Lists::MESSAGES) {
        let shares = messages::shares(index, question);
        add(&mut scores, &shares, |file| messages::WEIGHT * best * factor(file));
    }
    let worked_with = match lists.has(Lists::HITS) {
        true => hits::shares(index, question),
        false => Vec::new(),
    };
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
            remembered: worked_with.get(file).is_some_and(|share| *share >= hits::TOLD),
        }
    };
    let ranked = leading(snapshot, &scores, &chunks, keep);
    ranked.into_iter().map(candidate).collect()
}

/// The `keep` best files that have anything, with their scores, best first.
fn leading(snapshot: &Snapshot, scores: &[f32], chunks: &Chunks, keep: usize) -> Vec<(f32, usize)> {
    let files = snapshot.files().map(|(number, _)| number);
    let found = files.filter(|file| scores[*file] > 0.0 || chunks.any(snapshot, *file));
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

/// Adds what another list gives files, by number, times a factor; `shares` is empty where the list has nothing.
fn add(scores: &mut [f32], shares: &[f32], factor: impl Fn(usize) -> f32) {
    for (file, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        scores[file] += share * factor(file);
    }
}

/// What holds each term, looked up once.
struct Terms<'a> {
    snapshot: &'a Snapshot,
    found: HashMap<String, Rc<Holders>>,
}

/// What holds a term, by field.
struct Holders {
    bodies: Vec<Posting>,
    names: Vec<Posting>,
    paths: Vec<Posting>,
}

impl<'a> Terms<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            found: HashMap::new(),
        }
    }

    fn get(&mut self, term: &str) -> Rc<Holders> {
        if let Some(found) = self.found.get(term) {
            return Rc::clone(found);
        }
        let found = Rc::new(Holders {
            bodies: self.snapshot.lookup(Field::Bodies, term),
            names: self.snapshot.lookup(Field::Names, term),
            paths: self.snapshot.lookup(Field::Paths, term),
        });
        self.found.insert(term.to_owned(), Rc::clone(&found));
        found
    }
}

/// What each chunk scores and holds, by its number. Zero for those that hold nothing of the question.
struct Chunks {
    scores: Vec<f32>,
    concepts: Vec<u64>,
    /// Concepts that it defines.
    defines: Vec<u64>,
}

impl Chunks {
    /// Makes a chunk one that may be packed, though no word of the question is in it.
    fn consider(&mut self, chunk: DocId) {
        let score = &mut self.scores[chunk.0 as usize];
        *score = score.max(f32::MIN_POSITIVE);
    }

    fn best(&self, snapshot: &Snapshot, file: usize) -> f32 {
        let range = snapshot.spans_of(file);
        let scores = &self.scores[range.start as usize..range.end as usize];
        scores.iter().copied().fold(0.0, f32::max)
    }

    fn any(&self, snapshot: &Snapshot, file: usize) -> bool {
        self.best(snapshot, file) > 0.0
    }

    /// The chunks of a file that hold anything of the question, best first.
    fn of(&self, snapshot: &Snapshot, file: usize) -> Vec<Scored> {
        let scored = |number: u32| {
            let at = number as usize;
            (self.scores[at] > 0.0).then(|| Scored {
                doc: DocId(number),
                score: self.scores[at],
                concepts: self.concepts[at],
                defines: self.defines[at],
            })
        };
        let mut chunks: Vec<Scored> = snapshot.spans_of(file).filter_map(scored).collect();
        chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        chunks
    }
}

/// The sum of the measures of each file, and the concepts found in its path; by the file's number.
fn fused_scores(terms: &mut Terms<'_>, query: &Query, chunks: &Chunks, lists: Lists) -> (Vec<f32>, Vec<u64>) {
    let snapshot = terms.snapshot;
    let mut best_chunks = vec![0.0; snapshot.file_numbers()];
    for (number, _) in snapshot.files() {
        best_chunks[number] = chunks.best(snapshot, number);
    }
    let (paths, path_concepts) = path_scores(terms, query);
    let mut fused = vec![0.0; snapshot.file_numbers()];
    for (list, weight, scores) in [
        (Lists::FILES, 1.0, file_scores(terms, query)),
        (Lists::CHUNKS, 1.0, best_chunks),
        (Lists::PATHS, PATH_WEIGHT, paths),
    ] {
        let best = scores.iter().copied().fold(0.0, f32::max);
        if lists.has(list) && best > 0.0 {
            let weight = weight / best;
            fused
                .iter_mut()
                .zip(scores)
                .for_each(|(sum, score)| *sum += weight * score);
        }
    }
    (fused, path_concepts)
}

/// What a ranking by the headline alone would go by; `None` where there is none.
fn headline_scores(
    terms: &mut Terms<'_>,
    question: &Question,
    query: &Query,
    (lists, standing): (Lists, &Standing<'_>),
) -> Option<Vec<f32>> {
    let (question, query) = (question.headline.as_deref()?, query.headline.as_deref()?);
    lists.has(Lists::HEADLINE).then(|| {
        let chunks = chunk_scores(terms, question, query, (lists, standing));
        fused_scores(terms, query, &chunks, lists).0
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn chunk_scores(
    terms: &mut Terms<'_>,
    question: &Question,
    query: &Query,
    (lists, standing): (Lists, &Standing<'_>),
) -> Chunks {
    let snapshot = terms.snapshot;
    let (average, lengths) = (snapshot.average_length(), snapshot.lengths());
    let numbers = snapshot.chunk_numbers();
    let mut chunks = Chunks {
        scores: vec![0.0; numbers],
        concepts: vec![0; numbers],
        defines: vec![0; numbers],
    };
    for probe in &query.probes {
        let holders = terms.get(&probe.term);
        let (factor, bit) = (probe.weight * probe.idf, u64::from(probe.covers) << probe.concept);
        for posting in &holders.bodies {
            let at = posting.number as usize;
            chunks.scores[at] += factor * saturation(posting.count as f32, lengths[at] as f32, average);
            chunks.concepts[at] |= bit;
        }
        if lists.has(Lists::DEFINITIONS) && probe.covers {
            let identifier = question.concepts[probe.concept].identifier;
            let added = probe.idf * if identifier { DEFINES_IDENTIFIER } else { DEFINES };
            for posting in &holders.names {
                chunks.scores[posting.number as usize] += added;
                chunks.defines[posting.number as usize] |= bit;
            }
        }
    }
    for (number, _) in snapshot.files() {
        for number in snapshot.spans_of(number) {
            let score = &mut chunks.scores[number as usize];
            if *score > 0.0 {
                *score *= standing.of_chunk(DocId(number));
            }
        }
    }
    chunks
}

/// BM25 with files as documents, out of the chunks' postings: a file's chunks are neighbours in them.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn file_scores(terms: &mut Terms<'_>, query: &Query) -> Vec<f32> {
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

/// BM25 over the words of paths, and the concepts found in each; by the file's number.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn path_scores(terms: &mut Terms<'_>, query: &Query) -> (Vec<f32>, Vec<u64>) {
    let snapshot = terms.snapshot;
    let average = snapshot.average_path_length();
    let mut scores = vec![0.0; snapshot.file_numbers()];
    let mut concepts = vec![0; snapshot.file_numbers()];
    for probe in &query.probes {
        let holders = terms.get(&probe.term);
        let idf = idf(u32::try_from(holders.paths.len()).unwrap_or(u32::MAX), snapshot.len());
        for posting in &holders.paths {
            let file = posting.number as usize;
            let length = snapshot.path_length(file) as f32;
            scores[file] += probe.weight * idf * saturation(posting.count as f32, length, average);
            concepts[file] |= u64::from(probe.covers) << probe.concept;
        }
    }
    (scores, concepts)
}
