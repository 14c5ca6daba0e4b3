//! Which claims are worth comparing with one.
//!
//! All that name the same subject or rest on the same file, and those that recall finds for it as for a question. How
//! alike two texts are does not tell whether they agree; so this is about finding partners, and leaves what they are to
//! each other to the judge.

use std::collections::{BTreeSet, HashMap};

use super::claim::Told;
use super::judge::{WIDE, to_judge};
use super::{Judge, Judging};
use crate::recall::{Memories, RecallOptions};

/// So many of those that recall finds are judged.
const JUDGED: usize = 20;
/// A subject or a file that more claims have says nothing about two of them.
const MOST_OF_A_BLOCK: usize = 64;

pub(super) struct Blocks<'a> {
    claims: &'a [Told<'a>],
    /// By id.
    places: HashMap<&'a str, usize>,
    memories: Memories,
    judge: &'a dyn Judge,
    /// By subject, and by file.
    named: HashMap<String, Vec<usize>>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(claims: &'a [Told<'a>], judging: &Judging<'a>) -> Self {
        let mut named: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, claim) in claims.iter().enumerate() {
            for name in names(claim) {
                named.entry(name).or_default().push(at);
            }
        }
        named.retain(|_, block| (2..=MOST_OF_A_BLOCK).contains(&block.len()));
        Self {
            claims,
            places: claims.iter().map(Told::id).zip(0..).collect(),
            memories: Memories::of_records(claims.iter().map(|claim| claim.record), judging.embedder.clone()),
            judge: judging.judge,
            named,
        }
    }

    /// The places of claims that are worth comparing with the one at a place.
    pub(super) fn beside(&self, at: usize) -> BTreeSet<usize> {
        let claim = &self.claims[at];
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
        let likeness = |other: &usize| self.judge.likeness(&claim.claim(), &self.claims[*other].claim());
        beside.extend(to_judge(found, JUDGED, likeness));
        beside.remove(&at);
        beside
    }
}

/// What a claim may share with others: its subject, and the files that it rests on.
fn names<'c>(claim: &'c Told<'_>) -> impl Iterator<Item = String> + 'c {
    let subject = claim
        .subject
        .map(|subject| format!("subject {}", subject.trim().to_lowercase()));
    let sources = claim.record.origin.sources.iter();
    subject
        .into_iter()
        .chain(sources.map(|source| format!("file {}", source.path)))
}
