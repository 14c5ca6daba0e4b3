use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use muninn_base::RelPath;
use muninn_recall::{IsStale, Memories, RecallOptions, Recalled};
use muninn_repo_tools::Worktree;
use muninn_team::Memory;
use muninn_team::citations::Citation;
use muninn_team::learn::decisions::is_overheard;
use muninn_team::records::Moment;
use muninn_text::lexical::{DocId, Tokenizer};

use super::abbreviations::Abbreviations;
use super::measures::{MEASURED, Measures, Similarity};
use super::places::Places;
use super::probability::{self, CosineScale, Features, Least, Model, NAMES, prior};
use crate::citations::Citations;
use crate::pack::{MAX_MEMORIES, MemoryCandidate};
use crate::question::{self, Question};
use crate::rank::{Candidate, Index, MAX_FILES, PostingsCache, Query, Statistics, WordScores};
use crate::relevance::Evidence;
use crate::tuning::Lists;

/// Number of recalled memories that are measured.
const CONSIDERED: usize = 50;

/// Number of memories whose places are ranked, which takes about a millisecond each in a repository of 500 files. In a
/// large one, at most this share of the time until the deadline is used, so that packing has the rest.
const PLACED: usize = 4;

const SHARE_OF_TIME: u32 = 3;

/// Number of files from which places tell something.
const FEW_FILES: usize = 4;

/// Number of top-ranked files that are subjects of a question about code.
const SUBJECTS: usize = 3;

/// The time in which the places of memories are measured for somebody who asks for memories.
const TIME_TO_JUDGE: Duration = Duration::from_secs(1);

/// Record types that are written automatically, unless they have an author.
const DERIVED: [&str; 3] = ["pattern", "failure", "session_summary"];

/// The time after which a record that is written automatically is in no prompt, unless it is used or found again.
const EXPIRY: SignedDuration = SignedDuration::from_hours(60 * 24);

/// The inputs of a selection.
#[derive(Clone, Copy)]
pub(crate) struct MemoryInputs<'a> {
    pub(crate) memories: &'a Memories,
    pub(crate) citations: &'a Citations<'a>,
    /// `None` if no index exists yet.
    pub(crate) index: Option<Index<'a>>,
    /// The ranked files.
    pub(crate) candidates: &'a [Candidate],
    /// Whether the question is about the ranked files.
    pub(crate) about_code: bool,
    /// The cosine similarity of the question to the best code.
    pub(crate) code_cosine: f32,
    pub(crate) lists: Lists,
    pub(crate) deadline: Instant,
    pub(crate) now: Timestamp,
}

/// A file that a question is about.
#[derive(Clone, Copy)]
struct Subject<'a> {
    path: &'a RelPath,
    /// Whether the question names the file.
    named: bool,
    /// Whether the ranking places the file first.
    best: bool,
}

/// A recalled memory with its features.
struct Scored<'a> {
    model: &'static Model,
    recalled: Recalled,
    concepts: u64,
    about: Option<Subject<'a>>,
    features: Features,
    /// See [`prior`].
    prior: f32,
}

/// Returns the memories that are probably relevant, best first. `threshold` is the configured one.
pub(crate) fn select_memories<'a>(
    inputs: &MemoryInputs<'a>,
    (question, text): (&Question, &str),
    threshold: f32,
) -> Vec<MemoryCandidate<'a>> {
    let memories = inputs.memories;
    let options = RecallOptions { keep: CONSIDERED, ..RecallOptions::default() };
    let mut scored = inputs.scored(question, text, &options);
    let Some(first) = scored.first() else { return Vec::new() };
    let Least { sure, likely, beside } = first.model.least(threshold);
    scored.retain(|scored| !memories.get(scored.recalled.doc).is_some_and(|memory| is_retired(memory, inputs.now)));
    inputs.add_places(&mut scored, likely, PLACED);
    // If one memory is likely, the question is probably about a memory, and often about the next.
    let any_likely = scored.iter().any(|scored| scored.probability() >= likely);
    let least = if any_likely { beside } else { f32::INFINITY };
    let fitting = scored.into_iter().filter_map(|scored| {
        let probability = scored.probability();
        let memory = memories.get(scored.recalled.doc)?;
        let is_attached = scored.about.is_some_and(|subject| scored.is_attached(memory, subject));
        (is_attached || probability >= least).then_some((is_attached || probability >= sure, probability, scored))
    });
    let mut fitting: Vec<(bool, f32, Scored<'a>)> = fitting.collect();
    fitting.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    let candidates = fitting.into_iter().map(|(is_sure, _, scored)| MemoryCandidate {
        is_sure,
        doc: scored.recalled.doc,
        score: scored.recalled.rank_score,
        concepts: scored.concepts,
        about: scored.about.map(|subject| subject.path),
        newer_than: None,
        opponent: None,
    });
    with_opponents(memories, with_newer(memories, candidates.collect()))
}

