//! Which files and chunks fit a question, and how well.
//!
//! Three measures of a file are added: BM25 of the file as a whole, BM25 of its best chunk, and half of BM25 over the
//! words of its path; each divided by the best that any file reached, since their scales have nothing in common. Of a
//! long text the headline is asked by itself too, and counts about half. Paths and names that the question spells out
//! count on top. Sums of scores beat sums of ranks here, because a rank forgets
//! by how much the first was better.

use std::collections::HashMap;

use muninn_memory::lexical::{DocId, idf};

use crate::question::{NamedPath, Question};
use crate::tuning::Lists;
use crate::vector_list;
use muninn_memory::derived::Place;
use muninn_memory::derived::Snapshot;

/// Weight of the words of a path, beside 1 for the file and 1 for its best chunk.
const PATH_WEIGHT: f32 = 0.5;
/// What a path that the question spells out adds.
const NAMED_PATH: f32 = 2.0;
/// How much more a part of an identifier would weigh if it stood alone.
const PART_WEIGHT: f32 = 0.5;
/// What defining a thing that the question names adds to a chunk, in units of the name's idf.
const DEFINES: f32 = 1.0;
const DEFINES_IDENTIFIER: f32 = 2.0;
/// What a chunk that holds a line the question names gets on top, as a share of the best chunk's score.
const NAMED_LINE: f32 = 1.5;
/// What the headline of a long text counts, beside 1 for all of it.
const HEADLINE_WEIGHT: f32 = 0.55;
// What is not source has every word, and is seldom what has to be changed. It stands back both where chunks are compared
// and where files are.
const DEMOTED_TEST: f32 = 0.35;
const DEMOTED_DOCS: f32 = 0.4;
const DEMOTED_SETTINGS: f32 = 0.5;
const DEMOTED_GENERATED: f32 = 0.2;
const DEMOTED_TEMPLATE: f32 = 0.05;

/// So many files may share the name that a question spells out.
const MAX_NAMESAKES: usize = 3;

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
        self.bodies()
            .document_frequency(term)
            .max(self.paths().document_frequency(term))
    }

    fn documents(&self) -> usize {
        self.chunks()
    }
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
pub(crate) fn rank(
    snapshot: &Snapshot,
    question: &Question,
    query: &Query,
    lists: Lists,
    keep: usize,
) -> Vec<Candidate> {
    let mut chunks = chunk_scores(snapshot, question, query, lists);
    let (fused, path_concepts) = fused_scores(snapshot, query, &chunks, lists);
    let headline = headline_scores(snapshot, question, query, lists);
    let chunk_demotion = |doc| demotion(place_of(snapshot, doc), question, lists);
    let meaning = vector_list::file_scores(snapshot, &query.near, chunk_demotion, &mut chunks);
    let named_paths = if lists.has(Lists::NAMED) { &*question.paths } else { &[] };
    let named = named_files(snapshot, named_paths, &mut chunks);

    let mut by_file: HashMap<usize, Vec<Scored>> = HashMap::new();
    for chunk in chunks.into_values() {
        by_file.entry(snapshot.file_of(chunk.doc)).or_default().push(chunk);
    }
    for file in fused.keys().chain(&named) {
        by_file.entry(*file).or_default();
    }
    let mut candidates: Vec<Candidate> = by_file
        .into_iter()
        .map(|(file, mut chunks)| {
            chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
            let of = |scores: &HashMap<usize, f32>| scores.get(&file).copied().unwrap_or(0.0);
            let path_concepts = path_concepts.get(&file).copied().unwrap_or(0);
            let named = named.contains(&file);
            let demotion = demotion(snapshot.files()[file].place, question, lists);
            let named_path = if named { NAMED_PATH } else { 0.0 };
            let score = (of(&fused) + of(&meaning) + HEADLINE_WEIGHT * of(&headline) + named_path) * demotion;
            let concepts = chunks.iter().fold(path_concepts, |all, chunk| all | chunk.concepts);
            Candidate {
                file,
                score,
                chunks,
                concepts,
                path_concepts,
                named,
            }
        })
        .collect();
    let path = |candidate: &Candidate| &snapshot.files()[candidate.file].facts.path;
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| path(a).cmp(path(b))));
    candidates.truncate(keep);
    candidates
}

