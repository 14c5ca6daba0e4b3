//! Explorers on questions with known answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use muninn_backend::BlockingClient;
use muninn_context_engine::explore::{DeepLimits, ExploreOutcome, Totals};
use muninn_context_engine::{Lists, Tuning};
use muninn_text::embed::Embedder;
use serde::Serialize;

use super::policies::PolicyName;
use super::row;
use super::timing::Timing;
use crate::command_line::progress;
use crate::instances::{self, Instance};
use crate::localization::bootstrap::mean;
use crate::localization::report::{Percentiles, percent};
use crate::procfs;
use crate::scripted::remote;
use crate::scripted::server::ModelServer;
use crate::stats::millis;
use crate::subject::Subject;
use crate::trees::{Trees, clone_of};

/// The depth to which the lexical list is searched for gold files.
const KEEP: usize = 200;
/// The part of the lexical list that explorers must leave as good as it was.
const TOP: usize = 5;

/// An explorer.
#[derive(Debug, Clone)]
pub(crate) enum Explorer {
    /// A script at the socket.
    Script(PolicyName),
    /// A model behind a server that speaks chat completions.
    Real {
        url: String,
        model: String,
        /// The longest answer.
        answer_tokens: u32,
    },
}

impl Explorer {
    fn name(&self) -> &str {
        match self {
            Self::Script(policy) => policy.name(),
            Self::Real { model, .. } => model,
        }
    }
}

/// The report, on the last line of stdout.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Instances.
    pub n: usize,
    /// One for each explorer.
    pub policies: Vec<Row>,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// An explorer over all instances. Shares are percent; calls, turns and tokens are means over instances.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Which.
    pub policy: String,
    /// Recall of an instance's gold files in the resulting list of files.
    pub recall_files: Option<f64>,
    /// Recall of the gold files in the citations.
    pub recall_cited: Option<f64>,
    /// All gold files are among the first five: of what comes out, and of the lexical lane alone.
    pub strict5: [Option<f64>; 2],
    /// At least one is.
    pub any5: [Option<f64>; 2],
    /// Instances that have fewer gold files among the first five than the lexical lane alone.
    pub lost: usize,
    /// Explorations that failed for the model's sake.
    pub failed: usize,
    /// Turns of the model.
    pub turns: Option<f64>,
    /// The most turns that one took.
    pub most_turns: u32,
    /// Calls of tools.
    pub calls: Option<f64>,
    /// Calls that were answered from the cache.
    pub repeated: u32,
    /// Failed calls.
    pub failed_calls: u32,
    /// Tokens of all prompts and answers, of four bytes.
    pub tokens: Option<f64>,
    /// Milliseconds of an exploration.
    pub ms: Percentiles,
    /// Milliseconds until the model is asked for the first time.
    pub opening_ms: Percentiles,
    /// Milliseconds of a turn that neither the model nor tools took.
    pub overhead_ms: Percentiles,
    /// Citations of places that are not there.
    pub invented: u32,
}

/// One exploration, scored.
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

/// Explores each instance with each explorer.
pub(crate) fn run(
    (questions, repos): (&Path, &Path),
    work: Option<&Path>,
    embedder: Option<Arc<dyn Embedder>>,
    only: Option<&str>,
    explorers: &[Explorer],
) -> Result<Report> {
    let load = procfs::load1();
    let instances = instances::read(questions, only)?;
    let trees = Trees::new(work)?;
    let server = ModelServer::start(Vec::new(), false);
    let blocking_client = remote::blocking_client()?;
    let mut outcomes: Vec<Vec<Outcome>> = explorers.iter().map(|_| Vec::new()).collect();
    for (at, instance) in instances.iter().enumerate() {
        let clone = clone_of(repos, &instance.repo);
        let tree = trees.checkout(&clone, &instance.repo, &instance.base_commit, instance.root.as_deref());
        let subject = tree.and_then(|tree| Subject::index(&tree, embedder.clone()));
        let subject = subject.with_context(|| instance.instance_id.clone())?;
        for (explorer, outcomes) in explorers.iter().zip(&mut outcomes) {
            let outcome = explore(&subject, instance, explorer, &server, &blocking_client);
            progress(&format!(
                "{:>3}/{} {:<28} {:<8} {}",
                at + 1,
                instances.len(),
                instance.instance_id,
                explorer.name(),
                outcome.line()
            ));
            outcomes.push(outcome);
        }
    }
    let rows = explorers.iter().zip(&outcomes);
    let rows: Vec<Row> = rows.map(|(explorer, outcomes)| Row::of(explorer, outcomes)).collect();
    row(&Row::head())?;
    rows.iter().try_for_each(|one| row(&one.line()))?;
    Ok(Report { n: instances.len(), policies: rows, load1: [load, procfs::load1()] })
}

fn explore(
    subject: &Subject,
    instance: &Instance,
    explorer: &Explorer,
    server: &ModelServer,
    blocking_client: &BlockingClient,
) -> Outcome {
    let tuning = Tuning { lists: Lists::ALL, decide: false };
    let lexical = subject.engine.rank(&instance.query, tuning, KEEP).files;
    let lexical: Vec<&str> = lexical.iter().map(|file| file.path.as_str()).collect();
    let mut limits = DeepLimits::default();
    let model = match explorer {
        Explorer::Script(policy) => {
            server.play(policy.of(instance));
            remote::model(blocking_client, server.url(), "scripted")
        }
        Explorer::Real { url, model, answer_tokens } => {
            limits.max_answer_tokens = *answer_tokens;
            remote::model(blocking_client, url.clone(), model)
        }
    };
    let started = Instant::now();
    let found = subject.engine.explore_deep(&instance.query, &limits, &model, &());
    let ended = Instant::now();
    // The time of a real model's answer is unknown.
    let timing = match explorer {
        Explorer::Script(_) => Timing::of(started, ended, &server.log().exchanges, &found.trace),
        Explorer::Real { .. } => None,
    };
    Outcome::of(instance, &lexical, &found, millis(ended - started), timing)
}

