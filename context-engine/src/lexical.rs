//! The lexical lane: it makes a pack for a question without a model. The deadline is checked between its steps.

use std::time::Instant;

use jiff::Timestamp;
use muninn_base::RelPath;
use muninn_index::{Companions, Field, FileRole, Snapshot, is_boilerplate};
use muninn_recall::Memories;
use muninn_repo_tools::Worktree;
use muninn_text::hits::Hits;
use muninn_text::lexical::{DocId, Tokenizer};
use muninn_text::redact::{redact, without_secrets};

use crate::citations::Citations;
use crate::cost;
use crate::explore::Citation;
use crate::follow_up::{continues, is_follow_up, refers_back};
use crate::item::{Completeness, Exploration, Item, ItemKind, Limits};
use crate::memory_selection::{MemoryInputs, select_memories};
use crate::pack::{DeadlineExceeded, Packed, Packer};
use crate::partial::{self, Sample};
use crate::prior_context::PriorContext;
use crate::question::{self, Question};
use crate::rank::{
    Candidate, FileStatistics, Index, MAX_FILES, PostingsCache, Query, ScoredChunk, WordScores, place_of, rank, rate,
};
use crate::relevance::{self, Evidence, Rejection};
use crate::tuning::{Lists, RankedFile, Ranking, Tuning};
use crate::value::Prices;
use crate::vector_list::VectorList;

/// Minimum token budget for a useful pack.
const MIN_TOKENS: u32 = 120;
/// Estimated cost of the fence and its preamble.
const FENCE_TOKENS: u32 = 80;
/// The inputs of the lexical lane.
pub(crate) struct LexicalInputs<'a> {
    pub(crate) worktree: &'a Worktree,
    /// `None` if no index exists yet.
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// The file numbers in it are those of the snapshot.
    pub(crate) companions: &'a Companions,
    pub(crate) memories: &'a Memories,
    pub(crate) citations: &'a Citations<'a>,
    /// The text that the conversation already contains.
    pub(crate) prior: &'a PriorContext,
    pub(crate) threshold: Option<f32>,
    pub(crate) now: Timestamp,
    pub(crate) max_file_bytes: u64,
    pub(crate) tuning: Tuning,
    /// The prices for a map of places; `None` to pack code.
    pub(crate) map: Option<&'a Prices>,
    /// The factor on the expected gains of places.
    pub(crate) gain_factor: f32,
    pub(crate) vectors: Option<VectorList<'a>>,
}

impl<'a> LexicalInputs<'a> {
    fn packer<'p>(&self, question: &'p Question, query: &'p Query, deadline: Instant) -> Packer<'p>
    where
        'a: 'p,
    {
        Packer {
            worktree: self.worktree,
            citations: self.citations,
            max_file_bytes: self.max_file_bytes,
            question,
            query,
            prior: self.prior,
            deadline,
        }
    }
}

/// Finds the items to pack for a question.
pub(crate) fn explore(inputs: &LexicalInputs<'_>, text: &str, limits: &Limits) -> Exploration {
    let started = Instant::now();
    let completeness = if inputs.snapshot.is_some() { Completeness::Full } else { Completeness::Partial };
    let mut exploration = Exploration {
        completeness,
        items: Vec::new(),
        tokens: 0,
        elapsed: std::time::Duration::ZERO,
        reason: None,
        question_terms: Vec::new(),
        relevance: None,
        is_about_repository: false,
        files: None,
    };
    // Its words go into the reason, and its text to the embedder.
    let text = without_secrets(text);
    match find(inputs, &text, limits, &mut exploration) {
        Ok(items) => {
            exploration.reason = inputs.snapshot.is_none().then(|| NOT_READY.to_owned());
            fill(&mut exploration, items, limits);
        }
        Err(error) => exploration.reason = Some(error.to_string()),
    }
    if Instant::now() >= limits.deadline && !exploration.items.is_empty() {
        exploration.items.clear();
        exploration.tokens = 0;
        exploration.reason = Some(EmptyReason::DeadlineExceeded.to_string());
    }
    exploration.elapsed = started.elapsed();
    exploration
}

/// Ranks files for a question and returns the `keep` best.
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
    let terms = PostingsCache::new(snapshot);
    let mut query = Query::new(&question, &terms);
    let words = WordScores::of(&terms, &question, &query, tuning.lists);
    let by_words = words.rank(index, &query, keep);
    query.near = near(vectors, snapshot, &question, text, tuning.lists);
    let with_vectors = (!query.near.is_empty()).then(|| words.rank(index, &query, keep));
    let candidates = with_vectors.as_ref().unwrap_or(&by_words);
    let ranked = |file: usize, score: f32| RankedFile { path: snapshot.file(file).facts.path.clone(), score };
    let files = candidates.iter().map(|candidate| ranked(candidate.file, candidate.score));
    let (files, elapsed) = (files.collect(), started.elapsed());
    let evidence = Evidence::of((worktree, snapshot), text, &question, &by_words, &terms);
    Ranking { files, elapsed, features: evidence.named_features() }
}

