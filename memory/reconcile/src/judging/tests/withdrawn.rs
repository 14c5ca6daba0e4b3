//! Records of reverted commits are withdrawn, with real git.

use std::collections::BTreeSet;

use muninn_base::Clock;
use muninn_recall::Memories;
use muninn_repo_tools::Worktree;
use muninn_team::fixture::Fixture;
use muninn_team::records::{Home, MAIN, SESSIONS};
use muninn_team::store::{DefaultBranchSegments, StoreSettings};
use muninn_team::{Store, history};

use super::by_letters;
use crate::{ReconcileOptions, Reconciled, SETUP, open_conflicts, reconcile};

struct Team {
    repo: Fixture,
    state: tempfile::TempDir,
}

impl Team {
    fn new() -> Self {
        let team = Self { repo: Fixture::with(&[("code.txt", "start\n")]), state: tempfile::tempdir().unwrap() };
        for (path, text) in SETUP {
            team.repo.write(path, text.as_bytes());
        }
        team.repo.commit();
        team
    }

    fn git(&self, arguments: &str) {
        self.repo.git(&arguments.split(' ').collect::<Vec<_>>());
    }

    /// A session on the current branch writes a record, and code, in one commit.
    fn learns(&self, id: &str, text: &str) {
        let line = format!(
            "{{\"id\":\"{id}\",\"ts\":\"2026-01-0{id}T00:00:00Z\",\"type\":\"learning\",\"text\":\"{text}\",\"session\":\"S{id}\"}}\n"
        );
        self.repo.write(&format!("{SESSIONS}/session_S{id}.0.jsonl"), line.as_bytes());
        self.repo.write(&format!("code{id}.txt"), id.as_bytes());
        self.repo.commit();
    }

    /// A branch from the current commit that learns one record.
    fn branch(&self, name: &str, id: &str, text: &str) {
        self.git(&format!("checkout -q -b {name}"));
        self.learns(id, text);
    }

    fn merge(&self, name: &str) {
        self.git("checkout -q main");
        self.git(&format!("merge -q --no-ff --no-edit {name}"));
        self.git(&format!("tag merged-{name}"));
    }

    fn reconcile(&self) -> Reconciled {
        let here = ReconcileOptions { here: true, ..ReconcileOptions::default() };
        let done = reconcile(&self.store(), here, &by_letters(), &mut |_| {}).unwrap();
        if !self.repo.git(&["status", "--porcelain"]).is_empty() {
            self.repo.commit();
        }
        done
    }

    fn revert_merge(&self, name: &str) {
        self.git(&format!("revert -m 1 --no-edit merged-{name}"));
    }

    fn store(&self) -> Store {
        self.store_at(&self.repo.path(""))
    }

    fn store_at(&self, root: &std::path::Path) -> Store {
        let home = Home::Repository(Worktree::discover(root).unwrap());
        // The sessions are of other people.
        let settings =
            StoreSettings { default_branch_segments: DefaultBranchSegments::All, ..StoreSettings::default() };
        Store::at(home, self.state.path(), settings, Clock::system())
    }

    fn recalled(&self) -> String {
        recalled(&self.store())
    }

    fn main(&self) -> String {
        std::fs::read_to_string(self.repo.path(MAIN)).unwrap()
    }
}

/// The ids of the recalled records.
fn recalled(store: &Store) -> String {
    let memories = Memories::load_from(store.home(), &store.files().unwrap().into(), None, None);
    let ids: BTreeSet<&str> = memories.items().iter().map(|item| item.source.as_str()).collect();
    ids.into_iter().collect::<Vec<_>>().join(" ")
}

/// A history in which the record 1 of a branch is merged and reconciled, and the record 9 was there before.
fn merged_and_reconciled() -> Team {
    let team = Team::new();
    team.learns("9", "is delta here");
    team.branch("one", "1", "is alpha here");
    team.merge("one");
    team.reconcile();
    assert_eq!(team.recalled(), "1 9");
    team
}

