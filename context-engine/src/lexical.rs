//! The lexical lane: from a question to a pack without a model, step by step, with a look at the clock between steps.

use std::time::Instant;

use muninn_memory::Memories;
use muninn_memory::hits::Hits;
use muninn_memory::index::lexical::{DocId, Tokenizer};
use muninn_memory::index::{Companions, Field, Place, Snapshot};
use muninn_repo_tools::{RelPath, Worktree};

use crate::already::PriorContext;
use crate::cost;
use crate::explore::Citation;
use crate::follow_up::is_follow_up;
use crate::item::{Completeness, Exploration, Item, Limits};
use crate::pack::{Late, Packed, Packer};
use crate::partial::{self, Sampled};
use crate::question::{self, Question};
use crate::rank::{Index, MAX_FILES, Query, Statistics, place_of, rank};
use crate::recalled::recalled;
use crate::threshold::{self, Doubt, Fit};
use crate::tuning::{Lists, RankedFile, Ranking, Tuning};
use crate::vector_list::VectorList;

/// The budget under which nothing useful can be said.
const MIN_TOKENS: u32 = 120;
/// What the fence and its preamble cost.
const FENCE_TOKENS: u32 = 80;
/// What is known about so many of the best files is told though the question says little of it.
const LIFTING_FILES: usize = 3;

/// What a question is answered from.
pub(crate) struct Sources<'a> {
    pub(crate) worktree: &'a Worktree,
    /// `None` while there is no index yet.
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// In the numbers of the snapshot.
    pub(crate) companions: &'a Companions,
    pub(crate) memories: &'a Memories,
    /// What the conversation holds already.
    pub(crate) already: &'a PriorContext,
    pub(crate) threshold: Option<f32>,
    pub(crate) max_file_bytes: u64,
    pub(crate) tuning: Tuning,
    pub(crate) vectors: Option<VectorList<'a>>,
}

impl<'a> Sources<'a> {
    fn packer<'p>(&self, question: &'p Question, query: &'p Query, deadline: Instant) -> Packer<'p>
    where
        'a: 'p,
    {
        Packer {
            worktree: self.worktree,
            max_file_bytes: self.max_file_bytes,
            question,
            query,
            already: self.already,
            deadline,
        }
    }
}

/// Answers a question.
pub(crate) fn explore(sources: &Sources<'_>, text: &str, limits: &Limits) -> Exploration {
    let started = Instant::now();
    let completeness = if sources.snapshot.is_some() {
        Completeness::Full
    } else {
        Completeness::Partial
    };
    let mut exploration = Exploration {
        completeness,
        items: Vec::new(),
        tokens: 0,
        elapsed: std::time::Duration::ZERO,
        reason: None,
        question_terms: Vec::new(),
    };
    match find(sources, text, limits, &mut exploration.question_terms) {
        Ok(items) => {
            exploration.reason = sources.snapshot.is_none().then(|| NOT_READY.to_owned());
            fill(&mut exploration, items, limits);
        }
        Err(error) => exploration.reason = Some(error.to_string()),
    }
    if Instant::now() >= limits.deadline && !exploration.items.is_empty() {
        exploration.items.clear();
        exploration.tokens = 0;
        exploration.reason = Some(NoAnswer::Late.to_string());
    }
    exploration.elapsed = started.elapsed();
    exploration
}

/// The `keep` files that fit a question best.
pub(crate) fn ranking(
    worktree: &Worktree,
    index: Index<'_>,
    vectors: Option<VectorList<'_>>,
    text: &str,
    (tuning, keep): (Tuning, usize),
) -> Ranking {
    let started = Instant::now();
    let question = question::analyse(&mut Tokenizer::new(), text);
    let snapshot = index.snapshot;
    let mut query = Query::new(&question, snapshot);
    let by_words = rank(index, &question, &query, tuning.lists, keep);
    query.near = near(vectors, snapshot, &question, text, tuning.lists);
    let with_vectors = (!query.near.is_empty()).then(|| rank(index, &question, &query, tuning.lists, keep));
    let candidates = with_vectors.as_ref().unwrap_or(&by_words);
    let ranked = |file: usize, score: f32| RankedFile {
        path: snapshot.file(file).facts.path.clone(),
        score,
    };
    let files = candidates
        .iter()
        .map(|candidate| ranked(candidate.file, candidate.score));
    let (files, elapsed) = (files.collect(), started.elapsed());
    let fit = Fit::of((worktree, snapshot), text, &question, &query, &by_words, snapshot);
    Ranking {
        files,
        elapsed,
        features: fit.features.to_vec(),
    }
}

/// What is like a question in meaning; nothing where vectors take no part.
fn near(
    vectors: Option<VectorList<'_>>,
    snapshot: &Snapshot,
    question: &Question,
    text: &str,
    lists: Lists,
) -> Vec<(DocId, f32)> {
    let vectors = vectors.filter(|_| lists.has(Lists::VECTORS));
    vectors.map_or_else(Vec::new, |vectors| vectors.near(snapshot, question, text))
}