/// How likely it is that a memory answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    Unlikely,
    /// Somebody who searches wants to see it.
    Possible,
    /// The probability suffices for a line in a prompt, or the memory has all words of the question.
    Likely,
}

impl Fit {
    /// The share of the probability of a line from which a memory is possible. Of the questions in `benches/admit/train.jsonl`
    /// 73% find their note so instead of 63%, and of those without a note 19% find one instead of 11% (MiniLM).
    const POSSIBLE: f32 = 0.5;

    fn of(probability: f32, likely: f32) -> Self {
        if probability >= likely {
            Self::Likely
        } else if probability >= likely * Self::POSSIBLE {
            Self::Possible
        } else {
            Self::Unlikely
        }
    }
}

/// A recalled memory with the probability that it answers the question.
pub(crate) struct JudgedMemory {
    pub(crate) recalled: Recalled,
    pub(crate) probability: f32,
    pub(crate) fit: Fit,
    pub(crate) features: [(&'static str, f32); NAMES.len()],
}

/// Recalls memories for a question and judges them as for a prompt, by rank. Without a threshold, for measurements, all places
/// are measured.
pub(crate) fn judge(
    memories: &Memories,
    (worktree, index): (&Worktree, Option<Index<'_>>),
    text: &str,
    options: &RecallOptions<'_>,
    threshold: Option<f32>,
) -> Vec<JudgedMemory> {
    let question = question::analyse(&mut Tokenizer::new(), text);
    let (candidates, code_cosine) = index.map_or_else(Default::default, |index| {
        let terms = PostingsCache::new(index.snapshot);
        let query = Query::new(&question, &terms);
        let candidates = WordScores::of(&terms, &question, &query, Lists::ALL).rank(index, &query, MAX_FILES);
        let evidence = Evidence::of((worktree, index.snapshot), text, &question, &candidates, &terms);
        (candidates, evidence.code_cosine)
    });
    let inputs = MemoryInputs {
        memories,
        citations: &Citations::new(worktree, index.map(|index| index.snapshot)),
        index,
        candidates: &candidates,
        about_code: false,
        code_cosine,
        lists: Lists::ALL,
        deadline: Instant::now() + TIME_TO_JUDGE,
        now: Timestamp::UNIX_EPOCH,
    };
    // With fewer memories the lead over others would be unknown.
    let wide = RecallOptions { keep: options.keep.max(CONSIDERED), ..*options };
    let mut scored = inputs.scored(&question, text, &wide);
    scored.truncate(options.keep);
    let likely = match (threshold, scored.first()) {
        (Some(threshold), Some(first)) => first.model.least(threshold).likely,
        _ => 0.0,
    };
    inputs.add_places(&mut scored, likely, if threshold.is_some() { PLACED } else { MEASURED });
    let judged = scored.into_iter().map(|scored| {
        let probability = scored.probability();
        let features = std::array::from_fn(|at| (NAMES[at], scored.features[at]));
        JudgedMemory { recalled: scored.recalled, probability, fit: Fit::of(probability, likely), features }
    });
    judged.collect()
}

impl<'a> MemoryInputs<'a> {
    /// Recalls memories and measures all features except places, best first.
    fn scored(&self, question: &Question, text: &str, options: &RecallOptions<'_>) -> Vec<Scored<'a>> {
        let memories = self.memories;
        let is_stale = |citation: &Citation| self.citations.is_stale(citation);
        let by_index = self.index.map(|_| &is_stale as IsStale<'_>);
        let options = RecallOptions { is_stale: options.is_stale.or(by_index), ..*options };
        let subjects = self.subjects();
        let vector = memories.embed_question(text);
        let mut found = memories.recall_near(text, vector.as_deref(), &options);
        let named: Vec<RelPath> =
            subjects.iter().filter(|subject| subject.named).map(|subject| subject.path.clone()).collect();
        if !named.is_empty() {
            let attached = memories.newest(&RecallOptions { paths: &named, ..options });
            let attached = attached.into_iter().filter(|one| found.iter().all(|other| other.doc != one.doc));
            found.extend(attached.collect::<Vec<_>>());
        }
        let query = Query::new(question, memories);
        let contained = contained(memories, question, &query, &found);
        let abbreviations = Abbreviations::new(question, text);
        let of_code = (self.code_cosine, self.index_of_places().is_some());
        let measures = Measures::new((memories, &found), (question, text), &query, vector.as_deref(), of_code);
        let similarities: Vec<Similarity> = measures.similarities(memories, &found);
        let measured = found.into_iter().zip(similarities).enumerate().filter_map(|(at, (recalled, similarity))| {
            let memory = memories.get(recalled.doc)?;
            let Contained { mut concepts, whole } = contained.get(&recalled.doc).copied().unwrap_or_default();
            concepts |= abbreviations.matched(&memory.text);
            let is_about = |subject: &&Subject<'_>| {
                let cites = memory.cites.iter().any(|cited| cited.path == *subject.path);
                cites || memories.applies_to(memory, subject.path)
            };
            let about = subjects.iter().find(is_about).copied();
            Some(Scored {
                model: measures.model,
                concepts,
                about,
                features: measures.features(at, memory, (concepts, whole), similarity),
                prior: prior(memory, about.is_some(), recalled.stale, is_derived(memory)),
                recalled,
            })
        });
        measured.collect()
    }

    /// Returns the files that the question names and, if it is about code, the best ones.
    fn subjects(&self) -> Vec<Subject<'a>> {
        let Some(index) = self.index else { return Vec::new() };
        let subjects = self.candidates.iter().enumerate().map(|(at, one)| Subject {
            path: &index.snapshot.file(one.file).facts.path,
            named: one.named,
            best: at == 0,
        });
        let top = if self.about_code { SUBJECTS } else { 0 };
        let subjects = subjects.enumerate().filter(|(at, subject)| subject.named || *at < top);
        subjects.map(|(_, subject)| subject).collect()
    }

    /// Returns the index if it can tell places apart: the question leads to files, and there are others.
    fn index_of_places(&self) -> Option<Index<'a>> {
        self.index.filter(|index| !self.candidates.is_empty() && index.snapshot.files().count() >= FEW_FILES)
    }

    /// Measures the places of the memories that are most probable without them, if places can make them probable
    /// enough.
    fn add_places(&self, scored: &mut [Scored<'a>], least: f32, most: usize) {
        let Some(index) = self.index_of_places() else { return };
        let highest = |one: &Scored<'_>| {
            let mut features = one.features;
            features[probability::PLACES] = 1.0;
            one.model.probability(&features, one.prior)
        };
        let numbered = scored.iter().enumerate().map(|(at, one)| (highest(one), at));
        let mut order: Vec<(f32, usize)> = numbered.filter(|(highest, _)| *highest >= least).collect();
        order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let started = Instant::now();
        let until = started + self.deadline.saturating_duration_since(started) / SHARE_OF_TIME;
        let mut of_question = None;
        for (_, at) in order.into_iter().take(most) {
            let memory = self.memories.get(scored[at].recalled.doc).filter(|_| Instant::now() < until);
            let Some(memory) = memory else { break };
            let of_question = of_question.get_or_insert_with(|| Places::of(self.candidates));
            let of_memory = Places::of_text(index, &memory.text, self.lists);
            scored[at].features[probability::PLACES] =
                of_question.similarity(&of_memory, index.snapshot.files().count());
        }
    }
}

impl Scored<'_> {
    fn probability(&self) -> f32 {
        self.model.probability(&self.features, self.prior)
    }

    /// Returns whether a person attached the memory to a subject. If the question does not name the file, the memory
    /// must contain a word of the question.
    fn is_attached(&self, memory: &Memory, subject: Subject<'_>) -> bool {
        let cites = memory.cites.iter().any(|cited| cited.path == *subject.path);
        cites && !is_derived(memory) && (subject.named || subject.best && self.concepts != 0)
    }
}

/// Returns whether no prompt carries a memory any more: agents did not use it, or it was written automatically and nobody
/// used or repeated it for a while. It is still recalled.
pub(crate) fn is_retired(memory: &Memory, now: Timestamp) -> bool {
    let last = memory.date.iter().chain(&memory.uses.last_used).filter_map(Moment::timestamp).max();
    let is_old = last.is_some_and(|last| now.duration_since(last) > EXPIRY);
    memory.uses.is_retired() || is_derived(memory) && is_old
}

/// Returns whether a record is written automatically.
pub(crate) fn is_derived(memory: &Memory) -> bool {
    let is_automatic = |kind: &str| DERIVED.contains(&kind);
    match memory.author.as_deref() {
        Some(author) => is_overheard(author),
        None => memory.record_type.as_deref().is_some_and(is_automatic),
    }
}

/// Adds to each memory the newer one that is most similar to it. It may have changed what the older one says, in words that
/// neither the question nor reconciling has found.
fn with_newer<'a>(memories: &Memories, fitting: Vec<MemoryCandidate<'a>>) -> Vec<MemoryCandidate<'a>> {
    let mut known: Vec<DocId> = fitting.iter().map(|one| one.doc).collect();
    let scale = CosineScale::of(memories.embedder_id(), &[]);
    let same_subject = Model::of(memories.embedder_id()).same_subject();
    let mut all = Vec::with_capacity(fitting.len());
    for one in fitting {
        let (doc, score, is_sure) = (one.doc, one.score, one.is_sure);
        let opponent = memories.get(doc).and_then(|memory| memories.opponent(memory));
        all.push(one);
        let newer = (all.len() <= MAX_MEMORIES).then(|| memories.newer_like(doc)).flatten();
        let newer = newer.filter(|(_, cosine)| scale.is_some_and(|scale| scale.convert(*cosine) >= same_subject));
        if let Some((newer, _)) = newer.filter(|(newer, _)| Some(*newer) != opponent && !known.contains(newer)) {
            known.push(newer);
            all.push(MemoryCandidate { score, is_sure, newer_than: Some(doc), ..MemoryCandidate::of(newer) });
        }
    }
    all
}