#[test]
fn reverting_a_merge_takes_its_records_back() {
    type Script = fn(&Team);
    let cases: [(&str, Script, &str); 22] = [
        ("the merge", |team| team.revert_merge("one"), "9"),
        ("the commit of the segment", |team| team.git("revert --no-edit one"), "9"),
        (
            "the revert",
            |team| {
                team.revert_merge("one");
                team.git("revert --no-edit HEAD");
            },
            "1 9",
        ),
        (
            "the revert of the revert",
            |team| {
                team.revert_merge("one");
                team.git("revert --no-edit HEAD");
                team.git("revert --no-edit HEAD");
            },
            "9",
        ),
        (
            "the merge, twice",
            |team| {
                team.revert_merge("one");
                team.git("revert --no-edit HEAD");
                team.revert_merge("one");
            },
            "9",
        ),
        ("the reconciliation", |team| team.git("revert --no-edit HEAD"), "1 9"),
        (
            "the reconciliation, and reconciled again",
            |team| {
                team.git("revert --no-edit HEAD");
                team.reconcile();
            },
            "1 9",
        ),
        (
            "the merge, and reconciled again",
            |team| {
                team.revert_merge("one");
                team.learns("2", "is bravo here");
                team.reconcile();
            },
            "2 9",
        ),
        (
            "one of two merges",
            |team| {
                team.git("checkout -q -b two merged-one~1");
                team.learns("2", "is bravo here");
                team.merge("two");
                team.reconcile();
                team.revert_merge("one");
            },
            "2 9",
        ),
        (
            "the merge through a branch of its own",
            |team| {
                team.git("checkout -q -b undo");
                team.revert_merge("one");
                team.git("checkout -q main");
                assert_eq!(team.recalled(), "1 9", "main has not reverted it");
                team.git("merge -q --no-ff --no-edit undo");
            },
            "9",
        ),
        (
            "the merge of the branch with the revert",
            |team| {
                team.git("checkout -q -b undo");
                team.revert_merge("one");
                team.merge("undo");
                team.revert_merge("undo");
            },
            "1 9",
        ),
        (
            "the merge, and picked again",
            |team| {
                team.revert_merge("one");
                team.git("cherry-pick one");
            },
            "1 9",
        ),
        (
            "the merge, picked again and reconciled",
            |team| {
                team.revert_merge("one");
                team.git("cherry-pick one");
                team.reconcile();
            },
            "1 9",
        ),
        (
            "the merge, and merged as a rebased branch",
            |team| {
                team.revert_merge("one");
                team.git("checkout -q -b again one");
                team.git("commit -q --amend --no-edit --date 2026-02-02T00:00:00Z");
                team.git("rebase -q --onto main again~1 again");
                team.merge("again");
                team.reconcile();
            },
            "1 9",
        ),
        (
            "the merge, on another branch",
            |team| {
                team.git("checkout -q -b release");
                team.revert_merge("one");
                team.git("checkout -q main");
            },
            "1 9",
        ),
        (
            "the revert as a picked commit",
            |team| {
                team.git("checkout -q -b release");
                team.git("checkout -q main");
                team.revert_merge("one");
                team.git("tag undo");
                team.git("checkout -q release");
                team.git("cherry-pick undo");
            },
            "9",
        ),
        (
            "a record by hand",
            |team| {
                team.learns("2", "is bravo here");
                team.reconcile();
                team.revert_merge("one");
            },
            "2 9",
        ),
        (
            "a line that a person wrote into main",
            |team| {
                let line = "{\"id\":\"3\",\"type\":\"learning\",\"text\":\"is charlie here\"}\n";
                team.repo.write(MAIN, (team.main() + line).as_bytes());
                team.repo.commit();
                team.revert_merge("one");
            },
            "3 9",
        ),
        (
            "an unrelated commit",
            |team| {
                team.repo.write("code.txt", b"other\n");
                team.repo.commit();
                team.git("revert --no-edit HEAD");
            },
            "1 9",
        ),
        (
            "a commit that the history lacks",
            |team| {
                team.repo.write("code.txt", b"other\n");
                team.git("commit -q -a -m This\u{a0}reverts");
                let [short, long] = [4, 6].map(|times| "1234567890".repeat(times));
                let message = format!("Undo\n\nThis reverts commit {short}.\nThis reverts commit {long}1234.");
                team.repo.git(&["commit", "-q", "--amend", "-m", &message]);
            },
            "1 9",
        ),
        (
            "words about a revert",
            |team| {
                let merge = team.repo.git(&["rev-parse", "merged-one"]);
                let message = format!("Note\n\nNobody says: This reverts commit {}.", merge.trim());
                team.repo.git(&["commit", "-q", "--allow-empty", "-m", &message]);
            },
            "1 9",
        ),
        (
            "two commits in one",
            |team| {
                team.git("checkout -q -b two");
                team.learns("2", "is bravo here");
                team.merge("two");
                team.reconcile();
                let ids = ["merged-one", "merged-two"].map(|name| team.repo.git(&["rev-parse", name]));
                team.git("rm -q code1.txt code2.txt");
                let message =
                    format!("Undo\n\nThis reverts commit {}.\nThis reverts commit {}.", ids[0].trim(), ids[1].trim());
                team.repo.git(&["commit", "-q", "-m", &message]);
            },
            "9",
        ),
    ];
    for (reverted, script, expected) in cases {
        let team = merged_and_reconciled();
        script(&team);
        assert_eq!(team.recalled(), expected, "reverted: {reverted}");
        let before = team.main();
        team.reconcile();
        assert_eq!(team.recalled(), expected, "reverted: {reverted}; reconciled");
        assert!(before.lines().all(|line| team.main().contains(line)), "no line is removed: {reverted}");
    }
}

