//! Blocking: selects the claims that are compared with a claim.
//!
//! Candidates share a subject or a source file, or are found by recall with the claim as the question. The similarity
//! of two texts does not tell whether they agree. This module only finds candidates; the judge determines the relation.
//!
//! A pattern is compared with all patterns about the same entities. Patterns about other entities are independent, even
//! if their words are the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use super::claim::RecordClaim;
use super::judge::{ClaimTokens, WIDE, to_judge};
use super::{Judge, JudgeSetup};
use crate::recall::{Memories, RecallOptions};

/// Number of recalled candidates that are judged.
const JUDGED: usize = 20;
/// Maximum size of a block. A subject, a file or a set of entities with more claims is too common to be evidence that
/// two of the claims are related.
const MOST_OF_A_BLOCK: usize = 64;
/// Maximum number of patterns about the same entities that are compared, duplicates included.
const MOST_PATTERNS: usize = 256;

pub(super) struct Blocks<'a> {
    claims: &'a [RecordClaim<'a>],
    /// Position of each claim by id.
    positions: HashMap<&'a str, usize>,
    memories: Memories,
    judge: &'a dyn Judge,
    /// The tokens of each claim, once they were needed.
    tokens: Vec<OnceLock<ClaimTokens>>,
    /// Claims by subject, and by file.
    named: HashMap<String, Vec<usize>>,
    /// Patterns by entities and words.
    patterns: HashMap<&'a [&'a str], BTreeMap<&'a str, Vec<usize>>>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(claims: &'a [RecordClaim<'a>], judging: &JudgeSetup<'a>) -> Self {
        let mut named: HashMap<String, Vec<usize>> = HashMap::new();
        let mut patterns: HashMap<&[&str], BTreeMap<&str, Vec<usize>>> = HashMap::new();
        for (at, claim) in claims.iter().enumerate() {
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
        let by_words = claims.iter().filter(|claim| claim.entities().is_none());
        Self {
            claims,
            positions: claims.iter().map(RecordClaim::id).zip(0..).collect(),
            memories: Memories::of_records(by_words.map(|claim| claim.record), judging.embedder.clone()),
            judge: judging.judge,
            tokens: claims.iter().map(|_| OnceLock::new()).collect(),
            named,
            patterns,
        }
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
        let options = RecallOptions {
            // One more, because the claim finds itself.
            keep: JUDGED * WIDE + 1,
            ..RecallOptions::default()
        };
        let found = self
            .memories
            .recall(claim.text, &options)
            .into_iter()
            .filter_map(|recalled| {
                let memory = self.memories.get(recalled.doc)?;
                self.positions.get(memory.source.as_str()).copied()
            });
        let found: Vec<usize> = found.filter(|other| *other != at).collect();
        let likeness = |other: &usize| self.tokens(at).likeness(self.tokens(*other));
        candidates.extend(to_judge(found, JUDGED, likeness));
        candidates.remove(&at);
        candidates
    }

    fn tokens(&self, at: usize) -> &ClaimTokens {
        self.tokens[at].get_or_init(|| self.judge.tokens(&self.claims[at].claim()))
    }
}

/// The keys that a claim can share with others: its subject and its source files.
fn names<'c>(claim: &'c RecordClaim<'_>) -> impl Iterator<Item = String> + 'c {
    let subject = claim
        .subject
        .map(|subject| format!("subject {}", subject.trim().to_lowercase()));
    let sources = claim.record.origin.sources.iter();
    subject
        .into_iter()
        .chain(sources.map(|source| format!("file {}", source.path)))
}