/// Pairs the two sides of an open conflict at the rank of the better side, so that one side is never packed without the
/// other side.
fn with_opponents<'a>(memories: &Memories, mut fitting: Vec<MemoryCandidate<'a>>) -> Vec<MemoryCandidate<'a>> {
    let mut paired: Vec<MemoryCandidate<'a>> = Vec::with_capacity(fitting.len());
    while !fitting.is_empty() {
        let mut best = fitting.remove(0);
        if let Some(doc) = memories.get(best.doc).and_then(|memory| memories.opponent(memory)) {
            let found = fitting.iter().position(|other| other.doc == doc);
            let opponent = found.map(|at| fitting.remove(at)).unwrap_or(MemoryCandidate {
                score: best.score,
                is_sure: best.is_sure,
                ..MemoryCandidate::of(doc)
            });
            best.opponent = Some(Box::new(opponent));
        }
        paired.push(best);
    }
    paired
}

/// The question's concepts that a memory contains, as bits.
#[derive(Clone, Copy, Default)]
struct Contained {
    concepts: u64,
    /// Those whose whole word it contains, and not only the rarest part of an identifier.
    whole: u64,
}

/// Returns the question's concepts that each recalled memory contains.
fn contained(memories: &Memories, question: &Question, query: &Query, found: &[Recalled]) -> HashMap<DocId, Contained> {
    let inverted = memories.index().inverted();
    let none = |recalled: &Recalled| (recalled.doc, Contained::default());
    let mut contained: HashMap<DocId, Contained> = found.iter().map(none).collect();
    for probe in query.probes.iter().filter(|probe| probe.covers) {
        let bit = 1 << probe.concept;
        let is_whole = question.concepts[probe.concept].whole == probe.term;
        for (doc, _) in inverted.postings(&probe.term) {
            if let Some(contained) = contained.get_mut(&doc) {
                contained.concepts |= bit;
                contained.whole |= if is_whole { bit } else { 0 };
            }
        }
    }
    contained
}

impl Statistics for Memories {
    fn frequency(&self, term: &str) -> u32 {
        self.index().inverted().frequency(term)
    }

    /// The result is at least 20, because the frequency of a word in fewer memories is not significant.
    fn documents(&self) -> usize {
        self.index().len().max(20)
    }
}