#[test]
fn reverting_before_reconciling_and_reconciling_on_a_branch() {
    // The revert removes the segment itself.
    let team = Team::new();
    team.learns("9", "is delta here");
    team.branch("one", "1", "is alpha here");
    team.merge("one");
    team.revert_merge("one");
    team.reconcile();
    assert_eq!(team.recalled(), "9");
    // The branch was reconciled; others reconciled since the merge, so git keeps the lines of both sides.
    let team = Team::new();
    team.learns("9", "is delta here");
    team.branch("one", "1", "is alpha here");
    team.reconcile();
    team.merge("one");
    team.learns("2", "is bravo here");
    team.reconcile();
    team.git("-c merge.renames=false revert -m 1 --no-edit merged-one");
    assert_eq!(team.recalled(), "2 9");
    team.git("revert --no-edit HEAD");
    assert_eq!(team.recalled(), "1 2 9");
}

#[test]
fn reverting_a_squashed_or_rebased_branch_takes_its_records_back() {
    let team = Team::new();
    team.learns("9", "is delta here");
    team.branch("one", "1", "is alpha here");
    team.git("checkout -q main");
    team.git("merge -q --squash one");
    team.git("commit -q -m squashed");
    team.git("tag squashed");
    team.reconcile();
    team.git("revert --no-edit squashed");
    assert_eq!(team.recalled(), "9");
    let team = Team::new();
    team.branch("one", "1", "is alpha here");
    team.git("checkout -q main");
    team.learns("9", "is delta here");
    team.git("rebase -q main one");
    team.git("checkout -q main");
    team.git("merge -q --ff-only one");
    team.reconcile();
    team.git("revert --no-edit one");
    assert_eq!(team.recalled(), "9");
    // A picked segment is on main by itself, so its merge brings nothing.
    let team = Team::new();
    team.branch("one", "1", "is alpha here");
    team.git("checkout -q main");
    team.learns("9", "is delta here");
    team.git("cherry-pick one");
    team.git("checkout -q one");
    team.learns("2", "is bravo here");
    team.merge("one");
    team.reconcile();
    team.revert_merge("one");
    assert_eq!(team.recalled(), "1 9");
}

#[test]
fn records_stay_where_the_history_does_not_tell() {
    let team = merged_and_reconciled();
    team.revert_merge("one");
    let url = format!("file://{}", team.repo.root().display());
    for (name, arguments, expected) in
        [("whole", vec![], "9"), ("shallow", vec!["--depth=1"], "1 9"), ("shallower", vec!["--depth=3"], "1 9")]
    {
        let clone = [&["clone", "-q"], &arguments[..], &[&url, name]].concat();
        team.repo.git(&clone);
        let store = team.store_at(&team.repo.path(name));
        assert_eq!(recalled(&store), expected, "{name}");
    }
}

