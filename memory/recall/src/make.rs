//! Builds the searchable store from loaded files.

use std::collections::HashSet;

use muninn_notebooks::journal;
use muninn_team::knowledge;
use muninn_team::memories::{ConflictPairs, LoadedMemories, MemoryKind, answers};
use muninn_team::records::{Home, MAIN, RecordFile, RecordReferences, Superseded};
use muninn_text::hits::{Hit, Hits};
use muninn_text::redact::redact;

use super::embedding::{Embedding, GoOn};
use super::kept::Store;
use super::order::{self, NeighbourRuns};
use super::related::RelatedTexts;
use super::{MemorySources, confidence, summaries, words};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordSelection {
    Valid,
    Superseded,
}

impl Store {
    /// Builds the store of knowledge and these sources.
    pub(super) fn of(home: &Home, sources: &MemorySources) -> Self {
        let records = LoadedMemories::of_files(&sources.records, home);
        let journal = sources.journal.as_deref().map(journal::load);
        let knowledge = home.worktree().map(|worktree| knowledge::load(worktree, sources.wiki.as_ref()));
        let parts = knowledge.into_iter().chain(records).chain(journal);
        let mut store = Self::from_parts(parts, RecordSelection::Valid, home.path(MAIN));
        store.notes.extend(sources.unread.clone());
        store.sources = sources.clone();
        store
    }

    /// Builds the store of loaded parts. `main` is the displayed path of main memory.
    pub(super) fn from_parts(
        parts: impl IntoIterator<Item = LoadedMemories>,
        selection: RecordSelection,
        main: &str,
    ) -> Self {
        let mut store = Self::default();
        let mut hits = Vec::new();
        let mut references = RecordReferences::default();
        let mut conflict_pairs = ConflictPairs::default();
        let mut pruned = HashSet::new();
        for mut part in parts {
            part.items.retain(|item| !pruned.contains(&item.source));
            part.hits.retain(|hit| !pruned.contains(&hit.id));
            pruned.extend(part.pruned);
            hits.extend(part.hits);
            references.extend(part.references);
            conflict_pairs.extend(part.conflict_pairs);
            store.items.extend(part.items);
            store.stamps.extend(part.stamps);
            store.notes.extend(part.notes);
        }
        // A record and the record that deletes it can be in different files, in any order. The same applies to
        // duplicates.
        let status = references.status();
        hits.retain(|hit: &Hit| !status.is_gone(&hit.id));
        store.items.retain(|item| !status.is_forgotten(&item.source));
        for item in &mut store.items {
            item.superseded = status.superseded(&item.source).map(redacted);
            item.uses = status.use_of(&item.source);
            item.answers = answers(&item.answers, status.questions_of(&item.source));
        }
        // A record that is in two files, as after a merge, counts once.
        let mut seen = HashSet::new();
        store.items.retain(|item| item.kind != MemoryKind::Record || seen.insert(item.source.clone()));
        hits.retain(|hit| hit.id.is_empty() || seen.remove(&hit.id));
        let of_main = confidence::fold(&mut store.items, &status, main);
        let related = RelatedTexts::of(&store.items, &status);
        let wants_superseded = selection == RecordSelection::Superseded;
        store.items.retain(|item| item.superseded.is_some() == wants_superseded);
        summaries::fold(&mut store.items);
        if !wants_superseded {
            conflict_pairs.mark(&mut store.items, &status, &of_main);
        }
        related.add_to(&mut store.items, &status);
        order::sort(&mut store.items);
        store.runs = NeighbourRuns::new(&store.items);
        store.index = words::index(&store.items);
        store.mean_lengths = words::mean_lengths(&store.index, &store.runs);
        store.hits = Hits::new(hits);
        store
    }

    pub(super) fn embed(&mut self, embedding: &Embedding<'_>, go_on: GoOn<'_>) {
        match embedding.vectors(&self.items, go_on) {
            Ok((vectors, left)) => {
                (self.vectors, self.unembedded) = (vectors, left);
                self.embedder = embedding.id().to_owned();
            }
            Err(error) => self.notes.push(format!("memory is recalled by words alone: {error}")),
        }
    }

    /// Returns whether the store was built from these sources and this embedder. Without an embedder, a store with
    /// vectors is accepted too.
    pub(super) fn serves(&self, sources: &MemorySources, embedder: &str) -> bool {
        self.sources == *sources && (embedder.is_empty() || self.embedder == embedder)
    }

    /// Returns whether the store has a file as it is now.
    pub(super) fn has(&self, file: &RecordFile, home: &Home) -> bool {
        file.stamp(home).is_none_or(|stamp| self.stamps.contains(&stamp))
    }

    /// Returns whether the sources are unchanged.
    pub(super) fn is_current(&self, home: &Home) -> bool {
        let wiki = self.sources.wiki.as_ref();
        let mut now = home.worktree().map(|worktree| knowledge::stamps(worktree, wiki)).unwrap_or_default();
        now.extend(self.sources.records.iter().filter_map(|file| file.stamp(home)));
        now.extend(self.sources.journal.as_deref().and_then(journal::stamp));
        now == self.stamps
    }
}

fn redacted(superseded: &Superseded) -> Superseded {
    let redacted = |text: &Option<String>| text.as_deref().map(|text| redact(text).into_owned());
    Superseded {
        until: redact(&superseded.until).into_owned().into(),
        by: redacted(&superseded.by),
        author: redacted(&superseded.author),
        reason: redacted(&superseded.reason),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Memories, RecallOptions};
    use muninn_team::fixture::{Fixture, main_alone};
    use muninn_team::records::MAIN;

    #[test]
    fn superseded_records_are_loaded_only_on_request() {
        let learning = |id: &str| {
            format!(
                "{{\"id\":\"{id}\",\"ts\":\"2026-01-0{id}\",\"type\":\"learning\",\"text\":\"the port is {id}\"}}\n"
            )
        };
        let main = ["1", "2", "3", "4", "5"].map(learning).concat()
            + r#"{"id":"6","ts":"2026-01-06","type":"supersedes","older":"1","newer":"3","since":"2026-01-03"}
{"id":"7","ts":"2026-01-06","type":"supersedes","older":"2","newer":"4","since":"2026-01-04"}
{"id":"8","ts":"2026-01-06","type":"same","kept":"1","folded":"2"}
{"id":"9","ts":"2026-01-09","type":"supersedes","older":"3"}
{"id":"a","ts":"2026-01-09","type":"supersedes","older":"4"}
{"id":"b","ts":"2026-01-09","type":"tombstone","forget":"4"}
"#;
        let repo = Fixture::with(&[(MAIN, &main)]);
        let ids = |memories: &Memories| -> Vec<String> {
            let items = memories.items().iter();
            items.map(|item| item.source.clone()).collect()
        };
        assert_eq!(ids(&Memories::load(&repo.home())), ["5"]);
        let superseded = Memories::superseded(&repo.home(), &main_alone());
        let validity: Vec<_> = superseded
            .items()
            .iter()
            .map(|item| {
                let superseded = item.superseded.as_ref().unwrap();
                (&*item.source, &*superseded.until, superseded.by.as_deref())
            })
            .collect();
        let expected = [("1", "2026-01-03", Some("3")), ("2", "2026-01-04", Some("4")), ("3", "2026-01-09", None)];
        assert_eq!(validity, expected, "a duplicate of a superseded record is found too");
        assert_eq!(superseded.recall("which port", &RecallOptions::default()).len(), 3);
    }
}
