//! From what the files hold to what is recalled.

use std::collections::HashSet;

use muninn_repo_tools::Worktree;

use super::embedding::Embedding;
use super::kept::Store;
use super::order::Runs;
use super::superseded::Superseded;
use super::{Disputes, Loaded, MemoryKind, confidence, order, summaries, words};
use crate::hits::{Hit, Hits};
use crate::knowledge;
use crate::records::{Decisions, RecordFile};

/// Which records are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that hold, as far as anybody knows.
    Holding,
    /// Those that others have taken the place of.
    Superseded,
}

impl Store {
    /// Of files as they are.
    pub(super) fn of(worktree: &Worktree, files: &[RecordFile]) -> Self {
        let records = files.iter().map(|file| file.load(worktree));
        let parts = std::iter::once(knowledge::load(worktree)).chain(records);
        Self {
            files: files.to_vec(),
            ..Self::made_of(parts, Which::Holding)
        }
    }

    pub(super) fn made_of(parts: impl IntoIterator<Item = Loaded>, which: Which) -> Self {
        let mut store = Self::default();
        let mut hits = Vec::new();
        let mut gone = HashSet::new();
        let mut superseded = Vec::new();
        let mut decisions = Decisions::default();
        let mut disputes = Disputes::default();
        let mut pruned = HashSet::new();
        for mut part in parts {
            part.items.retain(|item| !pruned.contains(&item.source));
            part.hits.retain(|hit| !pruned.contains(&hit.id));
            pruned.extend(part.pruned);
            hits.extend(part.hits);
            gone.extend(part.gone);
            superseded.extend(part.superseded);
            decisions.extend(part.decisions);
            disputes.extend(part.disputes);
            store.items.extend(part.items);
            store.stamps.extend(part.stamps);
            store.notes.extend(part.notes);
        }
        gone.extend(decisions.holding().flat_map(|decision| decision.drop.iter().cloned()));
        let same = &disputes.same;
        // What one file forgets may be in another, before it or behind, and so may be what says the same.
        let gone: HashSet<&str> = gone.iter().map(|id| same.kept(id)).collect();
        let superseded = Superseded::by_kept(superseded, same);
        hits.retain(|hit: &Hit| !gone.contains(hit.id.as_str()) && !superseded.contains_key(&hit.id));
        store.items.retain(|item| !gone.contains(same.kept(&item.source)));
        for item in &mut store.items {
            item.superseded = superseded.get(same.kept(&item.source)).cloned();
        }
        let wanted = which == Which::Superseded;
        store.items.retain(|item| item.superseded.is_some() == wanted);
        // Of a record that is in two files, as after a merge, one counts.
        let mut seen = HashSet::new();
        store
            .items
            .retain(|item| item.kind != MemoryKind::Record || seen.insert(item.source.clone()));
        hits.retain(|hit| hit.id.is_empty() || seen.remove(&hit.id));
        summaries::fold(&mut store.items);
        let stand_in = confidence::merge(&mut store.items, same);
        disputes.mark(&mut store.items, &stand_in);
        order::sort(&mut store.items);
        store.runs = Runs::new(&store.items);
        store.index = words::index(&store.items);
        store.mean_lengths = words::mean_lengths(&store.index, &store.runs);
        store.hits = Hits::new(hits);
        store
    }

    pub(super) fn embed(&mut self, embedding: &Embedding<'_>) {
        match embedding.vectors(&self.items) {
            Ok(vectors) => {
                self.vectors = vectors;
                self.embedder = embedding.id().to_owned();
            }
            Err(error) => self.notes.push(format!("memory is recalled by words alone: {error}")),
        }
    }

    /// Whether it is of these files and this embedder; without one, what has vectors serves as well.
    pub(super) fn serves(&self, files: &[RecordFile], embedder: &str) -> bool {
        self.files == files && (embedder.is_empty() || self.embedder == embedder)
    }

    /// Whether the files are still as they were.
    pub(super) fn is_current(&self, worktree: &Worktree) -> bool {
        let mut now = knowledge::stamps(worktree);
        now.extend(self.files.iter().filter_map(|file| file.stamp(worktree)));
        now == self.stamps
    }
}
