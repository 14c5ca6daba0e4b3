//! The model: the expected records of each commit, independent of the code under test.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use muninn_team::records::{WithdrawnRecords, ordered};
use serde_json::Value;

use super::worktree::TestWorktree;

/// The archive of pruned records.
const PRUNED: &str = "archive/pruned.jsonl";

/// Record numbers, in order of acknowledgement.
pub(super) type Numbers = BTreeSet<usize>;

/// An acknowledged record.
pub(super) struct Acknowledged {
    pub(super) line: String,
    pub(super) segment: String,
}

/// The records that a commit must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Expected {
    pub(super) must: Numbers,
    /// Records that an earlier revert removed. They are optional, because git keeps the lines of both sides where two
    /// changes touch.
    pub(super) back: Numbers,
}

impl Expected {
    /// The expectation of a merge.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let back: Numbers = self.back.union(&other.back).copied().collect();
        let must = self.must.union(&other.must).copied();
        Self { must: must.filter(|number| !back.contains(number)).collect(), back }
    }
}

/// All acknowledged records, and the expectation of each commit.
#[derive(Default)]
pub(super) struct Model {
    pub(super) all: Vec<Acknowledged>,
    numbers: HashMap<String, usize>,
    pub(super) commits: HashMap<String, Expected>,
    /// Pruned records.
    pub(super) pruned: BTreeSet<String>,
    /// Ids of the decisions that a reverted commit added. A decision is written by the code under test.
    pub(super) taken_back: BTreeSet<String>,
    /// The last known records of each segment, by name.
    pub(super) segments: BTreeMap<String, Vec<usize>>,
}

impl Model {
    pub(super) fn acknowledge(&mut self, line: String, segment: &str) -> usize {
        let number = self.all.len();
        self.numbers.insert(line.clone(), number);
        let segment = segment.to_owned();
        self.all.push(Acknowledged { line, segment });
        number
    }

    pub(super) fn number(&self, line: &str) -> Option<usize> {
        self.numbers.get(line).copied()
    }

    pub(super) fn at(&self, commit: &str) -> Expected {
        self.commits[commit].clone()
    }

    /// The acknowledged records in a tree.
    pub(super) fn held(&self, tree: &WorktreeState) -> Numbers {
        tree.lines.iter().filter_map(|line| self.number(line)).collect()
    }

    /// The records that a commit added and removed, over all files.
    pub(super) fn changed_by(&self, desk: &TestWorktree, commit: &str) -> (Numbers, Numbers) {
        let mut more: BTreeMap<usize, i32> = BTreeMap::new();
        for line in changes(desk, commit).lines() {
            let number = self.number(line.get(1..).unwrap_or_default());
            let by = if line.starts_with('+') { 1 } else { -1 };
            number.into_iter().for_each(|number| *more.entry(number).or_default() += by);
        }
        let of = |wanted: &dyn Fn(i32) -> bool| {
            more.iter().filter(|(_, by)| wanted(**by)).map(|(number, _)| *number).collect()
        };
        (of(&|by| by > 0), of(&|by| by < 0))
    }
}

/// The lines that a commit added and removed, each after its sign.
fn changes(desk: &TestWorktree, commit: &str) -> String {
    let show = ["show", "--format=", "-U0", "--no-renames", commit, "--", ".muninn/memory"];
    desk.run(&show).unwrap()
}

/// The ids of the decisions that a commit added.
pub(super) fn decisions_of(desk: &TestWorktree, commit: &str) -> Vec<String> {
    let changes = changes(desk, commit);
    let added = changes.lines().filter_map(|line| line.strip_prefix('+'));
    let added = added.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    added.filter(|value| text(value, "type") == "decision").map(|value| text(&value, "id")).collect()
}

/// The parsed files of a worktree.
pub(super) struct WorktreeState {
    /// Lines of all files that can hold records.
    pub(super) lines: BTreeSet<String>,
    /// Lines of main and the archive.
    pub(super) reconciled: BTreeSet<String>,
    /// Lines of the archive.
    pub(super) pruned: BTreeSet<String>,
    /// Records of main by id.
    pub(super) main: BTreeMap<String, Value>,
    sessions: Vec<Value>,
    same: Vec<(String, String)>,
    apart: Vec<(String, String)>,
    groups: Vec<BTreeSet<String>>,
    /// Deleted or dropped records; their duplicates are dropped too.
    dropped: BTreeSet<String>,
    superseded: BTreeSet<String>,
    /// Records of reverted commits, as the code under test finds them.
    withdrawn: BTreeSet<String>,
    both: Vec<(String, String)>,
}