/// Returns the chunks whose vectors are most similar to a question. The result is empty if vectors are not used for the
/// question.
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

/// Returns the best files for a question, and one title line for each of the first files. An explorer starts from them.
pub(crate) fn candidates(inputs: &LexicalInputs<'_>, text: &str, deadline: Instant) -> (Vec<RelPath>, Vec<String>) {
    let Some(snapshot) = inputs.snapshot else {
        return (Vec::new(), Vec::new());
    };
    let index = Index { snapshot, companions: inputs.companions, hits: inputs.memories.hits() };
    let question = question::analyse(&mut Tokenizer::new(), text);
    let mut query = Query::new(&question, snapshot);
    let lists = inputs.tuning.lists;
    query.near = near(inputs.vectors, snapshot, &question, text, lists);
    let candidates = rank(index, &question, &query, lists, MAX_FILES);
    let packer = inputs.packer(&question, &query, deadline);
    let path = |file: usize| snapshot.file(file).facts.path.clone();
    let files = candidates.iter().map(|candidate| path(candidate.file)).collect();
    (files, packer.titles(snapshot, &candidates))
}

/// Packs citations in addition to the items of `beside`, and returns only the new items.
pub(crate) fn pack_cited(
    inputs: &LexicalInputs<'_>,
    text: &str,
    citations: &[Citation],
    beside: &[Item],
    limits: &Limits,
) -> Vec<Item> {
    let question = question::analyse(&mut Tokenizer::new(), text);
    let query = match inputs.snapshot {
        Some(snapshot) => Query::new(&question, snapshot),
        None => Query::new(&question, inputs.memories),
    };
    let mut packed = Packed { items: beside.to_vec(), ..Packed::default() };
    let budget = limits.tokens.saturating_sub(FENCE_TOKENS);
    inputs.packer(&question, &query, limits.deadline).cited(citations, budget, &mut packed);
    packed.items.split_off(beside.len())
}

/// Minimum share of a turn's weight in words of the repository, for a search with the question before it.
const KNOWN: f32 = 0.5;
/// Number of files, and of missing words, named in the reason when nothing is packed.
const NEAREST: usize = 2;
const MISSING: usize = 8;

const NOT_READY: &str = "the index is not ready: answered from paths and a search";

/// Why an exploration has no items; its message is the exploration's `reason`.
#[derive(Debug, thiserror::Error)]
enum EmptyReason {
    #[error("deadline passed")]
    DeadlineExceeded,
    #[error("nothing to look for: {}", if *begins { "the message asks nothing" } else { "the turn only continues the conversation" })]
    FollowUp {
        /// Whether there is no earlier question that it could continue.
        begins: bool,
    },
    #[error("the budget of {0} tokens is too small")]
    SmallBudget(u32),
    #[error("nothing to look for: the turn has no searchable word")]
    NoConcepts,
    #[error("{}", rejection.reason(nearest, missing))]
    Rejected {
        rejection: Rejection,
        /// The best files, each with its reasons.
        nearest: Vec<String>,
        /// The words of the question that the repository lacks.
        missing: String,
    },
    #[error("what fits is already in the conversation")]
    Known,
    #[error("the matches changed on disk, or do not fit the budget")]
    Gone,
    #[error("nothing fits the budget")]
    TooLong,
    /// A reason that occurred before the index was ready.
    #[error("{0} (the index is not ready)")]
    NotReady(Box<EmptyReason>),
}

impl From<DeadlineExceeded> for EmptyReason {
    fn from(_: DeadlineExceeded) -> Self {
        Self::DeadlineExceeded
    }
}

