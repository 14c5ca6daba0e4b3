//! Explorers on questions with known answers.

use std::path::Path;

use anyhow::{Context, Result};
use muninn_context_engine::explore::{DeepLimits, Totals};
use muninn_context_engine::{Lists, Tuning};
use serde::Serialize;

use super::policies::PolicyName;
use super::{Explored, Options, Stage, Timing};
use crate::graded::instances::{self, Instance};
use crate::graded::subject::Subject;
use crate::graded::trees::Trees;
use crate::harness::stats::{Percentiles, mean, millis, percent};
use crate::harness::{line, procfs, progress};

/// The depth to which the lexical list is searched for gold files.
const KEEP: usize = 200;
/// The part of the lexical list that explorers must leave as good as it was.
const TOP: usize = 5;

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    n: usize,
    policies: Vec<Row>,
    load1: [Option<f64>; 2],
}

/// An explorer over all instances. Shares are percent; calls, turns and tokens are means over instances.
#[derive(Debug, Clone, Serialize)]
struct Row {
    policy: String,
    recall_files: Option<f64>,
    recall_cited: Option<f64>,
    /// Of the resulting list, and of the lexical lane alone.
    strict5: [Option<f64>; 2],
    any5: [Option<f64>; 2],
    lost: usize,
    /// Explorations that failed because of the model.
    failed: usize,
    turns: Option<f64>,
    most_turns: u32,
    calls: Option<f64>,
    repeated: u32,
    failed_calls: u32,
    tokens: Option<f64>,
    ms: Percentiles,
    opening_ms: Percentiles,
    overhead_ms: Percentiles,
    invented: u32,
}

/// One exploration, scored. Shares are from 0 to 1.
#[derive(Debug)]
struct Outcome {
    recall_files: f64,
    recall_cited: f64,
    strict5: [f64; 2],
    any5: [f64; 2],
    lost: bool,
    failed: bool,
    totals: Totals,
    ms: f64,
    timing: Option<Timing>,
}

/// A script at the socket, or the model of `--backend`.
#[derive(Clone, Copy)]
enum Explorer {
    Script(PolicyName),
    Real,
}

