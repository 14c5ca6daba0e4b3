//! The end of a history: all branches are merged in two orders, with the same result.

use std::collections::BTreeMap;

use muninn_team::records::{Body, CONFLICTS, MAIN, Record, kinds};

use super::super::{by_letters, lines};
use super::check;
use super::runner::HistoryRunner;
use super::worktree::TestWorktree;
use crate::{PlanInput, Segment, plan, reconcile};

/// Steps after which git can keep or drop a line, depending on the order of merges.
const TAKES_LINES: [&str; 3] = ["revert", "prune", "crash"];
/// Steps of people who decided on partial information.
const DECIDES: [&str; 2] = ["resolve", "forget"];

impl HistoryRunner {
    /// Returns whether the result could be compared with that of one person.
    pub(super) fn end(&mut self) -> bool {
        let [mut one, mut other] = [("end0", false), ("end1", true)].map(|(name, turned)| {
            let desk = self.team.another(name);
            self.gather(&desk, turned);
            desk
        });
        let did = |names: &[&str]| names.iter().any(|name| self.done.contains_key(name));
        let is_alike = records(&one) == records(&other);
        assert!(is_alike || did(&TAKES_LINES), "two orders of merging\n{:#?}\n{:#?}", one.memory(), other.memory());
        for desk in [&mut one, &mut other] {
            reconcile(&desk.store(), check::here(), &by_letters(), &mut |_| {}).unwrap();
            let expected = self.model.at(&desk.head());
            check::tree(desk, &self.model, &expected);
            check::reconciled(desk, &self.model, &expected);
        }
        if is_alike {
            let alike = [&one, &other].map(|desk| {
                let (mut files, mut records) = (desk.memory(), records(desk));
                // A run that adds nothing leaves these files in merge order.
                for archive in ["archive/pruned.jsonl", "sessions/archive/sessions.jsonl"] {
                    files.remove(archive);
                }
                // The log holds lengths, which include branch names in merge markers.
                files.remove("reconciled.jsonl");
                let log = records.remove("reconciled.jsonl").unwrap_or_default();
                (files, records, segments(&log))
            });
            assert_eq!(alike[0], alike[1], "two orders of merging, reconciled");
            assert_eq!(check::seen(&one), check::seen(&other));
        }
        let comparable = !did(&TAKES_LINES) && !did(&DECIDES);
        if comparable {
            self.compare(&one);
        }
        comparable
    }

    /// Merges all branches of all people into the default branch.
    fn gather(&mut self, desk: &TestWorktree, turned: bool) {
        let branches = desk.run(&["for-each-ref", "--format=%(refname)", "refs/remotes"]).unwrap();
        let mut branches: Vec<&str> = branches.lines().filter(|name| !name.ends_with("/HEAD")).collect();
        if turned {
            branches.reverse();
        }
        for branch in branches {
            let there = desk.run(&["rev-parse", branch]).unwrap();
            let expected = self.model.at(&desk.head()).merged(&self.model.at(there.trim()));
            let went_well = desk.run(&["merge", "-q", "--no-edit", branch]).is_some();
            assert!(desk.finish(went_well), "{branch} is merged");
            check::tree(desk, &self.model, &expected);
            self.model.commits.insert(desk.head(), expected);
        }
    }

    /// Compares with one reconciliation of all segments on one branch.
    fn compare(&self, desk: &TestWorktree) {
        let segments = self.model.segments.iter().map(|(name, numbers)| {
            let records = numbers.iter().map(|number| Record::parse(&self.model.all[*number].line).unwrap());
            Segment { name: name.clone(), bytes: 1, records: records.collect() }
        });
        let before = PlanInput { segments: segments.collect(), ..PlanInput::default() };
        let alone = plan(&before, &by_letters());
        let of = |path: &str| -> Vec<String> { desk.read(path).lines().map(str::to_owned).collect() };
        assert_eq!(of(MAIN), lines(&alone.main), "main equals one person's result");
        assert_eq!(of(CONFLICTS), lines(&alone.conflicts), "open conflicts equal one person's result");
    }
}

/// The segment names in a log, with repetitions.
fn segments(log: &[String]) -> Vec<String> {
    let records = log.iter().map(|line| Record::parse(line).unwrap());
    let mut names: Vec<String> = records
        .filter_map(|record| match record.body {
            Body::Reconciled(kinds::Reconciled { segment, .. }) => Some(segment),
            _ => None,
        })
        .collect();
    names.sort();
    names
}

/// The sorted lines of each file.
fn records(desk: &TestWorktree) -> BTreeMap<String, Vec<String>> {
    let sorted = |text: &String| {
        let marks = ["<<<<<<<", "=======", ">>>>>>>"];
        let is_mark = |line: &str| marks.iter().any(|mark| line.starts_with(mark));
        let mut lines: Vec<String> = text.lines().filter(|line| !is_mark(line)).map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        lines
    };
    desk.memory().iter().map(|(name, text)| (name.clone(), sorted(text))).collect()
}