fn find(
    inputs: &LexicalInputs<'_>,
    text: &str,
    limits: &Limits,
    exploration: &mut Exploration,
) -> Result<Vec<Item>, EmptyReason> {
    let in_time = || {
        if Instant::now() < limits.deadline { Ok(()) } else { Err(EmptyReason::DeadlineExceeded) }
    };
    in_time()?;
    if inputs.tuning.decide && is_follow_up_here(inputs.snapshot, text) {
        return Err(EmptyReason::FollowUp { begins: inputs.prior.question().is_none() });
    }
    if limits.tokens < MIN_TOKENS {
        return Err(EmptyReason::SmallBudget(limits.tokens));
    }
    let question = question::analyse(&mut Tokenizer::new(), text);
    if question.concepts.is_empty() && question.paths.is_empty() {
        return Err(EmptyReason::NoConcepts);
    }
    let asked = Asked { question: &question, text, continues: continues(text) };
    match inputs.snapshot {
        Some(snapshot) => {
            let index = Index { snapshot, companions: inputs.companions, hits: inputs.memories.hits() };
            let terms = PostingsCache::new(snapshot);
            let found = gather(inputs, (index, &terms, &terms), &asked, limits, exploration);
            let Err(EmptyReason::Rejected { .. }) = found else {
                return found;
            };
            let Some(text) = with_earlier_question(inputs.prior, snapshot, &question, text) else {
                return found;
            };
            let question = question::analyse(&mut Tokenizer::new(), &text);
            let asked = Asked { question: &question, text: &text, continues: false };
            gather(inputs, (index, &terms, &terms), &asked, limits, exploration).or(found)
        }
        None => {
            let sample = partial::sample(inputs.worktree, &question, inputs.max_file_bytes, limits.deadline);
            let Sample { snapshot, statistics } = &sample;
            let index = Index { snapshot, companions: &Companions::default(), hits: &Hits::default() };
            let terms = PostingsCache::new(snapshot);
            let found =
                in_time().and_then(|()| gather(inputs, (index, &terms, statistics), &asked, limits, exploration));
            found.map_err(|error| EmptyReason::NotReady(Box::new(error)))
        }
    }
}

/// Returns a turn together with the question before it, if the turn refers to the conversation and mostly consists of
/// words of the repository. "And does that work for headers, too?" asks something new about the earlier topic.
fn with_earlier_question(prior: &PriorContext, snapshot: &Snapshot, question: &Question, text: &str) -> Option<String> {
    let earlier = prior.question().filter(|_| refers_back(text))?;
    let query = Query::new(question, snapshot);
    let total: f32 = query.weights.iter().sum();
    (query.weigh(query.known) >= KNOWN * total).then(|| format!("{text}\n{earlier}"))
}

/// Returns whether a turn only continues the conversation. A turn is a question if one of its content words is a name
/// in the repository.
fn is_follow_up_here(snapshot: Option<&Snapshot>, text: &str) -> bool {
    let mut tokenizer = Tokenizer::new();
    is_follow_up(text, |word| {
        let Some(snapshot) = snapshot else { return false };
        let mut whole = None;
        tokenizer.word(word, &mut |term: &str| whole = Some(term.to_owned()));
        whole.is_some_and(|term| is_a_name(snapshot, &term))
    })
}

/// Returns whether source code defines a term, or a path contains it.
fn is_a_name(snapshot: &Snapshot, term: &str) -> bool {
    let mut defining = snapshot.lookup(Field::Names, term).into_iter();
    snapshot.frequency(Field::Paths, term) > 0
        || defining.any(|posting| place_of(snapshot, DocId(posting.number)) == FileRole::Source)
}

/// A turn to find items for.
struct Asked<'a> {
    question: &'a Question,
    text: &'a str,
    /// Whether the turn continues the conversation; see [`continues`].
    continues: bool,
}

