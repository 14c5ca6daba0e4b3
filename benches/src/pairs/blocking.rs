//! Bringing together what has to be judged: the records that recall gives for the text of another.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use muninn_memory::embed::Embedder;
use muninn_memory::reconcile::judge::{Relation, Tools};

use super::labelled::{Label, Labelled};
use super::relation;
use super::report::share;
use crate::record_store::{Line, Store, StoreError, directory};
use crate::report::rounded;

/// So many candidates are looked at for each record.
const TOP: usize = 20;

/// What a thousand records bring up.
pub(super) struct Queued {
    /// Pairs in conflict or in doubt.
    pub(super) conflicts: f64,
    /// Pairs that would become one.
    pub(super) merges: f64,
}

/// The share of sentences in pairs that are no neutral ones of which recall finds the other one.
pub(super) fn recall(pairs: &[Labelled], embedder: Arc<dyn Embedder>) -> Result<f64, StoreError> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    for text in pairs.iter().flat_map(|pair| [&pair.a, &pair.b]) {
        places.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() - 1
        });
    }
    let near = Neighbours::of(&texts, embedder)?;
    let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
    let (mut all, mut met) = (0, 0);
    for pair in pairs
        .iter()
        .filter(|pair| pair.label != Label::Neutral && pair.a != pair.b)
    {
        let (a, b) = (places[pair.a.as_str()], places[pair.b.as_str()]);
        for (one, other) in [(a, b), (b, a)] {
            all += 1;
            let near = found.entry(one).or_insert_with(|| near.to(one));
            met += usize::from(near.contains(&other));
        }
    }
    Ok(share(met, all))
}

/// Judges each record against its neighbours, each pair once.
pub(super) fn judged(texts: &[String], embedder: Arc<dyn Embedder>, tools: &Tools) -> Result<Queued, StoreError> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let near = Neighbours::of(&texts, embedder)?;
    let couples: BTreeSet<(usize, usize)> = (0..texts.len())
        .flat_map(|one| {
            near.to(one)
                .into_iter()
                .map(move |other| (one.min(other), one.max(other)))
        })
        .collect();
    let relations: Vec<Relation> = couples
        .iter()
        .map(|(a, b)| relation(texts[*a], texts[*b], tools))
        .collect();
    let per_1000 = |counts: fn(&Relation) -> bool| {
        let count = relations.iter().filter(|relation| counts(relation)).count();
        rounded(count as f64 * 1000.0 / texts.len().max(1) as f64)
    };
    Ok(Queued {
        conflicts: per_1000(|relation| matches!(relation, Relation::Contradicts | Relation::Doubt)),
        merges: per_1000(|relation| matches!(relation, Relation::Same | Relation::Refines | Relation::RefinedBy)),
    })
}

/// Texts in one store, each a session of its own: neighbours in a session would help to find each other.
struct Neighbours<'t> {
    texts: &'t [&'t str],
    store: Store,
    /// The repository, for as long as it is asked.
    _directory: tempfile::TempDir,
}

impl<'t> Neighbours<'t> {
    fn of(texts: &'t [&'t str], embedder: Arc<dyn Embedder>) -> Result<Self, StoreError> {
        let directory = directory()?;
        let line = |(number, text): (usize, &&str)| Line {
            ts: "2026-01-01T00:00:00Z".to_owned(),
            text: (*text).to_owned(),
            session: format!("s{number}"),
        };
        let store = Store::of(directory.path(), texts.iter().enumerate().map(line), Some(embedder))?;
        Ok(Self {
            texts,
            store,
            _directory: directory,
        })
    }

    /// The first twenty that are recalled for a text, itself aside.
    fn to(&self, one: usize) -> Vec<usize> {
        let found = self.store.ask(self.texts[one], TOP + 1);
        found.into_iter().filter(|other| *other != one).take(TOP).collect()
    }
}
