//! Blocking: selects the claims that are compared with a claim.
//!
//! Candidates share a subject or a source file, or are found by recall with the claim as the question. The similarity
//! of two texts does not tell whether they agree. This module only finds candidates; the judge determines the relation.
//!
//! A pattern is compared with all patterns about the same entities. Patterns about other entities are independent, even
//! if their words are the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use muninn_recall::{Memories, RecallOptions};

use super::claim::RecordClaim;
use super::judge::{ClaimTokens, WIDE, to_judge};
use super::parallel::by_all_processors;
use super::rare::RareTokens;
use super::{Judge, JudgeSetup};

/// Number of recalled candidates that are judged.
const JUDGED: usize = 20;
/// Maximum size of a block. A subject, a file or a set of entities with more claims is too common to be evidence that
/// two of the claims are related.
const MOST_OF_A_BLOCK: usize = 64;
/// Maximum number of patterns about the same entities that are compared, duplicates included.
const MOST_PATTERNS: usize = 256;

/// Maximum number of claims with the same words that are linked with each other. Each claim is linked with its neighbours in
/// time, so a larger group hangs together.
const MOST_ALIKE: usize = 16;
/// Maximum number of claims with the same words, and quotes around other spans, that are compared with a claim. Without the
/// record that two of these differ, a claim without quotes would join them.
const MOST_QUOTED: usize = 64;

/// Number of pairs of a new and any claim from which candidates are found by rare tokens instead of a search. Searching
/// takes some ten microseconds for each thousand claims.
const LARGE: usize = 1_500_000_000;
/// Minimum likeness of a candidate by rare tokens: less is in common with most claims.
const LEAST_LIKENESS: f32 = 0.25;

pub(super) struct Blocks<'a> {
    claims: &'a [RecordClaim<'a>],
    /// Position of each claim by id.
    positions: HashMap<&'a str, usize>,
    search: Search,
    judge: &'a dyn Judge,
    /// The tokens of each claim, once they were needed.
    tokens: Vec<OnceLock<ClaimTokens>>,
    /// Claims by subject, and by file.
    named: HashMap<String, Vec<usize>>,
    /// Patterns by entities and words.
    patterns: HashMap<&'a [&'a str], BTreeMap<&'a str, Vec<usize>>>,
    /// Claims with the same words, the oldest first.
    alike: HashMap<[u8; 16], Vec<usize>>,
    /// Those of them with quotes, by their quotes.
    quoted: HashMap<[u8; 16], BTreeMap<u64, Vec<usize>>>,
}

/// How claims with similar words are found.
enum Search {
    Recall(Memories),
    RareTokens(RareTokens),
}