pub(super) fn run(options: &Options, instances: &Path, repos: &Path) -> Result<Report> {
    let load = procfs::load1();
    let instances = instances::read(instances, options.only.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let embedder = options.embedder.load(options.model.as_deref())?;
    let scripts = if options.policy.is_empty() { &PolicyName::ALL[..] } else { &options.policy };
    let explorers: Vec<Explorer> = match options.backend {
        Some(_) => vec![Explorer::Real],
        None => scripts.iter().copied().map(Explorer::Script).collect(),
    };
    let stage = Stage::start(Vec::new(), false)?;
    let mut outcomes: Vec<Vec<Outcome>> = explorers.iter().map(|_| Vec::new()).collect();
    for (at, instance) in instances.iter().enumerate() {
        let tree = trees.of_instance(repos, instance);
        let subject = tree.and_then(|tree| Subject::index(&tree, embedder.clone()));
        let subject = subject.with_context(|| instance.instance_id.clone())?;
        for (explorer, outcomes) in explorers.iter().zip(&mut outcomes) {
            let outcome = explore(&stage, &subject, instance, *explorer, options);
            let (id, name) = (&instance.instance_id, explorer.name(options));
            progress(&format!("{:>3}/{} {id} {name}: {outcome:?}", at + 1, instances.len()));
            outcomes.push(outcome);
        }
    }
    let mut rows = Vec::new();
    for (explorer, outcomes) in explorers.iter().zip(&outcomes) {
        let row = Row::of(explorer.name(options), outcomes);
        line(&row)?;
        rows.push(row);
    }
    Ok(Report { n: instances.len(), policies: rows, load1: [load, procfs::load1()] })
}

impl Explorer {
    fn name(self, options: &Options) -> &str {
        match self {
            Self::Script(policy) => policy.name(),
            Self::Real => &options.backend_model,
        }
    }
}

fn explore(stage: &Stage, subject: &Subject, instance: &Instance, explorer: Explorer, options: &Options) -> Outcome {
    let tuning = Tuning { lists: Lists::ALL, decide: false };
    let lexical = subject.engine.rank(&instance.query, tuning, KEEP).files;
    let lexical: Vec<&str> = lexical.iter().map(|file| file.path.as_str()).collect();
    let mut limits = DeepLimits::default();
    let (explored, timing) = match explorer {
        Explorer::Script(policy) => {
            let explored = stage.explore(subject, &instance.query, &limits, policy.of(instance));
            let timing = stage.timing(&explored);
            (explored, timing)
        }
        // The time of a real model's answer is unknown.
        Explorer::Real => {
            limits.max_answer_tokens = options.answer_tokens;
            let url = options.backend.clone().unwrap_or_default();
            (stage.explore_with(subject, &instance.query, &limits, url, &options.backend_model), None)
        }
    };
    Outcome::of(instance, &lexical, &explored, timing)
}

impl Outcome {
    fn of(instance: &Instance, lexical: &[&str], explored: &Explored, timing: Option<Timing>) -> Self {
        let Explored { found, started, ended } = explored;
        let files: Vec<&str> = found.files.iter().map(|path| path.as_str()).collect();
        let cited: Vec<&str> = found.citations.iter().map(|one| one.path.as_str()).collect();
        let holds = |paths: &[&str], gold: &String| paths.iter().any(|path| instance.is_gold(gold, path));
        let count = |paths: &[&str]| instance.gold_files.iter().filter(|gold| holds(paths, gold)).count();
        let all = instance.gold_files.len();
        let share = |count: usize| count as f64 / all.max(1) as f64;
        let top = |paths: &[&str]| count(&paths[..paths.len().min(TOP)]);
        let tops = [top(&files), top(lexical)];
        let truth = |holds: bool| f64::from(u8::from(holds));
        Self {
            recall_files: share(count(&files)),
            recall_cited: share(count(&cited)),
            strict5: tops.map(|top| truth(top == all)),
            any5: tops.map(|top| truth(top > 0)),
            lost: tops[0] < tops[1],
            failed: found.trace.problem.is_some(),
            totals: found.trace.totals(),
            ms: millis(*ended - *started),
            timing,
        }
    }
}

impl Row {
    fn of(name: &str, outcomes: &[Outcome]) -> Self {
        let share = |value: &dyn Fn(&Outcome) -> f64| mean(outcomes.iter().map(|one| Some(value(one)))).map(percent);
        let each = |value: &dyn Fn(&Totals) -> f64| {
            mean(outcomes.iter().map(|one| Some(value(&one.totals)))).map(|mean| (mean * 10.0).round() / 10.0)
        };
        let sum = |value: &dyn Fn(&Totals) -> u32| outcomes.iter().map(|one| value(&one.totals)).sum();
        let timings = || outcomes.iter().filter_map(|one| one.timing.as_ref());
        Self {
            policy: name.to_owned(),
            recall_files: share(&|one| one.recall_files),
            recall_cited: share(&|one| one.recall_cited),
            strict5: [0, 1].map(|at| share(&|one| one.strict5[at])),
            any5: [0, 1].map(|at| share(&|one| one.any5[at])),
            lost: outcomes.iter().filter(|one| one.lost).count(),
            failed: outcomes.iter().filter(|one| one.failed).count(),
            turns: each(&|totals| f64::from(totals.turns)),
            most_turns: outcomes.iter().map(|one| one.totals.turns).max().unwrap_or(0),
            calls: each(&|totals| f64::from(totals.calls)),
            repeated: sum(&|totals| totals.repeated),
            failed_calls: sum(&|totals| totals.failed),
            tokens: each(&|totals| (totals.input + totals.output) as f64),
            ms: Percentiles::of(outcomes.iter().map(|one| one.ms).collect()),
            opening_ms: Percentiles::of(timings().map(|timing| timing.opening).collect()),
            overhead_ms: Percentiles::of(timings().flat_map(|timing| timing.beside.clone()).collect()),
            invented: sum(&|totals| totals.invented),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use muninn_tests::git;
    use serde_json::json;

    use super::*;

    #[test]
    fn oracle_finds_all_files_and_no_policy_loses_lexical_files() {
        let dir = tempfile::tempdir().unwrap();
        let repos = dir.path().join("repos");
        let clone = repos.join("o+r/repo");
        fs::create_dir_all(clone.join("lib/deep")).unwrap();
        for (path, text) in [
            ("lib/parser.py", "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"),
            ("lib/writer.py", "class Writer:\n    def write_rows(self, rows):\n        self.out.extend(rows)\n"),
            ("lib/deep/hidden.py", "class Hidden:\n    def nothing_like_it(self):\n        return 0\n"),
        ] {
            fs::write(clone.join(path), text).unwrap();
        }
        for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message=c"]] {
            git(&clone, arguments).unwrap();
        }
        let commit = git(&clone, &["rev-parse", "HEAD"]).unwrap();
        let instances = dir.path().join("instances.jsonl");
        let instance = json!({
            "instance_id": "o__r-1", "repo": "o/r", "base_commit": commit.trim(),
            "query": "parse_header of the parser splits a malformed header line",
            "gold_files": ["lib/parser.py", "lib/deep/hidden.py"],
        });
        fs::write(&instances, instance.to_string()).unwrap();
        let options = clap::Parser::try_parse_from(["explore", "--hostile", "--embedder", "none"]).unwrap();
        let report = run(&options, &instances, &repos).unwrap();
        let [oracle, random, greedy, hopeless] = report.policies.as_slice() else { panic!("{report:?}") };
        assert_eq!((oracle.recall_files, oracle.recall_cited), (Some(100.0), Some(100.0)));
        assert_eq!((oracle.most_turns, oracle.calls, oracle.invented), (3, Some(4.0), 0));
        assert!(greedy.recall_cited >= Some(50.0), "{greedy:?}");
        for row in [oracle, random, greedy, hopeless] {
            assert_eq!((row.lost, row.failed), (0, 0), "{row:?}");
            assert_eq!(row.any5, [Some(100.0); 2]);
        }
    }
}
