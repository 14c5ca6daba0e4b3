//! Folds: older records that a newer one stands for, as people see and undo them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use muninn_base::ids;
use muninn_repo_tools::Worktree;
use muninn_team::Store;
use muninn_team::records::{
    Body, Home, MAIN, RULES, Record, RecordStatus, Statement, WithdrawnRecords, kinds, ordered,
};
use muninn_text::redact::redact;

use super::edit::edit;
use super::files::MemoryFiles;
use super::fold::{Fold, FoldedRecord};
use super::{ReconcileError, ResolveError};

/// The folds of a main memory that hold, each of a record with the newest of its group.
pub fn folds(home: &Home) -> Result<Vec<Fold>, ReconcileError> {
    let main = MemoryFiles::at(home).records(MAIN, &mut Vec::new())?;
    let withdrawn = WithdrawnRecords::of(home)?;
    let main = withdrawn.shown(&main);
    let status = RecordStatus::of(main.iter().copied());
    Ok(FoldIndex::of(&main, &status).folds().collect())
}

/// The folds of `main` whose older record was not folded `before`, and the number of other texts that an earlier version
/// folded.
pub(super) fn new_folds(before: &[&Record], main: &[&Record]) -> (Vec<Fold>, usize) {
    let [was, is] = [before, main].map(|records| RecordStatus::of(records.iter().copied()));
    let known = FoldIndex::of(before, &was);
    let known: BTreeSet<&str> = known.pairs().map(|(older, _)| older.id.as_str()).collect();
    let now = FoldIndex::of(main, &is);
    let new = now.pairs().filter(|(older, _)| !known.contains(older.id.as_str()));
    let new = new.map(|(older, newer)| now.fold(older, newer)).collect();
    let is_wrong = |fold: &Fold| fold.earlier && !fold.same_statement;
    (new, now.folds().filter(is_wrong).count())
}

/// Undoes the fold that any unambiguous part of its id, or of its older record's id, names: records in main that the older
/// record is no duplicate of any other of its group, because it would be folded into the next one. No later run folds them
/// again.
///
/// # Errors
/// [`ResolveError`]; then nothing has changed.
pub fn apart(store: &Store, id: &str) -> Result<Fold, ResolveError> {
    let author = store.home().worktree().and_then(Worktree::author);
    let by = redact(author.as_deref().unwrap_or("a person")).into_owned();
    edit(store, |main, withdrawn| {
        let (fold, others) = {
            let shown = withdrawn.shown(main);
            let status = RecordStatus::of(shown.iter().copied());
            let index = FoldIndex::of(&shown, &status);
            let named = index.named();
            let (older, newer) = ids::find("fold", id, named.iter().map(|(id, pair)| (id.as_str(), *pair)))?;
            let group = index.groups.iter().find(|group| group.iter().any(|record| record.id == older.id));
            let others = group.into_iter().flatten().filter(|record| record.id != older.id);
            let others: Vec<String> = others.map(|record| record.id.clone()).collect();
            (index.fold(older, newer), others)
        };
        for other in others {
            let distinct = Body::Distinct(kinds::Distinct {
                left: fold.older.id.clone(),
                right: other,
                by: by.clone(),
                reason: "kept apart by a person".to_owned(),
            });
            main.push(Record::new(distinct, store.home().origin()?, store.clock()));
        }
        Ok(fold)
    })
}

/// The groups of duplicates of a main memory.
struct FoldIndex<'r> {
    /// Groups with several records that are recalled or folded, the oldest first.
    groups: Vec<Vec<&'r Record>>,
    /// The records that state that two records are duplicates.
    links: HashMap<(String, String), &'r Record>,
    /// One of these for each record.
    links_of: HashMap<&'r str, &'r Record>,
}

impl<'r> FoldIndex<'r> {
    fn of(main: &[&'r Record], status: &'r RecordStatus) -> Self {
        let mut groups: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        let (mut links, mut links_of) = (HashMap::new(), HashMap::new());
        for record in main.iter().copied() {
            if let Body::Same(kinds::Same { kept, folded, .. }) = &record.body {
                links.insert(ordered(kept, folded), record);
                links_of.extend([(kept.as_str(), record), (folded.as_str(), record)]);
            }
            if Statement::of(record).is_some() && !status.is_gone(&record.id) {
                groups.entry(status.kept(&record.id)).or_default().push(record);
            }
        }
        let several = groups.into_values().filter(|group| group.len() > 1);
        let mut groups: Vec<Vec<&Record>> = several.collect();
        for group in &mut groups {
            group.sort_by_key(|record| (&record.ts, &record.id));
        }
        Self { groups, links, links_of }
    }

    /// Each folded record with the newest one of its group. Automatic records that repeat the newest one are left out.
    fn pairs(&self) -> impl Iterator<Item = (&'r Record, &'r Record)> + '_ {
        let pairs = self.groups.iter().filter_map(|group| group.split_last());
        let pairs = pairs.flat_map(|(newest, others)| others.iter().map(|older| (*older, *newest)));
        pairs.filter(|(older, newest)| {
            matches!(older.body, Body::Learning(_)) || self.links.contains_key(&ordered(&older.id, &newest.id))
        })
    }

    fn folds(&self) -> impl Iterator<Item = Fold> + '_ {
        self.pairs().map(|(older, newer)| self.fold(older, newer))
    }

    /// The pairs of each group by their ids, and each folded record with the newest one by its id. A fold that was shown
    /// earlier can name a record that is no longer the newest.
    fn named(&self) -> Vec<(String, (&'r Record, &'r Record))> {
        let mut named = Vec::new();
        for group in &self.groups {
            for (at, newer) in group.iter().enumerate() {
                named.extend(group[..at].iter().filter_map(|older| {
                    let link = self.links.get(&ordered(&older.id, &newer.id))?;
                    Some((link.id.clone(), (*older, *newer)))
                }));
            }
        }
        for (older, newer) in self.pairs() {
            named.push((self.fold(older, newer).id, (older, newer)));
            named.push((older.id.clone(), (older, newer)));
        }
        named
    }

    fn fold(&self, older: &Record, newer: &Record) -> Fold {
        let link = self.links.get(&ordered(&older.id, &newer.id)).copied();
        // Without a link of their own, two records are duplicates of a third one.
        let said = link.or_else(|| self.links_of.get(older.id.as_str()).copied());
        let (by, is_dated) = match said.map(|link| &link.body) {
            Some(Body::Same(kinds::Same { by, until, .. })) => (by.as_str(), until.is_some()),
            _ => (RULES, true),
        };
        let [one, other] = [older, newer].map(Statement::of);
        Fold {
            id: link.map_or_else(|| link_id(older, newer), |link| link.id.clone()),
            by: redact(by).into_owned(),
            same_statement: one.zip(other).is_some_and(|(one, other)| one.equals(other)),
            earlier: by == RULES && !is_dated,
            older: FoldedRecord::of(older),
            newer: FoldedRecord::of(newer),
        }
    }
}

/// The id that a record about both would have.
fn link_id(older: &Record, newer: &Record) -> String {
    Record::derived(Body::Same(kinds::Same::default()), &[&older.id, &newer.id], &newer.ts).id
}
