//! Blocking: the records that recall finds for the text of another, which are then judged.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use anyhow::Result;
use muninn_reconcile::judge::{Claim, ClaimTokens, FittedJudge, Relation, WIDE, to_judge};
use muninn_text::embed::Embedder;

use super::{Label, Labelled, relation};
use crate::graded::record_store::{Line, Store};
use crate::harness::stats::{rounded, share};

const TOP: usize = 20;

/// The pairs that a thousand records produce.
pub(super) struct Queued {
    /// In conflict or in doubt.
    pub(super) conflicts: f64,
    /// Pairs that would become one.
    pub(super) merges: f64,
}

/// The rate at which the other sentence of a pair is among the candidates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocking {
    /// Among the twenty that the product chooses of a hundred.
    pub(super) chosen: f64,
    /// Among the first twenty of recall.
    pub(super) recalled: f64,
}

/// Looks for the sentences of all pairs that are not neutral, in both directions.
pub(super) fn recall(pairs: &[Labelled], embedder: Arc<dyn Embedder>, tools: &FittedJudge) -> Result<Blocking> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    for text in pairs.iter().flat_map(|pair| [&pair.a, &pair.b]) {
        places.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() - 1
        });
    }
    let near = Neighbours::of(&texts, embedder, tools)?;
    let mut found: HashMap<usize, Candidates> = HashMap::new();
    let (mut all, mut chosen, mut recalled) = (0, 0, 0);
    for pair in pairs.iter().filter(|pair| pair.label != Label::Neutral && pair.a != pair.b) {
        let (a, b) = (places[pair.a.as_str()], places[pair.b.as_str()]);
        for (one, other) in [(a, b), (b, a)] {
            all += 1;
            let near = found.entry(one).or_insert_with(|| near.to(one));
            chosen += usize::from(near.chosen.contains(&other));
            recalled += usize::from(near.recalled.contains(&other));
        }
    }
    Ok(Blocking { chosen: share(chosen, all), recalled: share(recalled, all) })
}

/// Judges each record against its neighbours, each pair once.
pub(super) fn judged(texts: &[String], embedder: Arc<dyn Embedder>, tools: &FittedJudge) -> Result<Queued> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let near = Neighbours::of(&texts, embedder, tools)?;
    let mut couples: BTreeSet<(usize, usize)> = BTreeSet::new();
    for one in 0..texts.len() {
        let Candidates { chosen, recalled } = near.to(one);
        couples.extend(chosen.into_iter().chain(recalled).map(|other| (one.min(other), one.max(other))));
    }
    let relations: Vec<Relation> = couples.iter().map(|(a, b)| relation(texts[*a], texts[*b], tools)).collect();
    let per_1000 = |counts: fn(&Relation) -> bool| {
        let count = relations.iter().filter(|relation| counts(relation)).count();
        rounded(count as f64 * 1000.0 / texts.len().max(1) as f64)
    };
    Ok(Queued {
        conflicts: per_1000(|relation| matches!(relation, Relation::Contradicts | Relation::Undecided)),
        merges: per_1000(|relation| matches!(relation, Relation::Same | Relation::Refines)),
    })
}

/// The candidates for a text without itself, twenty at most.
struct Candidates {
    /// The first of recall.
    recalled: Vec<usize>,
    /// The product's choice among more records of recall.
    chosen: Vec<usize>,
}

/// Texts in one store, each a session of its own: neighbours in a session would help to find each other.
struct Neighbours<'t> {
    texts: &'t [&'t str],
    tokens: Vec<ClaimTokens>,
    store: Store,
}

impl<'t> Neighbours<'t> {
    fn of(texts: &'t [&'t str], embedder: Arc<dyn Embedder>, tools: &FittedJudge) -> Result<Self> {
        let line = |(number, text): (usize, &&str)| Line {
            ts: "2026-01-01T00:00:00Z".to_owned(),
            text: (*text).to_owned(),
            session: format!("s{number}"),
            answers: Vec::new(),
        };
        let store = Store::of(texts.iter().enumerate().map(line), Some(embedder))?;
        Ok(Self { texts, tokens: texts.iter().map(|text| tools.tokens(&Claim::of(text))).collect(), store })
    }

    fn to(&self, one: usize) -> Candidates {
        let mut found = self.store.ask(self.texts[one], TOP * WIDE + 1);
        found.retain(|other| *other != one);
        let alike = |other: &usize| self.tokens[one].likeness(&self.tokens[*other]);
        Candidates { recalled: found.iter().take(TOP).copied().collect(), chosen: to_judge(found, TOP, alike) }
    }
}
