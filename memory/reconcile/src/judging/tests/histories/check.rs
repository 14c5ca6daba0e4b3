//! The invariants.

use std::collections::{BTreeMap, BTreeSet};

use muninn_recall::Memories;
use muninn_team::memories::MemoryKind;

use super::super::by_letters;
use super::model::{Expected, Model, WorktreeState};
use super::worktree::TestWorktree;
use crate::{ReconcileOptions, open_conflicts, reconcile};

/// What a user sees: recalled records and open conflicts.
pub(super) type VisibleState = (BTreeSet<String>, Vec<String>);

pub(super) fn memories(desk: &TestWorktree) -> Memories {
    Memories::load_from(&desk.home(), &desk.store().files().unwrap().into(), None, None)
}

pub(super) fn seen(desk: &TestWorktree) -> VisibleState {
    let recalled = memories(desk)
        .items()
        .iter()
        .filter(|item| item.kind == MemoryKind::Record)
        .map(|item| item.source.clone())
        .collect();
    let open = open_conflicts(&desk.home()).unwrap().into_iter().flat_map(|open| open.pairs).map(|pair| pair.id);
    (recalled, open.collect())
}

/// After each step: nothing is lost, and no deleted record is recalled.
pub(super) fn tree(desk: &TestWorktree, model: &Model, expected: &Expected) {
    let tree = WorktreeState::of(desk);
    let held = model.held(&tree);
    if let Some(lost) = expected.must.difference(&held).next() {
        let lost = &model.all[*lost];
        panic!("lost: {} of {}\n{:#?}", lost.line, lost.segment, desk.memory());
    }
    for value in tree.withdrawn() {
        let number = (0..model.all.len()).find(|number| model.all[*number].line.contains(&value["id"].to_string()));
        let is_back = match number {
            Some(number) => expected.back.contains(&number),
            None => value["id"].as_str().is_some_and(|id| model.taken_back.contains(id)),
        };
        assert!(is_back, "not reverted: {value}\n{:#?}", desk.memory());
    }
    let strays = tree.pruned.difference(&model.pruned);
    let strays: Vec<_> = strays.filter(|line| model.number(line).is_some()).collect();
    assert!(strays.is_empty(), "never pruned: {strays:#?}\n{:#?}", desk.memory());
    let mut recalled: BTreeMap<String, String> = BTreeMap::new();
    for id in seen(desk).0 {
        assert!(!tree.is_gone(&id), "{id} came back\n{:#?}", desk.memory());
        let first = tree.alike(&id).first().cloned().unwrap();
        if let Some(twice) = recalled.insert(first, id.clone()) {
            panic!("{id} and {twice} say the same\n{:#?}", desk.memory());
        }
    }
    for (id, ..) in tree.claims() {
        let is_recalled = tree.alike(id).first().is_some_and(|first| recalled.contains_key(first));
        assert!(is_recalled || tree.is_gone(id), "{id} is in main and not recalled\n{:#?}", desk.memory());
    }
}

/// After a run: all records are in main, no contradiction is hidden, and another run changes nothing.
pub(super) fn reconciled(desk: &TestWorktree, model: &Model, expected: &Expected) {
    let tree = WorktreeState::of(desk);
    for number in &expected.must {
        let said = &model.all[*number];
        assert!(
            tree.reconciled.contains(&said.line),
            "not in main: {} of {}\n{:#?}",
            said.line,
            said.segment,
            desk.memory()
        );
    }
    contradictions(desk, &tree);
    let before = desk.memory();
    let again = reconcile(&desk.store(), here(), &by_letters(), &mut |_| {}).unwrap();
    assert_eq!(desk.memory(), before, "a second run changes nothing");
    let summary = again.summary;
    assert_eq!((summary.consolidated, summary.duplicates, summary.undecided, summary.conflicts), (0, 0, 0, 0));
    assert_eq!((again.segments.len(), again.notes), (0, Vec::new()));
}

pub(super) fn here() -> ReconcileOptions {
    ReconcileOptions { here: true, ..ReconcileOptions::default() }
}

/// Each contradiction of valid records is in an open conflict or resolved, and none is inside a group of duplicates.
fn contradictions(desk: &TestWorktree, tree: &WorktreeState) {
    let open = open_conflicts(&desk.home()).unwrap();
    let memories = memories(desk);
    let item = |id: &str| {
        let alike = tree.alike(id);
        memories.items().iter().find(|item| alike.contains(&item.source))
    };
    let mut pairs = BTreeSet::new();
    for conflict in open.iter().flat_map(|open| &open.pairs) {
        let (left_id, right_id) = conflict.sides().unwrap();
        let (left, right) = (tree.alike(left_id), tree.alike(right_id));
        assert!(!tree.keeps_both(left_id, right_id), "a resolved conflict is open again: {conflict:?}");
        let items = [item(left_id), item(right_id)];
        for item in items {
            assert!(
                item.is_some_and(|item| item.contested.is_some()),
                "not marked: {conflict:?} {item:?}\n{:#?}",
                desk.memory()
            );
        }
        pairs.insert((left.first().cloned(), right.first().cloned()));
    }
    let claims = tree.claims();
    for (at, (one, letter, how)) in claims.iter().enumerate() {
        for (other, of_letter, is_how) in &claims[at + 1..] {
            if letter != of_letter || how == is_how || [how, is_how].contains(&&"any".to_owned()) {
                continue;
            }
            let (left, right) = (tree.alike(one), tree.alike(other));
            assert_ne!(left, right, "{one} and {other} are merged\n{:#?}", desk.memory());
            let (left, right) = (left.first().cloned(), right.first().cloned());
            let is_open = pairs.contains(&(left.clone(), right.clone())) || pairs.contains(&(right, left));
            let is_settled = tree.is_gone(one) || tree.is_gone(other) || tree.keeps_both(one, other);
            assert!(is_open || is_settled, "{one} and {other}: the contradiction is hidden\n{:#?}", desk.memory());
        }
    }
}