/// The files that fit a question best, and a line on what is in the best of them: for an explorer to begin with.
pub(crate) fn candidates(sources: &Sources<'_>, text: &str, deadline: Instant) -> (Vec<RelPath>, Vec<String>) {
    let Some(snapshot) = sources.snapshot else {
        return (Vec::new(), Vec::new());
    };
    let index = Index {
        snapshot,
        companions: sources.companions,
        hits: sources.memories.hits(),
    };
    let question = question::analyse(&mut Tokenizer::new(), text);
    let mut query = Query::new(&question, snapshot);
    let lists = sources.tuning.lists;
    query.near = near(sources.vectors, snapshot, &question, text, lists);
    let candidates = rank(index, &question, &query, lists, MAX_FILES);
    let packer = sources.packer(&question, &query, deadline);
    let path = |file: usize| snapshot.file(file).facts.path.clone();
    let files = candidates.iter().map(|candidate| path(candidate.file)).collect();
    (files, packer.titles(snapshot, &candidates))
}

/// What was cited, packed beside other items; those are not returned again.
pub(crate) fn pack_cited(
    sources: &Sources<'_>,
    text: &str,
    citations: &[Citation],
    beside: &[Item],
    limits: &Limits,
) -> Vec<Item> {
    let question = question::analyse(&mut Tokenizer::new(), text);
    let query = match sources.snapshot {
        Some(snapshot) => Query::new(&question, snapshot),
        None => Query::new(&question, sources.memories),
    };
    let mut packed = Packed {
        items: beside.to_vec(),
        ..Packed::default()
    };
    let budget = limits.tokens.saturating_sub(FENCE_TOKENS);
    sources
        .packer(&question, &query, limits.deadline)
        .cited(citations, budget, &mut packed);
    packed.items.split_off(beside.len())
}

/// Files that are named where nothing is packed.
const NEAREST: usize = 2;

const NOT_READY: &str = "the index is not ready: answered from paths and a search";

/// Why a question is answered with nothing. Its words are the reason of an [`Exploration`].
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("deadline passed")]
    Late,
    #[error("nothing to look for: the turn only carries the conversation on")]
    CarriesOn,
    #[error("the budget of {0} tokens is too small")]
    SmallBudget(u32),
    #[error("nothing to look for: the turn names nothing")]
    NamesNothing,
    #[error("{}", doubt.reason(nearest))]
    Doubtful { doubt: Doubt, nearest: Vec<String> },
    #[error("what fits is already in the conversation")]
    Held,
    #[error("what was found is no longer there, or does not fit the budget")]
    Gone,
    #[error("nothing fits the budget")]
    TooLong,
    /// The same, for want of an index.
    #[error("{0} (the index is not ready)")]
    NotReady(Box<NoAnswer>),
}

impl From<Late> for NoAnswer {
    fn from(_: Late) -> Self {
        Self::Late
    }
}

fn find(sources: &Sources<'_>, text: &str, limits: &Limits, terms: &mut Vec<String>) -> Result<Vec<Item>, NoAnswer> {
    let in_time = || {
        if Instant::now() < limits.deadline {
            Ok(())
        } else {
            Err(NoAnswer::Late)
        }
    };
    in_time()?;
    if sources.tuning.decide && carries_on(sources.snapshot, text) {
        return Err(NoAnswer::CarriesOn);
    }
    if limits.tokens < MIN_TOKENS {
        return Err(NoAnswer::SmallBudget(limits.tokens));
    }
    let question = question::analyse(&mut Tokenizer::new(), text);
    if question.concepts.is_empty() && question.paths.is_empty() {
        return Err(NoAnswer::NamesNothing);
    }
    match sources.snapshot {
        Some(snapshot) => {
            let index = Index {
                snapshot,
                companions: sources.companions,
                hits: sources.memories.hits(),
            };
            gather(sources, (index, snapshot), (&question, text), limits, terms)
        }
        None => {
            let sample = partial::sample(sources.worktree, &question, sources.max_file_bytes, limits.deadline);
            let Sampled { snapshot, statistics } = &sample;
            let index = Index {
                snapshot,
                companions: &Companions::default(),
                hits: &Hits::default(),
            };
            let found = in_time().and_then(|()| gather(sources, (index, statistics), (&question, text), limits, terms));
            found.map_err(|error| NoAnswer::NotReady(Box::new(error)))
        }
    }
}

/// Whether a turn only carries the conversation on; a word of its own that names something here makes it a question.
fn carries_on(snapshot: Option<&Snapshot>, text: &str) -> bool {
    let mut tokenizer = Tokenizer::new();
    is_follow_up(text, |word| {
        let Some(snapshot) = snapshot else { return false };
        let mut whole = None;
        tokenizer.word(word, &mut |term: &str| whole = Some(term.to_owned()));
        whole.is_some_and(|term| is_a_name(snapshot, &term))
    })
}

