//! Runs a history.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use muninn_team::records::{MAIN, SESSIONS};

use super::super::by_letters;
use super::actions::{Action, BRANCHES, PEOPLE, RunOptions, Statement, Step};
use super::check;
use super::model::{Expected, Model, Numbers, WorktreeState, decisions_of};
use super::worktree::{Team, TestWorktree};
use crate::{Keep, ReconcileError, ReconcileOptions, Resolution, open_conflicts, reconcile, resolve};

const LETTERS: [&str; 4] = ["alpha", "bravo", "charlie", "delta"];

/// The state of a running history.
pub(super) struct HistoryRunner {
    pub(super) team: Team,
    pub(super) model: Model,
    /// Number of times each action was done; impossible steps are skipped.
    pub(super) done: BTreeMap<&'static str, usize>,
    /// All conflicts that were ever open.
    pub(super) conflicts: std::collections::BTreeSet<String>,
    /// Number of the current session, and of its last segment, per person.
    sessions: [(usize, usize); PEOPLE],
}

/// The panic payload of an injected crash.
struct InjectedCrash;

impl HistoryRunner {
    pub(super) fn new() -> Self {
        let team = Team::new();
        let mut model = Model::default();
        model.commits.insert(team.forge.head(), Expected::default());
        Self { team, model, done: BTreeMap::new(), conflicts: Default::default(), sessions: [(0, 0), (1, 0), (2, 0)] }
    }

    pub(super) fn take(&mut self, step: &Step) {
        let pruned = WorktreeState::of(&self.team.people[step.who]).pruned;
        let Some(expected) = self.action(step.who, &step.action) else {
            return;
        };
        if matches!(step.action, Action::Reconcile { .. } | Action::Crash { .. }) {
            let now = WorktreeState::of(&self.team.people[step.who]).pruned;
            self.model.pruned.extend(now.difference(&pruned).cloned());
        }
        *self.done.entry(step.action.name()).or_default() += 1;
        let desk = match step.action {
            Action::ForgeMerge => &self.team.forge,
            _ => &self.team.people[step.who],
        };
        check::tree(desk, &self.model, &expected);
        self.conflicts
            .extend(open_conflicts(&desk.home()).unwrap().into_iter().flat_map(|open| open.pairs).map(|pair| pair.id));
        self.model.commits.insert(desk.head(), expected);
    }