#[test]
fn decisions_about_withdrawn_records_have_no_effect() {
    // A duplicate, and a contradiction of the same author about the same subject.
    let team = Team::new();
    team.learns("3", "is alpha here");
    team.learns("4", "not bravo here");
    team.branch("one", "5", "is alpha here");
    team.learns("6", "is bravo here");
    team.merge("one");
    team.reconcile();
    assert_eq!(team.recalled(), "4 5 6");
    assert_eq!(open_conflicts(team.store().home()).unwrap().len(), 1);
    team.revert_merge("one");
    assert_eq!(team.recalled(), "3 4", "the older duplicate stands for itself again");
    assert!(open_conflicts(team.store().home()).unwrap().is_empty());
    let done = team.reconcile();
    assert_eq!((done.withdrawn, done.summary.open), (2, 0));
    let events = history(&team.store(), "6").unwrap();
    assert!(events.iter().any(|event| event.text.ends_with("was reverted)")), "{events:?}");
    team.git("revert --no-edit HEAD~1");
    assert_eq!(team.recalled(), "4 5 6");
    assert_eq!(open_conflicts(team.store().home()).unwrap().len(), 1);
}

impl Team {
    fn id_of(&self, name: &str) -> String {
        self.repo.git(&["rev-parse", name]).trim().to_owned()
    }

    /// Commits all changes with a message that names a commit in git's words.
    fn states_revert_of(&self, name: &str) {
        let message = format!("Tidy\n\nThis reverts commit {}.", self.id_of(name));
        self.git("add -A");
        self.repo.git(&["commit", "-q", "--allow-empty", "-m", &message]);
    }
}

#[test]
fn revert_counts_only_where_its_own_changes_take_something_back() {
    type Script = fn(&Team);
    let cases: [(&str, Script, &str); 14] = [
        ("an empty commit", |team| team.states_revert_of("merged-one"), "1 9"),
        (
            "another file is added",
            |team| {
                team.repo.write("typo.txt", b"typo");
                team.states_revert_of("merged-one");
            },
            "1 9",
        ),
        (
            "a file of the commit is edited",
            |team| {
                team.repo.write("code1.txt", b"1, and more");
                team.states_revert_of("merged-one");
            },
            "1 9",
        ),
        (
            "another file is removed",
            |team| {
                team.git("rm -q code9.txt");
                team.states_revert_of("merged-one");
            },
            "1 9",
        ),
        (
            "the file was removed before",
            |team| {
                team.git("rm -q code1.txt");
                team.git("commit -q -m removed");
                team.repo.write("typo.txt", b"typo");
                team.states_revert_of("merged-one");
            },
            "1 9",
        ),
        (
            "the branch of the commit, merged with its words",
            |team| {
                team.git("checkout -q -b eve");
                team.repo.write("typo.txt", b"typo");
                team.git("add -A");
                team.git("commit -q -m typo");
                team.git("checkout -q main");
                let message = format!("Merge\n\nThis reverts commit {}.", team.id_of("merged-one"));
                team.repo.git(&["merge", "-q", "--no-ff", "-m", &message, "eve"]);
            },
            "1 9",
        ),
        (
            "squashed with its reapplication",
            |team| {
                team.git("checkout -q -b fix");
                team.revert_merge("one");
                team.git("revert --no-edit HEAD");
                team.git("checkout -q main");
                team.git("merge -q --squash fix");
                team.states_revert_of("merged-one");
            },
            "1 9",
        ),
        (
            "rebased with its reapplication",
            |team| {
                team.git("checkout -q -b fix");
                team.revert_merge("one");
                team.git("revert --no-edit HEAD");
                team.git("checkout -q main");
                team.repo.write("other.txt", b"other");
                team.repo.commit();
                team.git("rebase -q main fix");
                team.git("checkout -q main");
                team.git("merge -q --ff-only fix");
            },
            "1 9",
        ),
        (
            "a thousand lines name a harmless commit afterwards",
            |team| {
                team.revert_merge("one");
                let harmless = team.id_of("merged-one~1");
                let message = format!("x\n\n{}", format!("This reverts commit {harmless}.\n").repeat(1_001));
                team.repo.write("message", message.as_bytes());
                team.git("commit -q --allow-empty -F message");
                std::fs::remove_file(team.repo.path("message")).unwrap();
            },
            "9",
        ),
        ("with abbreviated ids", |team| team.git("-c revert.reference=true revert -m 1 --no-edit merged-one"), "9"),
        (
            "the file was moved",
            |team| {
                team.git("mv code1.txt moved.txt");
                team.git("commit -q -m moved");
                team.git("rm -q moved.txt");
                team.states_revert_of("one");
            },
            "9",
        ),
        (
            "squashed by a forge",
            |team| {
                team.git("rm -q code1.txt");
                let [merge, side] = ["merged-one", "merged-one^1"].map(|name| team.id_of(name));
                let message = format!(
                    "Undo (#2)\n\n* Revert\n\n  This reverts commit {merge}, reversing\n  changes made to {side}.\n\n* tidy"
                );
                team.repo.git(&["commit", "-q", "-m", &message]);
            },
            "9",
        ),
        (
            "only one of the changes",
            |team| {
                team.git("rm -q code1.txt");
                team.states_revert_of("one");
            },
            "9",
        ),
        (
            "reverted, and the file written anew by hand",
            |team| {
                team.revert_merge("one");
                team.repo.write("code1.txt", b"other content");
                team.repo.commit();
            },
            "9",
        ),
    ];
    for (change, script, expected) in cases {
        let team = merged_and_reconciled();
        script(&team);
        assert_eq!(team.recalled(), expected, "{change}");
        team.reconcile();
        assert_eq!(team.recalled(), expected, "{change}; reconciled");
    }
}

