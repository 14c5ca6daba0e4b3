//! Which claims are worth comparing with one.
//!
//! All that name the same subject or rest on the same file, and those that recall finds for it as for a question. How
//! alike two texts are does not tell whether they agree; so this is about finding partners, and leaves what they are to
//! each other to the judge.
//!
//! A pattern is about its entities, and compared with those that are about the same ones, all of them. What two patterns
//! of other entities say can be said in the same words and does not touch.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::claim::RecordClaim;
use super::judge::{WIDE, to_judge};
use super::{Judge, JudgeSetup};
use crate::recall::{Memories, RecallOptions};

/// So many of those that recall finds are judged.
const JUDGED: usize = 20;
/// A subject or a file that more claims have says nothing about two of them, nor do entities of which so much is said.
const MOST_OF_A_BLOCK: usize = 64;
/// So many patterns about the same entities are compared, those in the same words counted each.
const MOST_PATTERNS: usize = 256;

pub(super) struct Blocks<'a> {
    claims: &'a [RecordClaim<'a>],
    /// By id.
    places: HashMap<&'a str, usize>,
    memories: Memories,
    judge: &'a dyn Judge,
    /// By subject, and by file.
    named: HashMap<String, Vec<usize>>,
    /// Patterns by their entities and their words.
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
            places: claims.iter().map(RecordClaim::id).zip(0..).collect(),
            memories: Memories::of_records(by_words.map(|claim| claim.record), judging.embedder.clone()),
            judge: judging.judge,
            named,
            patterns,
        }
    }

    /// The places of claims that are worth comparing with the one at a place.
    pub(super) fn beside(&self, at: usize) -> BTreeSet<usize> {
        let claim = &self.claims[at];
        if let Some(entities) = claim.entities() {
            // Those in the same words are the same already.
            let alike = self.patterns.get(entities).into_iter().flatten();
            let others = alike.filter(|(text, _)| **text != claim.text);
            return others.flat_map(|(_, block)| block).copied().collect();
        }
        let blocks = names(claim).filter_map(|name| self.named.get(&name));
        let mut beside: BTreeSet<usize> = blocks.flatten().copied().collect();
        let options = RecallOptions {
            // It finds itself, too.
            keep: JUDGED * WIDE + 1,
            ..RecallOptions::default()
        };
        let found = self
            .memories
            .recall(claim.text, &options)
            .into_iter()
            .filter_map(|recalled| {
                let memory = self.memories.get(recalled.doc)?;
                self.places.get(memory.source.as_str()).copied()
            });
        let found: Vec<usize> = found.filter(|other| *other != at).collect();
        let claim = claim.claim();
        let likeness_to = self.judge.likeness_to(&claim);
        let likeness = |other: &usize| likeness_to(&self.claims[*other].claim());
        beside.extend(to_judge(found, JUDGED, likeness));
        beside.remove(&at);
        beside
    }
}

/// What a claim may share with others: its subject, and the files that it rests on.
fn names<'c>(claim: &'c RecordClaim<'_>) -> impl Iterator<Item = String> + 'c {
    let subject = claim
        .subject
        .map(|subject| format!("subject {}", subject.trim().to_lowercase()));
    let sources = claim.record.origin.sources.iter();
    subject
        .into_iter()
        .chain(sources.map(|source| format!("file {}", source.path)))
}