    /// Performs an action. Returns the expectation; `None` if it was impossible.
    fn action(&mut self, who: usize, action: &Action) -> Option<Expected> {
        let desk = &self.team.people[who];
        let now = self.model.at(&desk.head());
        match action {
            Action::Append { said, grows } => Some(self.append(who, now, said, *grows)),
            Action::Note { kind } => Some(self.note(who, now, *kind)),
            Action::Forget { which } => {
                let (recalled, _) = check::seen(desk);
                let id = recalled.iter().nth(which % recalled.len().max(1))?.clone();
                Some(self.say(who, now, false, &[format!(r#""type":"tombstone","forget":"{id}""#)]))
            }
            Action::Checkout { branch } => {
                let name = BRANCHES[*branch];
                let there = desk.run(&["checkout", "-q", name]);
                there.or_else(|| desk.run(&["checkout", "-q", "-b", name]))?;
                Some(self.model.at(&desk.head()))
            }
            Action::Merge { which } => self.merge(desk, &now, &foreign(desk, *which)?),
            Action::Rebase { theirs } => {
                let onto = if *theirs { "origin/main" } else { "main" };
                let other = self.model.at(commit(desk, onto)?.as_str());
                let went_well = desk.run(&["rebase", "-q", onto]).is_some();
                desk.finish(went_well).then(|| now.merged(&other))
            }
            Action::CherryPick { branch, which } => {
                let picked = nth(desk, &foreign(desk, *branch)?, *which)?;
                let (added, taken) = self.model.changed_by(desk, &picked);
                let went_well = desk.run(&["cherry-pick", &picked]).is_some();
                let change = Expected { must: added, back: taken };
                desk.finish(went_well).then(|| now.merged(&change))
            }
            Action::Revert { which } => self.revert(who, now, *which),
            Action::Reconcile { how } => self.reconcile(desk, now, *how),
            Action::Crash { how, after, commit } => Some(self.crash(desk, now, *how, *after, *commit)),
            Action::Resolve { which, keep } => {
                let open = open_conflicts(&desk.home()).unwrap();
                let conflict = open.get(which % open.len().max(1))?;
                let keep = [Keep::Left, Keep::Right, Keep::All][*keep].clone();
                resolve(&desk.store(), &conflict.id, &Resolution::Keep(keep), None).unwrap();
                let still = open_conflicts(&desk.home()).unwrap();
                let is_settled = |id: &str| still.iter().flat_map(|open| &open.pairs).all(|pair| pair.id != *id);
                assert!(conflict.pairs.iter().all(|pair| is_settled(&pair.id)), "settled");
                desk.commit("resolve");
                Some(now)
            }
            Action::Pull => {
                desk.run(&["fetch", "-q", "origin"])?;
                let own = format!("origin/{}", desk.worktree.branch().unwrap()?);
                let merged = self.merge(desk, &now, &own);
                let pushed = desk.run(&["push", "-q", "origin", "HEAD"]);
                merged.or(pushed.map(|_| now))
            }
            Action::Update => {
                desk.run(&["fetch", "-q", "origin"])?;
                self.merge(desk, &now, "origin/main")
            }
            Action::ForgeMerge => {
                desk.run(&["push", "-q", "origin", "HEAD"])?;
                let (forge, branch) = (&self.team.forge, desk.worktree.branch().unwrap()?);
                forge.run(&["fetch", "-q", "origin"])?;
                forge.run(&["reset", "-q", "--hard", "origin/main"])?;
                let merged = self.merge(forge, &self.model.at(&forge.head()), &format!("origin/{branch}"))?;
                forge.run(&["push", "-q", "origin", "main"]).unwrap();
                Some(merged)
            }
        }
    }

    fn merge(&self, desk: &TestWorktree, now: &Expected, from: &str) -> Option<Expected> {
        let there = commit(desk, from)?;
        if desk.run(&["merge-base", "--is-ancestor", &there, "HEAD"]).is_some() {
            return None;
        }
        let other = self.model.at(&there);
        let went_well = desk.run(&["merge", "-q", "--no-edit", from]).is_some();
        desk.finish(went_well).then(|| now.merged(&other))
    }

    /// A revert may remove only the commit's records, which are optional from then on.
    fn revert(&mut self, who: usize, mut now: Expected, which: usize) -> Option<Expected> {
        let desk = &self.team.people[who];
        let commit = nth(desk, "HEAD", which)?;
        self.model.taken_back.extend(decisions_of(desk, &commit));
        let (added, _) = self.model.changed_by(desk, &commit);
        let before = self.model.held(&WorktreeState::of(desk));
        let went_well = desk.run(&["revert", "--no-edit", &commit]).is_some();
        if !desk.finish(went_well) {
            return None;
        }
        let after = self.model.held(&WorktreeState::of(desk));
        let gone: Numbers = before.difference(&after).copied().collect();
        now.must.retain(|number| !gone.contains(number) || !added.contains(number));
        now.back.extend(added);
        Some(now)
    }

    fn append(&mut self, who: usize, now: Expected, said: &[Statement], grows: bool) -> Expected {
        let bodies: Vec<String> = said
            .iter()
            .map(|said| {
                let letter = LETTERS[said.letter];
                let voice = match said.voice {
                    0 => String::new(),
                    voice => format!(r#","subject":"{letter}","author":"voice {voice}""#),
                };
                format!(r#""type":"learning","text":"{} {letter} here"{voice}"#, said.how)
            })
            .collect();
        self.say(who, now, grows, &bodies)
    }

    fn note(&mut self, who: usize, now: Expected, kind: usize) -> Expected {
        let body = [
            r#""type":"context_hit","query_hash":"q","terms":["alpha"],"files":["a.txt"],"relevance":0.5"#,
            r#""type":"pattern","pattern":"alpha goes with bravo","entities":["alpha","bravo"],"confidence":0.6"#,
            r#""type":"session_summary","files_touched":["a.txt"],"learnings":["nothing much"]"#,
        ];
        self.say(who, now, false, &[body[kind].to_owned()])
    }

    /// A session writes and commits records.
    fn say(&mut self, who: usize, mut now: Expected, grows: bool, bodies: &[String]) -> Expected {
        let (session, segment) = &mut self.sessions[who];
        if !grows {
            *segment += 1;
        }
        if *segment > 2 {
            (*session, *segment) = (*session + PEOPLE, 0);
        }
        let (name, session) = (format!("session_S{session}.{segment}.jsonl"), *session);
        let desk = &self.team.people[who];
        let path = format!("{SESSIONS}/{name}");
        let there = desk.read(&path);
        let known = self.model.segments.entry(name.clone()).or_default().clone();
        let mut text = match there.as_str() {
            "" => known.iter().map(|number| self.model.all[*number].line.clone() + "\n").collect(),
            _ => there.clone(),
        };
        if there.is_empty() {
            now.must.extend(known.iter().filter(|number| !now.back.contains(number)));
        }
        for body in bodies {
            let number = self.model.all.len();
            // Ids are not in order of writing, because clocks differ.
            let id = format!("01K{:05}", number * 7919 % 100_003);
            let ts = format!("2026-01-{:02}T{:02}:00:00Z", 1 + number / 24 % 28, number % 24);
            let odd = if number.is_multiple_of(3) { r#","later":{"b":1,"a":[2.50]}"# } else { "" };
            let line = format!(r#"{{"id":"{id}","ts":"{ts}",{body},"session":"S{session}"{odd}}}"#);
            text.push_str(&line);
            text.push('\n');
            let number = self.model.acknowledge(line, &name);
            now.must.insert(number);
            self.model.segments.get_mut(&name).unwrap().push(number);
        }
        let desk = &self.team.people[who];
        desk.write(&path, &text);
        desk.commit("say");
        now
    }

    fn reconcile(&self, desk: &TestWorktree, now: Expected, how: RunOptions) -> Option<Expected> {
        let options = options(desk, how);
        let run = |options| reconcile(&desk.store(), options, &by_letters(), &mut |_| {});
        if desk.worktree.branch().unwrap().is_some_and(|branch| branch != "main") {
            let refused = run(ReconcileOptions { here: false, ..options });
            assert!(matches!(refused, Err(ReconcileError::NotDefault { .. })), "{refused:?}");
        }
        if how.dry_run {
            let before = desk.memory();
            run(options).unwrap();
            assert_eq!(desk.memory(), before, "a dry run writes nothing");
            return Some(now);
        }
        run(options).unwrap();
        check::reconciled(desk, &self.model, &now);
        desk.commit("reconcile");
        Some(now)
    }

    fn crash(&self, desk: &TestWorktree, now: Expected, how: RunOptions, after: usize, commit: bool) -> Expected {
        let options = ReconcileOptions { dry_run: false, ..options(desk, how) };
        let run = |options: ReconcileOptions, last: usize| {
            let mut steps = 0;
            let killed = catch_unwind(AssertUnwindSafe(|| {
                reconcile(&desk.store(), options, &by_letters(), &mut |_| {
                    steps += 1;
                    if steps == last {
                        resume_unwind(Box::new(InjectedCrash));
                    }
                })
            }));
            match killed {
                Ok(done) => drop(done.unwrap()),
                Err(panic) => assert!(panic.is::<InjectedCrash>()),
            }
        };
        let (before, old) = (desk.memory(), check::seen(desk));
        // Pruning is a separate, later change.
        let unpruned = ReconcileOptions { max_main_bytes: None, ..options };
        run(unpruned, 0);
        let half = check::seen(desk);
        desk.restore(&before);
        run(options, 0);
        let (whole, new) = (desk.memory(), check::seen(desk));
        desk.restore(&before);
        run(options, after);
        let (left, seen) = (desk.memory(), check::seen(desk));
        assert!(
            [&old, &half, &new].contains(&&seen),
            "between\n{old:?} and\n{new:?}:\n{seen:?}\n{before:#?}\n{left:#?}"
        );
        run(options, 0);
        assert_eq!(desk.memory(), whole, "the next run completes a killed one: {left:#?}");
        desk.restore(&left);
        if commit {
            desk.commit("what a killed run left");
        }
        now
    }
}

fn options(desk: &TestWorktree, how: RunOptions) -> ReconcileOptions {
    let bytes = desk.read(MAIN).len() as u64;
    ReconcileOptions {
        archive: how.archive,
        dry_run: how.dry_run,
        here: true,
        max_main_bytes: how.quarters.map(|quarters| bytes * quarters / 4),
    }
}

fn commit(desk: &TestWorktree, name: &str) -> Option<String> {
    let id = desk.run(&["rev-parse", "-q", "--verify", &format!("{name}^{{commit}}")])?;
    Some(id.trim().to_owned())
}

/// An unmerged branch.
fn foreign(desk: &TestWorktree, which: usize) -> Option<String> {
    let branches = desk.run(&["for-each-ref", "--format=%(refname)", "--no-merged", "HEAD"])?;
    let branches: Vec<&str> = branches.lines().filter(|name| !name.ends_with("/HEAD")).collect();
    branches.get(which % branches.len().max(1)).map(|name| (*name).to_owned())
}

/// A commit of a branch that is not a merge and has a parent.
fn nth(desk: &TestWorktree, branch: &str, which: usize) -> Option<String> {
    let commits = desk.run(&["log", "--format=%H", "--no-merges", "-n", "9", branch, "--"])?;
    let commits: Vec<&str> = commits.lines().collect();
    let commits = commits.split_last().map(|(_, commits)| commits)?;
    commits.get(which % commits.len().max(1)).map(|commit| (*commit).to_owned())
}