/// Ranks the files, applies the threshold and packs.
fn gather(
    inputs: &LexicalInputs<'_>,
    (index, terms, statistics): (Index<'_>, &PostingsCache<'_>, &impl FileStatistics),
    &Asked { question, text, continues }: &Asked<'_>,
    limits: &Limits,
    exploration: &mut Exploration,
) -> Result<Vec<Item>, EmptyReason> {
    let threshold = inputs.threshold.unwrap_or(relevance::DEFAULT);
    let mut query = Query::new(question, statistics);
    exploration.question_terms = known_terms(question, &query);
    exploration.files = inputs.snapshot.map(Snapshot::len);
    let snapshot = index.snapshot;
    let lists = inputs.tuning.lists;
    let words = WordScores::of(terms, question, &query, lists);
    let mut candidates = words.rank(index, &query, MAX_FILES);
    if Instant::now() >= limits.deadline {
        return Err(EmptyReason::DeadlineExceeded);
    }
    let (mut probability, mut code_cosine) = (1.0, 0.0);
    let verdict = if inputs.tuning.decide {
        let evidence = Evidence::of((inputs.worktree, snapshot), text, question, &candidates, statistics);
        tracing::debug!(?evidence, "relevance");
        (probability, code_cosine) = (evidence.relevance.probability, evidence.code_cosine);
        let verdict = evidence.verdict(threshold, continues);
        exploration.relevance = Some(evidence.relevance);
        verdict.map_err(|rejection| {
            let rejection = match rejection {
                Rejection::Continues if inputs.prior.question().is_none() => Rejection::Nameless,
                other => other,
            };
            let packer = inputs.packer(question, &query, limits.deadline);
            let nearest = candidates.iter().take(NEAREST).map(|candidate| {
                let path = &snapshot.file(candidate.file).facts.path;
                let defines = candidate.chunks.iter().fold(0, |all, chunk| all | chunk.defines);
                let body = candidate.concepts & !defines & !candidate.path_concepts;
                let why = packer.why(body, defines, candidate.path_concepts, candidate.named);
                match why.as_str() {
                    "" => path.to_string(),
                    why => format!("{path} ({why})"),
                }
            });
            EmptyReason::Rejected { rejection, nearest: nearest.collect(), missing: missing_words(question, &query) }
        })
    } else {
        Ok(())
    };
    if verdict.is_ok() {
        // Vectors are used only after the verdict. Similarity is no evidence that the question is about this
        // repository, because some chunk is always the most similar one.
        query.near = near(inputs.vectors, snapshot, question, text, lists);
        if !query.near.is_empty() {
            candidates = words.rank(index, &query, MAX_FILES);
        }
    }
    let packer = inputs.packer(question, &query, limits.deadline);
    let budget = limits.tokens.saturating_sub(FENCE_TOKENS);
    let selected = select_memories(
        &MemoryInputs {
            memories: inputs.memories,
            citations: inputs.citations,
            index: inputs.snapshot.map(|_| index),
            candidates: &candidates,
            about_code: verdict.is_ok(),
            code_cosine,
            lists,
            deadline: limits.deadline,
            now: inputs.now,
        },
        (question, text),
        threshold,
    );
    let mut packed = Packed::default();
    packer.memories(inputs.memories, &selected, budget, &mut packed);
    // A memory that is only named is too little for the preamble of a conversation.
    let is_sure = packed.known || packed.items.iter().any(|item| item.kind != ItemKind::Hint);
    exploration.is_about_repository = verdict.is_ok() || is_sure;
    candidates.retain(|candidate| {
        let path = snapshot.file(candidate.file).facts.path.as_str();
        !is_never_context(snapshot, question, candidate)
            && !packed.remembered.iter().any(|remembered| remembered == path)
    });
    let left = budget.saturating_sub(packed.tokens());
    match (verdict, inputs.map) {
        (Ok(()), Some(prices)) => {
            let relevance = probability * inputs.gain_factor;
            let files = exploration.files.unwrap_or(usize::MAX);
            packer.map((snapshot, &candidates), (prices, relevance, files), left, &mut packed)?;
        }
        (Ok(()), None) => {
            rate(snapshot, &mut candidates, &query.near, probability);
            packer.code((snapshot, &candidates), probability, left, &mut packed)?;
        }
        (Err(error), _) if packed.is_empty() => return Err(error),
        (Err(_), _) => {}
    }
    match packed {
        Packed { items, .. } if !items.is_empty() => Ok(items),
        Packed { known: true, .. } => Err(EmptyReason::Known),
        _ => Err(EmptyReason::Gone),
    }
}

/// Returns whether a file is no context for a question that does not name the file: a generated or vendored file, a
/// licence, a shell completion.
fn is_never_context(snapshot: &Snapshot, question: &Question, candidate: &Candidate) -> bool {
    let file = snapshot.file(candidate.file);
    let is_named = || {
        let defines = |chunk: &ScoredChunk| question.contains_identifier(chunk.defines);
        candidate.named || candidate.chunks.iter().any(defines)
    };
    let is_boilerplate = || is_boilerplate(&file.facts.path) && candidate.path_concepts == 0;
    (file.role == FileRole::Generated || is_boilerplate()) && !is_named()
}

/// Returns the words of a turn that the repository contains, by descending weight. The result is empty for a follow-up.
pub(crate) fn terms(snapshot: &Snapshot, text: &str) -> Vec<String> {
    if is_follow_up_here(Some(snapshot), text) {
        return Vec::new();
    }
    let question = question::analyse(&mut Tokenizer::new(), &without_secrets(text));
    known_terms(&question, &Query::new(&question, snapshot))
}

/// Returns the question's words that the repository contains, by descending weight.
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

/// Returns the first of the question's words that the repository lacks, redacted.
fn missing_words(question: &Question, query: &Query) -> String {
    let words = question.concepts.iter().enumerate();
    let missing = words.filter(|(bit, _)| query.known >> bit & 1 == 0);
    let missing: Vec<&str> = missing.map(|(_, concept)| concept.word.as_str()).take(MISSING).collect();
    redact(&missing.join(", ")).into_owned()
}

/// Drops items from the end until the rendered block fits the budget.
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
    exploration.reason = Some(EmptyReason::TooLong.to_string());
}