#[test]
fn revert_of_a_change_in_a_file_that_was_edited_since_counts() {
    let team = Team::new();
    let lines = |change: &str| format!("one\n{change}two\nthree\nfour\nfive\nsix\nseven\n");
    team.repo.write("code.txt", lines("").as_bytes());
    team.learns("9", "is delta here");
    team.git("checkout -q -b one");
    team.repo.write("code.txt", lines("1\n").as_bytes());
    team.learns("1", "is alpha here");
    team.git("rm -q code1.txt");
    team.git("commit -q --amend --no-edit");
    team.merge("one");
    team.reconcile();
    team.repo.write("code.txt", (lines("1\n") + "eight\n").as_bytes());
    team.repo.commit();
    assert_eq!(team.recalled(), "1 9");
    team.revert_merge("one");
    assert_eq!(team.recalled(), "9");
    team.git("revert --no-edit HEAD");
    assert_eq!(team.recalled(), "1 9");
}

#[test]
fn commit_that_brought_only_memories_is_reverted_after_its_reconciliation() {
    let team = Team::new();
    team.learns("9", "is delta here");
    team.git("checkout -q -b one");
    team.learns("1", "is alpha here");
    team.git("rm -q code1.txt");
    team.git("commit -q --amend --no-edit");
    team.merge("one");
    team.reconcile();
    team.states_revert_of("merged-one");
    assert_eq!(team.recalled(), "1 9", "an empty commit takes nothing back");
    team.git("revert --no-edit HEAD~1");
    team.revert_merge("one");
    assert_eq!(team.recalled(), "9");
    team.reconcile();
    assert_eq!(team.recalled(), "9");
}

/// One walk of the history serves all reverts, and a commit counts once however often a message names it.
#[test]
fn message_with_many_reverts_in_a_long_history_takes_little_time() {
    use std::fmt::Write as _;
    let team = merged_and_reconciled();
    let merge = team.id_of("merged-one");
    team.git("rm -q code1.txt");
    let message = format!("x\n\n{}", format!("This reverts commit {merge}.\n").repeat(900));
    team.repo.write("message", message.as_bytes());
    team.git("commit -q -F message");
    let head = team.id_of("HEAD");
    let mut stream = String::new();
    for number in 0..3_000 {
        let from = if number == 0 { format!("from {head}\n") } else { String::new() };
        let time = 1_795_860_000 + number;
        writeln!(stream, "commit refs/heads/main\ncommitter E <e@x> {time} +0000\ndata 2\nx\n{from}M 100644 inline f\ndata 4\n{number:04}").unwrap();
    }
    team.repo.write("stream", stream.as_bytes());
    let import = format!("!git fast-import --quiet --force < {}", team.repo.path("stream").display());
    team.repo.git(&["-c", &format!("alias.import={import}"), "import"]);
    // Without a bound, this takes minutes.
    assert_eq!(team.recalled(), "9");
}