impl Outcome {
    fn of(instance: &Instance, lexical: &[&str], found: &ExploreOutcome, ms: f64, timing: Option<Timing>) -> Self {
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
            ms,
            timing,
        }
    }

    fn line(&self) -> String {
        let lost = if self.lost { ", LOST a gold file" } else { "" };
        let failed = if self.failed { ", the model FAILED" } else { "" };
        format!(
            "files {:>3.0}%  cited {:>3.0}%  {} turns, {} calls, {:.0} ms{lost}{failed}",
            100.0 * self.recall_files,
            100.0 * self.recall_cited,
            self.totals.turns,
            self.totals.calls,
            self.ms
        )
    }
}

impl Row {
    fn of(explorer: &Explorer, outcomes: &[Outcome]) -> Self {
        let share = |value: &dyn Fn(&Outcome) -> f64| mean(outcomes.iter().map(|one| Some(value(one)))).map(percent);
        let each = |value: &dyn Fn(&Totals) -> f64| {
            mean(outcomes.iter().map(|one| Some(value(&one.totals)))).map(|mean| (mean * 10.0).round() / 10.0)
        };
        let sum = |value: &dyn Fn(&Totals) -> u32| outcomes.iter().map(|one| value(&one.totals)).sum();
        let timings = || outcomes.iter().filter_map(|one| one.timing.as_ref());
        Self {
            policy: explorer.name().to_owned(),
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

    fn head() -> String {
        format!(
            "{:<9} {:>6} {:>6} {:>13} {:>13} {:>4} {:>5} {:>5} {:>8} {:>7} {:>15} {:>15} {:>8}",
            "policy",
            "files",
            "cited",
            "strict@5 (lex)",
            "any@5 (lex)",
            "lost",
            "turns",
            "calls",
            "repeated",
            "tokens",
            "ms p50/p95",
            "beside p50/p95",
            "invented"
        )
    }

    fn line(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        let beside = |[fused, lexical]: [Option<f64>; 2]| format!("{} ({})", number(fused), number(lexical));
        let both = |both: Percentiles| format!("{}/{}", number(both.p50), number(both.p95));
        format!(
            "{:<9} {:>6} {:>6} {:>14} {:>13} {:>4} {:>5} {:>5} {:>8} {:>7} {:>15} {:>15} {:>8}",
            self.policy,
            number(self.recall_files),
            number(self.recall_cited),
            beside(self.strict5),
            beside(self.any5),
            self.lost,
            number(self.turns),
            number(self.calls),
            self.repeated,
            self.tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.0}")),
            both(self.ms),
            both(self.overhead_ms),
            self.invented
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use muninn_tests::git;

    const FILES: [(&str, &str); 3] = [
        ("lib/parser.py", "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"),
        ("lib/writer.py", "class Writer:\n    def write_rows(self, rows):\n        self.out.extend(rows)\n"),
        ("lib/deep/hidden.py", "class Hidden:\n    def nothing_like_it(self):\n        return 0\n"),
    ];

    #[test]
    fn oracle_finds_all_files_and_no_policy_loses_lexical_files() {
        let dir = tempfile::tempdir().unwrap();
        let clone = dir.path().join("repos/o+r/repo");
        for (path, text) in FILES {
            fs::create_dir_all(clone.join(path).parent().unwrap()).unwrap();
            fs::write(clone.join(path), text).unwrap();
        }
        git(&clone, &["init", "--quiet"]).unwrap();
        git(&clone, &["add", "--all"]).unwrap();
        git(&clone, &["commit", "--quiet", "--message=c"]).unwrap();
        let commit = git(&clone, &["rev-parse", "HEAD"]).unwrap();
        let questions = dir.path().join("instances.jsonl");
        let instance = json!({
            "instance_id": "o__r-1", "repo": "o/r", "base_commit": commit.trim(),
            "query": "parse_header of the parser splits a malformed header line",
            "gold_files": ["lib/parser.py", "lib/deep/hidden.py"],
        });
        fs::write(&questions, instance.to_string()).unwrap();
        let report =
            run((&questions, &dir.path().join("repos")), None, None, None, &PolicyName::ALL.map(Explorer::Script))
                .unwrap();
        let [oracle, random, greedy, hopeless] = report.policies.as_slice() else { panic!("{report:?}") };
        assert_eq!((oracle.recall_files, oracle.recall_cited), (Some(100.0), Some(100.0)));
        assert_eq!((oracle.most_turns, oracle.calls, oracle.invented), (3, Some(4.0), 0));
        assert!(greedy.recall_cited >= Some(50.0), "{greedy:?}");
        assert_eq!(hopeless.turns, Some(1.0));
        for row in [oracle, random, greedy, hopeless] {
            assert_eq!((row.lost, row.failed), (0, 0), "{row:?}");
            assert_eq!(row.any5, [Some(100.0); 2]);
        }
    }
}
