//! The status of records. A record's status is derived from every record that references it.

use std::collections::{HashMap, HashSet};

use super::decisions::{Decision, Decisions};
use super::kinds::{self, Body};
use super::moment::Moment;
use super::note_use::{NoteUse, NoteUses};
use super::record::Record;
use super::same::{Links, Representatives, ordered};
use super::superseded::Superseded;

/// References between records, collected from files in any order.
#[derive(Debug, Clone, Default)]
pub struct RecordReferences {
    links: Links,
    decisions: Decisions,
    /// Ids of deleted records.
    forgotten: Vec<String>,
    superseded: HashMap<String, Superseded>,
    uses: NoteUses,
    /// Questions of older records, with the time at which they were added, and the ids of these records.
    questions: Vec<(Moment, String, Vec<String>)>,
}

/// The status of records: which are recalled, and which represent others. It covers all files.
#[derive(Debug, Clone, Default)]
pub struct RecordStatus {
    same: Representatives,
    /// Representatives of groups that were deleted.
    forgotten: HashSet<String>,
    /// Representatives of groups that a person dropped, with the decision.
    dropped: HashMap<String, Superseded>,
    /// Superseded records. Duplicates of a superseded record are not superseded.
    superseded: HashMap<String, Superseded>,
    /// Pairs of records that a person kept both, by their representatives.
    both: HashSet<(String, String)>,
    decisions: Decisions,
    links: Links,
    /// What became of notes in prompts, by their representatives.
    uses: HashMap<String, NoteUse>,
    /// Questions that were added to older records, by their representatives, the oldest first.
    questions: HashMap<String, Vec<String>>,
}

impl RecordReferences {
    /// Adds a record. Only records that reference others have an effect.
    pub(crate) fn take(&mut self, record: &Record) {
        self.links.take(record);
        self.decisions.take(record);
        match &record.body {
            Body::Tombstone(kinds::Tombstone { forget }) => self.forgotten.push(forget.clone()),
            Body::Use(of) => self.uses.take(record, of),
            Body::Questions(kinds::Questions { of, .. }) => {
                self.questions.push((record.ts.clone(), of.clone(), record.origin.answers.clone()));
            }
            Body::Supersedes(kinds::Supersedes { older, newer, since, reason }) => self.supersede(
                older.clone(),
                Superseded {
                    until: since.clone().unwrap_or_else(|| record.ts.clone()),
                    by: newer.clone(),
                    author: None,
                    reason: reason.clone(),
                },
            ),
            _ => {}
        }
    }

    /// Deletes records.
    pub(crate) fn forget(&mut self, ids: impl IntoIterator<Item = String>) {
        self.forgotten.extend(ids);
    }

    /// Returns whether this record, and not only a duplicate, was deleted.
    pub(crate) fn forgets(&self, id: &str) -> bool {
        self.forgotten.iter().any(|forgotten| forgotten == id)
    }

    /// Adds an end of validity. The earliest of several counts.
    fn supersede(&mut self, older: String, superseded: Superseded) {
        let known = self.superseded.entry(older).or_insert_with(|| superseded.clone());
        if superseded.order() < known.order() {
            *known = superseded;
        }
    }

    /// Adds the references of another file.
    pub fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.decisions.extend(other.decisions);
        self.forgotten.extend(other.forgotten);
        self.uses.extend(other.uses);
        self.questions.extend(other.questions);
        for (older, superseded) in other.superseded {
            self.supersede(older, superseded);
        }
    }

    /// Computes the status from all references.
    pub fn status(mut self) -> RecordStatus {
        let same = self.links.followed(&self.decisions);
        let kept = |id: &String| same.kept(id).to_owned();
        let forgotten = self.forgotten.iter().map(kept).collect();
        let dropped = self.decisions.holding().flat_map(|decision| {
            let ended = decision.ended();
            decision.drop.iter().map(move |id| (id, ended.clone()))
        });
        let dropped = dropped.map(|(id, ended)| (kept(id), ended)).collect();
        let mut both = HashSet::new();
        for decision in self.decisions.holding() {
            for (at, one) in decision.keep.iter().enumerate() {
                let others = decision.keep.iter().skip(at + 1);
                both.extend(others.map(|other| ordered(same.kept(one), same.kept(other))));
            }
        }
        let uses = self.uses.by_note(&same);
        let mut questions: HashMap<String, Vec<String>> = HashMap::new();
        self.questions.sort();
        for (_, of, added) in self.questions {
            questions.entry(same.kept(&of).to_owned()).or_default().extend(added);
        }
        RecordStatus {
            forgotten,
            dropped,
            both,
            same,
            superseded: self.superseded,
            decisions: self.decisions,
            links: self.links,
            uses,
            questions,
        }
    }
}

impl RecordStatus {
    /// The status of these records.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut references = RecordReferences::default();
        records.into_iter().for_each(|record| references.take(record));
        references.status()
    }

    /// The representative of a record: the smallest id of its duplicates.
    pub fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        self.same.kept(id)
    }

    /// Returns whether the record, or a duplicate of it, was deleted or dropped.
    pub fn is_dropped(&self, id: &str) -> bool {
        self.is_forgotten(id) || self.dropped.contains_key(self.kept(id))
    }

    /// Returns whether the record, or a duplicate of it, was deleted.
    pub fn is_forgotten(&self, id: &str) -> bool {
        self.forgotten.contains(self.kept(id))
    }

    /// The end of validity of a record that was superseded, or dropped by a person.
    pub fn superseded(&self, id: &str) -> Option<&Superseded> {
        self.superseded.get(id).or_else(|| self.dropped.get(self.kept(id)))
    }

    /// Returns whether the record is dropped or superseded. Recall can still return its duplicates.
    pub fn is_gone(&self, id: &str) -> bool {
        self.is_dropped(id) || self.superseded.contains_key(id)
    }

    /// The questions that were added to a record, the oldest first.
    pub fn questions_of(&self, id: &str) -> &[String] {
        self.questions.get(self.kept(id)).map_or(&[], Vec::as_slice)
    }

    /// What became of a note in prompts.
    pub fn use_of(&self, id: &str) -> NoteUse {
        self.uses.get(self.kept(id)).cloned().unwrap_or_default()
    }

    /// Ids of the decisions on a conflict, the oldest first.
    pub fn decisions_on(&self, conflict: &str) -> Vec<String> {
        self.decisions.on(conflict).map(|decision| decision.id.clone()).collect()
    }

    /// The conflicts that several people decided differently without knowing of each other, with these decisions, the oldest
    /// first.
    pub fn split_decisions(&self) -> impl Iterator<Item = (&str, Vec<&Decision>)> {
        self.decisions.split()
    }

    /// Returns whether two records are known to be duplicates or both true.
    pub fn is_settled(&self, one: &str, other: &str) -> bool {
        let (kept, other_kept) = (self.kept(one), self.kept(other));
        kept == other_kept || self.links.are_distinct(one, other) || self.both.contains(&ordered(kept, other_kept))
    }
}