/// The sum of the measures of each file that has any, and the concepts found in its path.
fn fused_scores(
    snapshot: &Snapshot,
    query: &Query,
    chunks: &HashMap<DocId, Scored>,
    lists: Lists,
) -> (HashMap<usize, f32>, HashMap<usize, u64>) {
    let mut best_chunks: HashMap<usize, f32> = HashMap::new();
    for chunk in chunks.values() {
        let best = best_chunks.entry(snapshot.file_of(chunk.doc)).or_default();
        *best = best.max(chunk.score);
    }
    let (paths, path_concepts) = path_scores(snapshot, query);
    let mut fused: HashMap<usize, f32> = HashMap::new();
    for (list, weight, scores) in [
        (Lists::FILES, 1.0, file_scores(snapshot, query)),
        (Lists::CHUNKS, 1.0, best_chunks),
        (Lists::PATHS, PATH_WEIGHT, paths),
    ] {
        let best = scores.values().copied().fold(0.0, f32::max);
        let weight = if lists.has(list) && best > 0.0 {
            weight / best
        } else {
            0.0
        };
        for (file, score) in scores {
            *fused.entry(file).or_default() += weight * score;
        }
    }
    (fused, path_concepts)
}

/// What a ranking by the headline alone would go by; empty where there is none.
fn headline_scores(snapshot: &Snapshot, question: &Question, query: &Query, lists: Lists) -> HashMap<usize, f32> {
    match (&question.headline, &query.headline) {
        (Some(question), Some(query)) if lists.has(Lists::HEADLINE) => {
            let chunks = chunk_scores(snapshot, question, query, lists);
            fused_scores(snapshot, query, &chunks, lists).0
        }
        _ => HashMap::new(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn chunk_scores(snapshot: &Snapshot, question: &Question, query: &Query, lists: Lists) -> HashMap<DocId, Scored> {
    let bodies = snapshot.bodies();
    let definitions = lists.has(Lists::DEFINITIONS);
    let average = bodies.average_length();
    let mut scores: HashMap<DocId, Scored> = HashMap::new();
    for probe in &query.probes {
        for (doc, count) in bodies.postings(&probe.term) {
            let chunk = scores.entry(doc).or_insert(Scored {
                doc,
                score: 0.0,
                concepts: 0,
                defines: 0,
            });
            let value = bodies.saturation(count as f32, bodies.length(doc) as f32, average);
            chunk.score += probe.weight * probe.idf * value;
            chunk.concepts |= u64::from(probe.covers) << probe.concept;
            if definitions && probe.covers && snapshot.span(doc).names.iter().any(|name| **name == *probe.term) {
                let identifier = question.concepts[probe.concept].identifier;
                chunk.score += probe.idf * if identifier { DEFINES_IDENTIFIER } else { DEFINES };
                chunk.defines |= 1 << probe.concept;
            }
        }
    }
    for chunk in scores.values_mut() {
        chunk.score *= demotion(place_of(snapshot, chunk.doc), question, lists);
    }
    scores
}

/// BM25 with files as documents, out of the chunks' postings: a file's chunks are neighbours in them.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn file_scores(snapshot: &Snapshot, query: &Query) -> HashMap<usize, f32> {
    let files = snapshot.files();
    let total: u64 = files.iter().map(|file| u64::from(file.length)).sum();
    let average = total as f32 / files.len().max(1) as f32;
    let mut scores: HashMap<usize, f32> = HashMap::new();
    for probe in &query.probes {
        let mut counts: Vec<(usize, u32)> = Vec::new();
        for (doc, count) in snapshot.bodies().postings(&probe.term) {
            let file = snapshot.file_of(doc);
            match counts.last_mut() {
                Some((last, sum)) if *last == file => *sum += count,
                _ => counts.push((file, count)),
            }
        }
        let idf = idf(u32::try_from(counts.len()).unwrap_or(u32::MAX), files.len());
        for (file, count) in counts {
            let value = snapshot
                .bodies()
                .saturation(count as f32, files[file].length as f32, average);
            *scores.entry(file).or_default() += probe.weight * idf * value;
        }
    }
    scores
}

fn path_scores(snapshot: &Snapshot, query: &Query) -> (HashMap<usize, f32>, HashMap<usize, u64>) {
    let mut concepts: HashMap<usize, u64> = HashMap::new();
    for probe in &query.probes {
        for (doc, _) in snapshot.paths().postings(&probe.term) {
            *concepts.entry(doc.0 as usize).or_default() |= u64::from(probe.covers) << probe.concept;
        }
    }
    let terms = query.probes.iter().map(|probe| (probe.term.as_str(), probe.weight));
    let scores = snapshot
        .paths()
        .search(terms)
        .into_iter()
        .map(|(doc, score)| (doc.0 as usize, score))
        .collect();
    (scores, concepts)
}

/// The files that the question spells out; a chunk with a line that it names is lifted above all others.
fn named_files(snapshot: &Snapshot, named: &[NamedPath], chunks: &mut HashMap<DocId, Scored>) -> Vec<usize> {
    let best = chunks.values().map(|chunk| chunk.score).fold(1.0, f32::max);
    let mut files = Vec::new();
    for named in named {
        let matches = snapshot
            .files()
            .iter()
            .enumerate()
            .filter(|(_, file)| is_named(file.facts.path.as_str(), &named.path));
        let matches: Vec<usize> = matches.map(|(number, _)| number).collect();
        // A name that several files share names none of them.
        if matches.len() > MAX_NAMESAKES {
            continue;
        }
        for file in &matches {
            let Some(line) = named.line else { continue };
            let holds =
                |doc: &u32| (snapshot.span(DocId(*doc)).first..=snapshot.span(DocId(*doc)).last).contains(&line);
            if let Some(doc) = snapshot.spans_of(*file).find(holds).map(DocId) {
                let chunk = chunks.entry(doc).or_insert(Scored {
                    doc,
                    score: 0.0,
                    concepts: 0,
                    defines: 0,
                });
                chunk.score += NAMED_LINE * best;
            }
        }
        files.extend(matches);
    }
    files
}

/// Whether a path is meant by what a question has: its end, from a component's start; or a folder of it.
fn is_named(path: &str, named: &str) -> bool {
    let path = path.to_lowercase();
    let end = path
        .strip_suffix(named)
        .or_else(|| path.rsplit_once('.').and_then(|(stem, _)| stem.strip_suffix(named)));
    let ends = end.is_some_and(|before| before.is_empty() || before.ends_with('/'));
    // An absolute path of the same file, as a stack trace has it.
    ends || (path.contains('/') && named.strip_suffix(&path).is_some_and(|before| before.ends_with('/')))
}

/// What part a chunk plays: a test in a source file is a test.
pub(crate) fn place_of(snapshot: &Snapshot, doc: DocId) -> Place {
    match snapshot.files()[snapshot.file_of(doc)].place {
        Place::Source if snapshot.span(doc).test => Place::Test,
        place => place,
    }
}

fn demotion(place: Place, question: &Question, lists: Lists) -> f32 {
    match place {
        _ if !lists.has(Lists::PLACES) => 1.0,
        Place::Source => 1.0,
        Place::Test if question.about_tests => 1.0,
        Place::Docs if question.about_docs => 1.0,
        Place::Test => DEMOTED_TEST,
        Place::Docs => DEMOTED_DOCS,
        Place::Settings => DEMOTED_SETTINGS,
        Place::Generated => DEMOTED_GENERATED,
        Place::Template => DEMOTED_TEMPLATE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_meant_by_its_end() {
        assert!(is_named("src/inject/ledger.rs", "inject/ledger.rs"));
        assert!(is_named("src/inject/Ledger.rs", "ledger.rs"));
        assert!(is_named("src/inject/ledger.rs", "inject/ledger"));
        assert!(is_named("src/a.py", "home/me/project/src/a.py"));
        assert!(!is_named("src/inject/ledger.rs", "edger.rs"));
        assert!(!is_named("src/inject/ledger.rs", "other/ledger.rs"));
    }
}