impl<'a> Blocks<'a> {
    pub(super) fn of(claims: &'a [RecordClaim<'a>], new: usize, judging: &JudgeSetup<'a>) -> Self {
        let mut named: HashMap<String, Vec<usize>> = HashMap::new();
        let mut patterns: HashMap<&[&str], BTreeMap<&str, Vec<usize>>> = HashMap::new();
        let mut alike: HashMap<[u8; 16], Vec<usize>> = HashMap::new();
        for (at, claim) in claims.iter().enumerate() {
            alike.entry(claim.statement.words()).or_default().push(at);
            if let Some(entities) = claim.entities() {
                let alike = patterns.entry(entities).or_default();
                alike.entry(claim.text).or_default().push(at);
                continue;
            }
            for name in names(claim) {
                named.entry(name).or_default().push(at);
            }
        }
        named.retain(|_, block| (2..=MOST_OF_A_BLOCK).contains(&block.len()));
        patterns.retain(|_, texts| {
            let all: usize = texts.values().map(Vec::len).sum();
            (2..=MOST_OF_A_BLOCK).contains(&texts.len()) && all <= MOST_PATTERNS
        });
        let mut quoted: HashMap<[u8; 16], BTreeMap<u64, Vec<usize>>> = HashMap::new();
        for claims_alike in alike.values_mut() {
            claims_alike.sort_by(|one, other| claims[*one].order().cmp(&claims[*other].order()));
            for at in claims_alike {
                if let Some(quotes) = claims[*at].statement.quotes() {
                    let of_words = quoted.entry(claims[*at].statement.words()).or_default();
                    of_words.entry(quotes).or_default().push(*at);
                }
            }
        }
        quoted.retain(|_, quotes| quotes.len() > 1);
        // One claim stands for all with the same words. Copies would displace other candidates.
        let newest = alike.values().filter_map(|alike| alike.last());
        let by_words: BTreeSet<usize> = newest.copied().filter(|at| claims[*at].entities().is_none()).collect();
        let mut blocks = Self {
            claims,
            alike,
            quoted,
            positions: claims.iter().map(RecordClaim::id).zip(0..).collect(),
            search: Search::Recall(Memories::default()),
            judge: judging.judge,
            tokens: claims.iter().map(|_| OnceLock::new()).collect(),
            named,
            patterns,
        };
        blocks.search = if new.saturating_mul(claims.len()) < LARGE {
            let records = by_words.into_iter().map(|at| claims[at].record);
            Search::Recall(Memories::of_records(records, judging.embedder.clone()))
        } else {
            let by_words: Vec<usize> = by_words.into_iter().collect();
            by_all_processors(&by_words, |at| {
                blocks.tokens(*at);
                None::<()>
            });
            let tokens = by_words.iter().map(|at| (*at, blocks.tokens(*at)));
            Search::RareTokens(RareTokens::of(tokens))
        };
        blocks
    }

    /// The positions of claims that are compared with the claim at a position.
    pub(super) fn candidates_for(&self, at: usize) -> BTreeSet<usize> {
        let claim = &self.claims[at];
        if let Some(entities) = claim.entities() {
            // Patterns with the same words are duplicates already.
            let alike = self.patterns.get(entities).into_iter().flatten();
            let others = alike.filter(|(text, _)| **text != claim.text);
            return others.flat_map(|(_, block)| block).copied().collect();
        }
        let blocks = names(claim).filter_map(|name| self.named.get(&name));
        let mut candidates: BTreeSet<usize> = blocks.flatten().copied().collect();
        for other in self.similar(at) {
            candidates.extend(self.alike(other));
        }
        candidates.extend(self.alike(at));
        candidates.extend(self.with_other_quotes(at));
        candidates.remove(&at);
        candidates
    }

    /// The claims with similar, but not the same words.
    fn similar(&self, at: usize) -> Vec<usize> {
        let claim = &self.claims[at];
        let differs = |other: &usize| !self.claims[*other].has_words_of(claim);
        let likeness = |other: &usize| self.tokens(at).likeness(self.tokens(*other));
        match &self.search {
            Search::Recall(memories) => {
                let options = RecallOptions {
                    // One more, because the claim finds itself.
                    keep: JUDGED * WIDE + 1,
                    ..RecallOptions::default()
                };
                let found = memories.recall(claim.text, &options).into_iter();
                let found = found.filter_map(|recalled| {
                    let memory = memories.get(recalled.doc)?;
                    self.positions.get(memory.source.as_str()).copied()
                });
                to_judge(found.filter(differs).collect(), JUDGED, likeness)
            }
            Search::RareTokens(rare) => {
                let found = rare.candidates(self.tokens(at)).into_iter().filter(differs);
                let mut found: Vec<(f32, usize)> = found.map(|other| (likeness(&other), other)).collect();
                found.retain(|(likeness, _)| *likeness >= LEAST_LIKENESS);
                found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
                found.truncate(JUDGED);
                found.into_iter().map(|(_, other)| other).collect()
            }
        }
    }

    /// The claims with the words of a claim, itself included: the nearest in time.
    fn alike(&self, at: usize) -> &[usize] {
        let claim = &self.claims[at];
        let Some(alike) = self.alike.get(&claim.statement.words()) else {
            return &[];
        };
        let place = alike.partition_point(|other| self.claims[*other].order() < claim.order());
        let start = place.saturating_sub(MOST_ALIKE / 2).min(alike.len().saturating_sub(MOST_ALIKE));
        &alike[start..alike.len().min(start + MOST_ALIKE)]
    }

    /// The claims with the words of a claim, and quotes around other spans.
    fn with_other_quotes(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let statement = self.claims[at].statement;
        let of_words = statement.quotes().and_then(|_| self.quoted.get(&statement.words()));
        let others = of_words.into_iter().flatten();
        let others = others.filter(move |(quotes, _)| statement.quotes() != Some(**quotes));
        others.flat_map(|(_, claims)| claims).copied().take(MOST_QUOTED)
    }

    fn tokens(&self, at: usize) -> &ClaimTokens {
        self.tokens[at].get_or_init(|| self.judge.tokens(&self.claims[at].claim()))
    }
}

/// The keys that a claim can share with others: its subject and its source files.
fn names<'c>(claim: &'c RecordClaim<'_>) -> impl Iterator<Item = String> + 'c {
    let subject = claim.subject.map(|subject| format!("subject {}", subject.trim().to_lowercase()));
    let sources = claim.record.origin.sources.iter();
    subject.into_iter().chain(sources.map(|source| format!("file {}", source.path)))
}
