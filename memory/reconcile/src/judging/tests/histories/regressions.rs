//! Histories that once failed.

use parking_lot::Mutex;

use super::actions::{Action, RunOptions, Statement, Step};
use super::{Tally, play};

fn plays(history: &[Step]) {
    let tally = Mutex::default();
    play(history, &tally);
    let Tally { steps, .. } = tally.into_inner();
    assert_eq!(steps.values().sum::<usize>(), history.len(), "each step must be possible: {steps:?}");
}

fn step(who: usize, action: Action) -> Step {
    Step { who, action }
}

/// Statements about the first letter.
fn says(who: usize, said: &[(&'static str, usize)]) -> Step {
    let said = said.iter().map(|(how, voice)| Statement { letter: 0, how, voice: *voice });
    let said = said.collect();
    step(who, Action::Append { said, grows: false })
}

/// A statement that is added to the last segment.
fn grows(who: usize, how: &'static str) -> Step {
    let said = vec![Statement { letter: 0, how, voice: 0 }];
    step(who, Action::Append { said, grows: true })
}

fn reconciles(who: usize) -> Step {
    step(who, Action::Reconcile { how: RunOptions::default() })
}

#[test]
fn emptied_sessions_folder_is_not_a_rename() {
    plays(&[says(1, &[("is", 0)]), reconciles(1), says(0, &[("is", 0)])]);
}

#[test]
fn lines_added_after_archiving_are_reconciled() {
    let archive = RunOptions { archive: true, ..RunOptions::default() };
    plays(&[
        says(1, &[("is", 0)]),
        step(1, Action::ForgeMerge),
        step(2, Action::Update),
        step(2, Action::Reconcile { how: archive }),
        grows(1, "not"),
    ]);
}

#[test]
fn main_records_without_a_session_are_compared() {
    let how = RunOptions::default();
    plays(&[
        says(1, &[("is", 0)]),
        says(0, &[("not", 0)]),
        reconciles(0),
        // Main has the session's records without a log entry, because the run is reverted before its end.
        step(1, Action::Crash { how, after: 2, commit: true }),
        step(1, Action::Revert { which: 1 }),
    ]);
}

#[test]
fn lines_added_after_two_archivings_are_kept() {
    let archive = RunOptions { archive: true, ..RunOptions::default() };
    plays(&[
        says(0, &[("is", 0)]),
        step(0, Action::Pull),
        step(1, Action::Update),
        step(1, Action::Note { kind: 0 }),
        step(0, Action::Reconcile { how: archive }),
        step(1, Action::Reconcile { how: archive }),
        grows(0, "not"),
        step(1, Action::ForgeMerge),
        step(0, Action::Update),
    ]);
}

#[test]
fn lines_added_after_a_picked_archiving_are_kept() {
    let archive = RunOptions { archive: true, ..RunOptions::default() };
    plays(&[
        says(1, &[("is", 0)]),
        reconciles(1),
        says(0, &[("is", 0)]),
        step(0, Action::Pull),
        step(0, Action::Reconcile { how: archive }),
        grows(0, "is"),
        step(2, Action::Merge { which: 2 }),
        step(2, Action::Pull),
        step(1, Action::Update),
        step(1, Action::CherryPick { branch: 0, which: 1 }),
    ]);
}

#[test]
fn lines_added_after_pruning_are_kept() {
    let how = RunOptions { quarters: Some(0), ..RunOptions::default() };
    plays(&[
        says(1, &[("is", 0), ("is", 0)]),
        step(1, Action::ForgeMerge),
        step(2, Action::Update),
        step(2, Action::Reconcile { how }),
        grows(1, "not"),
    ]);
}

#[test]
fn run_killed_while_pruning_keeps_records() {
    let how = RunOptions { quarters: Some(0), ..RunOptions::default() };
    for after in 1..=16 {
        let commit = false;
        plays(&[
            says(1, &[("is", 0), ("is", 0)]),
            step(1, Action::Note { kind: 0 }),
            step(1, Action::Crash { how, after, commit }),
        ]);
    }
}

#[test]
fn claim_similar_to_both_sides_does_not_join_them() {
    plays(&[says(0, &[("is", 0), ("any", 0), ("not", 0)]), reconciles(0)]);
    // The claim similar to both sides comes first, and each side is reconciled on its own branch.
    plays(&[
        says(2, &[("any", 0)]),
        reconciles(2),
        step(2, Action::ForgeMerge),
        step(0, Action::Update),
        step(1, Action::Update),
        says(0, &[("is", 0)]),
        reconciles(0),
        says(1, &[("not", 0)]),
        reconciles(1),
    ]);
}

#[test]
fn reverted_resolution_is_withdrawn() {
    let resolves = |keep| step(2, Action::Resolve { which: 0, keep });
    plays(&[
        says(2, &[("not", 0), ("is", 0)]),
        reconciles(2),
        resolves(1),
        step(2, Action::Revert { which: 1 }),
        says(2, &[("not", 0)]),
        reconciles(2),
        resolves(0),
        step(2, Action::Revert { which: 4 }),
    ]);
}

#[test]
fn record_of_a_reverted_resolution_is_compared_with_later_ones() {
    let resolves = |keep| step(0, Action::Resolve { which: 0, keep });
    plays(&[
        says(0, &[("not", 0), ("is", 0)]),
        reconciles(0),
        resolves(1),
        says(0, &[("not", 0)]),
        reconciles(0),
        resolves(0),
        says(1, &[("is", 0)]),
        step(0, Action::Revert { which: 3 }),
        step(0, Action::Forget { which: 5 }),
    ]);
}