impl WorktreeState {
    pub(super) fn of(desk: &TestWorktree) -> Self {
        let files = desk.memory();
        let lines = |is_wanted: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
            let wanted = files.iter().filter(|(name, _)| is_wanted(name));
            wanted.flat_map(|(_, text)| text.lines().map(str::to_owned)).collect()
        };
        let values = |lines: &BTreeSet<String>| -> Vec<Value> {
            lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
        };
        let sessions = lines(&|name| name.starts_with("sessions/") && !name.starts_with("sessions/archive/"));
        let main = lines(&|name| name == "main.jsonl");
        let main = values(&main).into_iter().map(|value| (text(&value, "id"), value));
        let is_for_records =
            |name: &str| ["main.jsonl", "sessions/", PRUNED].iter().any(|start| name.starts_with(start));
        let mut tree = Self {
            lines: lines(&is_for_records),
            reconciled: lines(&|name| name == "main.jsonl" || name.starts_with(PRUNED)),
            pruned: lines(&|name| name.starts_with(PRUNED)),
            main: main.collect(),
            sessions: values(&sessions),
            same: Vec::new(),
            apart: Vec::new(),
            groups: Vec::new(),
            dropped: BTreeSet::new(),
            superseded: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            both: Vec::new(),
        };
        let withdrawn = WithdrawnRecords::of(&desk.home()).unwrap();
        tree.withdrawn = tree.main.keys().filter(|id| withdrawn.has(id)).cloned().collect();
        tree.decide();
        tree.join();
        tree
    }

    fn decide(&mut self) {
        let mut holding: BTreeMap<String, &Value> = BTreeMap::new();
        let mut conflicts = Vec::new();
        for value in self.main.values().chain(&self.sessions) {
            match text(value, "type").as_str() {
                "same" if ["kept", "folded"].iter().any(|side| self.withdrawn.contains(&text(value, side))) => {}
                // Links are followed in the order of their ids, whichever record is the newer one.
                "same" => self.same.push(ordered(&text(value, "kept"), &text(value, "folded"))),
                "conflict" => conflicts.push((text(value, "left"), text(value, "right"))),
                "tombstone" => drop(self.dropped.insert(text(value, "forget"))),
                "supersedes" if self.withdrawn.contains(&text(value, "newer")) => {}
                "supersedes" => {
                    self.superseded.insert(text(value, "older"));
                    self.apart.push((text(value, "older"), text(value, "newer")));
                }
                "decision" if self.withdrawn.contains(&text(value, "id")) => {}
                "decision" => {
                    let holds = holding.entry(text(value, "conflict")).or_insert(value);
                    if (text(holds, "ts"), text(holds, "id")) < (text(value, "ts"), text(value, "id")) {
                        *holds = value;
                    }
                }
                _ => {}
            }
        }
        let is_withdrawn = |id: &String| self.withdrawn.contains(id);
        holding.retain(|_, decision| {
            let keep = texts(decision, "keep");
            keep.is_empty() || !keep.iter().all(is_withdrawn)
        });
        for decision in holding.into_values() {
            self.dropped.extend(texts(decision, "drop"));
            if let [left, right] = texts(decision, "keep").as_slice() {
                self.both.push((left.clone(), right.clone()));
            }
            let all = [texts(decision, "keep"), texts(decision, "drop")].concat();
            if let [one, other] = all.as_slice() {
                self.apart.push((one.clone(), other.clone()));
            }
        }
        self.apart.extend(conflicts);
    }

    /// The group of an id.
    pub(super) fn alike(&self, id: &str) -> BTreeSet<String> {
        group(&self.groups, id)
    }

    fn join(&mut self) {
        self.same.sort();
        self.groups = self.joined();
    }

    /// Joins pairs in order, except those that would join separated records.
    fn joined(&self) -> Vec<BTreeSet<String>> {
        let mut groups: Vec<BTreeSet<String>> = Vec::new();
        for (one, other) in &self.same {
            let mut joined = group(&groups, one);
            joined.extend(group(&groups, other));
            if !self.apart.iter().any(|(one, other)| joined.contains(one) && joined.contains(other)) {
                groups.retain(|group| group.is_disjoint(&joined));
                groups.push(joined);
            }
        }
        groups
    }

    /// The lines of withdrawn records.
    pub(super) fn withdrawn(&self) -> impl Iterator<Item = &Value> {
        self.withdrawn.iter().map(|id| &self.main[id])
    }

    /// Returns whether a record is withdrawn or superseded, or its group deleted or dropped.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        let alike = group(&self.groups, id);
        self.withdrawn.contains(id) || self.superseded.contains(id) || alike.iter().any(|id| self.dropped.contains(id))
    }

    /// Returns whether a person kept both records.
    pub(super) fn keeps_both(&self, one: &str, other: &str) -> bool {
        let (one, other) = (group(&self.groups, one), group(&self.groups, other));
        let is =
            |a: &String, b: &String| (one.contains(a) && other.contains(b)) || (one.contains(b) && other.contains(a));
        self.both.iter().any(|(a, b)| is(a, b))
    }

    /// Learnings of main: id, letter, and form.
    pub(super) fn claims(&self) -> Vec<(&str, String, String)> {
        let learnings = self.main.iter().filter(|(_, value)| value["type"] == "learning");
        let claims = learnings.map(|(id, value)| {
            let said = text(value, "text");
            let mut words = said.split(' ').map(str::to_owned);
            let how = words.next().unwrap();
            (id.as_str(), words.next().unwrap(), how)
        });
        claims.collect()
    }
}

fn group(groups: &[BTreeSet<String>], id: &str) -> BTreeSet<String> {
    let group = groups.iter().find(|group| group.contains(id));
    group.cloned().unwrap_or_else(|| BTreeSet::from([id.to_owned()]))
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let texts = value[name].as_array().into_iter().flatten();
    texts.filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}
