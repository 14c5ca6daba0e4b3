//! Random actions of people.

use proptest::prelude::*;

/// Number of people. The last one works in a linked worktree of the first one's repository.
pub(super) const PEOPLE: usize = 3;
/// Branch names, default branch first.
pub(super) const BRANCHES: [&str; 3] = ["main", "one", "two"];

/// A person's action. Indices are taken modulo the number of choices.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) who: usize,
    pub(super) action: Action,
}

#[derive(Debug, Clone)]
pub(super) enum Action {
    /// A session writes a segment, or extends its last one, and commits it.
    Append {
        said: Vec<Statement>,
        grows: bool,
    },
    /// A record without a claim: a hit, a pattern or a summary.
    Note {
        kind: usize,
    },
    /// Deletes a recalled record, as `muninn forget` does.
    Forget {
        which: usize,
    },
    /// Checks out a branch, and creates it if it is missing.
    Checkout {
        branch: usize,
    },
    /// Merges an unmerged branch.
    Merge {
        which: usize,
    },
    /// Rebases onto the default branch, the forge's or the local one.
    Rebase {
        theirs: bool,
    },
    /// Picks a commit of an unmerged branch.
    CherryPick {
        branch: usize,
        which: usize,
    },
    Revert {
        which: usize,
    },
    Reconcile {
        how: RunOptions,
    },
    /// A run that is killed after a number of steps; its files are committed or left.
    Crash {
        how: RunOptions,
        after: usize,
        commit: bool,
    },
    Resolve {
        which: usize,
        keep: usize,
    },
    /// Fetches, merges the forge's version of the branch, and pushes.
    Pull,
    /// Fetches and merges the forge's default branch.
    Update,
    /// Pushes the branch; the forge merges it into its default branch, ignoring our attributes.
    ForgeMerge,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunOptions {
    pub(super) archive: bool,
    pub(super) dry_run: bool,
    /// Limit of main, in quarters of its size.
    pub(super) quarters: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    pub(super) letter: usize,
    /// `is`, `not`, or `any`, which agrees with both.
    pub(super) how: &'static str,
    /// The author, with the letter as the subject; none if 0.
    pub(super) voice: usize,
}

impl Action {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Append { grows: true, .. } => "grow",
            Self::Append { .. } => "append",
            Self::Note { .. } => "note",
            Self::Forget { .. } => "forget",
            Self::Checkout { .. } => "checkout",
            Self::Merge { .. } => "merge",
            Self::Rebase { .. } => "rebase",
            Self::CherryPick { .. } => "cherry-pick",
            Self::Revert { .. } => "revert",
            Self::Reconcile { how } if how.dry_run => "dry run",
            Self::Reconcile { how } if how.quarters.is_some() => "prune",
            Self::Reconcile { how } if how.archive => "reconcile --archive",
            Self::Reconcile { .. } => "reconcile",
            Self::Crash { .. } => "crash",
            Self::Resolve { .. } => "resolve",
            Self::Pull => "pull",
            Self::Update => "update",
            Self::ForgeMerge => "forge merge",
        }
    }
}

/// All values of [`Action::name`].
pub(super) const NAMES: [&str; 18] = [
    "append", "grow", "note", "forget", "checkout", "merge", "rebase", "cherry-pick", "revert", "dry run", "prune",
    "reconcile --archive", "reconcile", "crash", "resolve", "update", "pull", "forge merge",
];

/// Histories of up to some 35 steps.
pub(super) fn histories() -> impl Strategy<Value = Vec<Step>> {
    let one = (0..PEOPLE, actions()).prop_map(|(who, action)| vec![Step { who, action }]);
    // A rare sequence: a person finds a contradiction and resolves it.
    let settled = (0..PEOPLE, append(), 0..8usize, 0..3usize).prop_map(|(who, append, which, keep)| {
        let how = RunOptions::default();
        let actions = [append, Action::Reconcile { how }, Action::Resolve { which, keep }];
        actions.into_iter().map(|action| Step { who, action }).collect()
    });
    let parts = prop::collection::vec(prop_oneof![12 => one, 1 => settled], 1..=30);
    parts.prop_map(|parts: Vec<Vec<Step>>| parts.concat())
}

fn append() -> impl Strategy<Value = Action> {
    (prop::collection::vec(said(), 1..=4), prop::bool::weighted(0.25))
        .prop_map(|(said, grows)| Action::Append { said, grows })
}

fn actions() -> impl Strategy<Value = Action> {
    let which = 0..8usize;
    let branch = 0..BRANCHES.len();
    prop_oneof![
        8 => append(),
        1 => (0..3usize).prop_map(|kind| Action::Note { kind }),
        1 => which.clone().prop_map(|which| Action::Forget { which }),
        2 => branch.prop_map(|branch| Action::Checkout { branch }),
        4 => which.clone().prop_map(|which| Action::Merge { which }),
        1 => any::<bool>().prop_map(|theirs| Action::Rebase { theirs }),
        2 => (which.clone(), which.clone()).prop_map(|(branch, which)| Action::CherryPick { branch, which }),
        3 => which.clone().prop_map(|which| Action::Revert { which }),
        6 => how().prop_map(|how| Action::Reconcile { how }),
        2 => (how(), 1..16usize, any::<bool>()).prop_map(|(how, after, commit)| Action::Crash { how, after, commit }),
        5 => (which, 0..3usize).prop_map(|(which, keep)| Action::Resolve { which, keep }),
        4 => Just(Action::Pull),
        4 => Just(Action::Update),
        4 => Just(Action::ForgeMerge),
    ]
}

fn how() -> impl Strategy<Value = RunOptions> {
    let quarters = prop_oneof![5 => Just(None), 1 => (0..4u64).prop_map(Some)];
    (prop::bool::weighted(0.25), prop::bool::weighted(0.1), quarters)
        .prop_map(|(archive, dry_run, quarters)| RunOptions { archive, dry_run, quarters })
}

fn said() -> impl Strategy<Value = Statement> {
    let letter = prop_oneof![2 => Just(0), 2 => Just(1), 1 => 2..4usize];
    let how = prop_oneof![6 => Just("is"), 6 => Just("not"), 1 => Just("any")];
    (letter, how, 0..3usize).prop_map(|(letter, how, voice)| Statement { letter, how, voice })
}