/// Whether source code defines a term, or a path has it.
fn is_a_name(snapshot: &Snapshot, term: &str) -> bool {
    let mut defining = snapshot.lookup(Field::Names, term).into_iter();
    snapshot.frequency(Field::Paths, term) > 0
        || defining.any(|posting| place_of(snapshot, DocId(posting.number)) == Place::Source)
}

/// Ranks, decides and packs.
fn gather(
    sources: &Sources<'_>,
    (index, statistics): (Index<'_>, &impl Statistics),
    (question, text): (&Question, &str),
    limits: &Limits,
    terms: &mut Vec<String>,
) -> Result<Vec<Item>, NoAnswer> {
    let threshold = sources.threshold.unwrap_or(threshold::DEFAULT);
    let mut query = Query::new(question, statistics);
    *terms = known_terms(question, &query);
    let snapshot = index.snapshot;
    let lists = sources.tuning.lists;
    let mut candidates = rank(index, question, &query, lists, MAX_FILES);
    if Instant::now() >= limits.deadline {
        return Err(NoAnswer::Late);
    }
    let verdict = if sources.tuning.decide {
        let places = (sources.worktree, snapshot);
        let fit = Fit::of(places, text, question, &query, &candidates, statistics);
        tracing::debug!(?fit, "threshold");
        fit.verdict(threshold).map_err(|doubt| {
            let nearest = candidates.iter().take(NEAREST);
            let nearest = nearest.map(|candidate| snapshot.file(candidate.file).facts.path.to_string());
            NoAnswer::Doubtful {
                doubt,
                nearest: nearest.collect(),
            }
        })
    } else {
        Ok(())
    };
    if verdict.is_ok() {
        // Only now: what is like the question in meaning says nothing on whether it is about this repository, since
        // something always is the most like it.
        query.near = near(sources.vectors, snapshot, question, text, lists);
        if !query.near.is_empty() {
            candidates = rank(index, question, &query, lists, MAX_FILES);
        }
    }
    let packer = sources.packer(question, &query, limits.deadline);
    let budget = limits.tokens.saturating_sub(FENCE_TOKENS);
    // Files that are not about the question say nothing on what is.
    let lifting = if verdict.is_ok() { LIFTING_FILES } else { 0 };
    let best: Vec<&RelPath> = candidates
        .iter()
        .take(lifting)
        .map(|candidate| &snapshot.file(candidate.file).facts.path)
        .collect();
    let remembered = recalled((sources.memories, sources.snapshot), (question, text), threshold, &best);
    let mut packed = Packed::default();
    packer.memories(sources.memories, &remembered, budget, &mut packed);
    candidates.retain(|candidate| {
        let path = snapshot.file(candidate.file).facts.path.as_str();
        !packed.remembered.iter().any(|remembered| remembered == path)
    });
    let spent = packed.tokens();
    match verdict {
        Ok(()) => packer.code(snapshot, &candidates, budget.saturating_sub(spent), &mut packed)?,
        Err(error) if packed.is_nothing() => return Err(error),
        Err(_) => {}
    }
    match packed {
        Packed { items, .. } if !items.is_empty() => Ok(items),
        Packed { held: true, .. } => Err(NoAnswer::Held),
        _ => Err(NoAnswer::Gone),
    }
}

/// The words of a turn that the repository knows, the most telling first; none where the turn only carries on.
pub(crate) fn terms(snapshot: &Snapshot, text: &str) -> Vec<String> {
    if carries_on(Some(snapshot), text) {
        return Vec::new();
    }
    let question = question::analyse(&mut Tokenizer::new(), text);
    known_terms(&question, &Query::new(&question, snapshot))
}

/// The question's words that the repository knows, the most telling first.
fn known_terms(question: &Question, query: &Query) -> Vec<String> {
    let mut known: Vec<(f32, &str)> = question
        .concepts
        .iter()
        .enumerate()
        .filter(|(bit, _)| query.known >> bit & 1 == 1)
        .map(|(bit, concept)| (query.weights[bit], concept.word.as_str()))
        .collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    known.into_iter().take(16).map(|(_, word)| word.to_owned()).collect()
}

/// Drops items from the end until the rendered block keeps to the budget.
fn fill(exploration: &mut Exploration, mut items: Vec<Item>, limits: &Limits) {
    while !items.is_empty() {
        exploration.tokens = cost::of_block(&items);
        if exploration.tokens <= limits.tokens {
            exploration.items = items;
            return;
        }
        items.pop();
    }
    exploration.tokens = 0;
    exploration.reason = Some(NoAnswer::TooLong.to_string());
}
