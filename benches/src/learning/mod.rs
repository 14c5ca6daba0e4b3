//! Whether records of earlier sessions help to find the files that answer a question.
//!
//! There are no recorded sessions of those repositories, so each commit before an instance's is replayed as a session: its
//! message was the question, and its files were edited. The records of these sessions are written into the tree's
//! memory, and the question is asked with and without the list that uses them. The lists of history are on both times.

mod history;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use muninn_context_engine::{Lists, Tuning};
use serde::Serialize;

use self::history::replay;
use crate::command_line::{self, at, progress};
use crate::instances::{self, Instance};
use crate::report::rounded;
use crate::subject::Subject;
use crate::trees::{Trees, clone_of};

/// The depth to which the list is searched for gold files.
const KEEP: usize = 50;
/// The depths of the figures.
const AT: [usize; 4] = [1, 3, 5, 10];

/// Measures what memory of earlier sessions adds to finding the files that questions are about.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "learning")]
pub struct Options {
    /// Questions with the files that answer them, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub instances: PathBuf,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: PathBuf,
    /// Keep trees and their indexes here from run to run; what is learned is written anew each time.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// The largest number of commits to replay.
    #[arg(long, value_name = "NUMBER", default_value_t = 500)]
    pub commits: usize,
    /// Only instances whose id or repository contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// The report, on the last line of stdout. Percent of instances all of whose gold files are among the first.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Instances.
    pub n: usize,
    /// Without memory.
    pub without: BTreeMap<usize, f64>,
    /// With it.
    pub with: BTreeMap<usize, f64>,
    /// At the first five: instances that are found with memory only.
    pub gains: Vec<String>,
    /// At the first five: instances that are found without memory only.
    pub losses: Vec<String>,
    /// Gains and losses at each depth.
    pub paired: BTreeMap<usize, [usize; 2]>,
    /// Gains and losses at the first five, by repository.
    pub by_repo: BTreeMap<String, [usize; 2]>,
    /// Records per instance.
    pub records: f64,
}

/// The outcome of one instance.
struct Outcome {
    id: String,
    repo: String,
    records: usize,
    /// The rank of the last gold file, without memory and with it; `None` beyond [`KEEP`].
    last: [Option<usize>; 2],
}

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When a tree cannot be cut or indexed.
pub fn run(options: &Options) -> Result<Report> {
    let instances = instances::read(&options.instances, options.only.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let mut outcomes = Vec::new();
    for (at, instance) in instances.iter().enumerate() {
        let outcome = ask(&trees, options, instance)?;
        let rank = |rank: Option<usize>| rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        let [before, after] = outcome.last.map(rank);
        progress(&format!(
            "{:>3}/{} {:<28} {} records, all gold within {before} -> {after}",
            at + 1,
            instances.len(),
            outcome.id,
            outcome.records
        ));
        outcomes.push(outcome);
    }
    Ok(report(&outcomes))
}

fn ask(trees: &Trees, options: &Options, instance: &Instance) -> Result<Outcome> {
    let clone = clone_of(&options.repos, &instance.repo);
    let tree = trees.checkout(&clone, &instance.repo, &instance.base_commit, instance.root.as_deref())?;
    let memory = Memory::at(&tree.root)?;
    let subject = Subject::index(&tree, None)?;
    let records = replay(&clone, instance, options.commits, &subject.engine)?;
    let text: String = records.iter().flat_map(|record| [record.line(), "\n".to_owned()]).collect();
    fs::write(&memory.file, text).with_context(at(&memory.file))?;
    subject.engine.refresh(&())?;
    let hits = Lists::EACH.iter().find(|(name, _)| *name == "hits").map(|(_, list)| *list);
    let without = hits.map_or(Lists::ALL, |hits| Lists::ALL.without(hits));
    let last = [without, Lists::ALL].map(|lists| {
        let tuning = Tuning { lists, decide: false };
        let ranked = subject.engine.rank(&instance.query, tuning, KEEP).files;
        let rank = |gold: &String| ranked.iter().position(|file| instance.is_gold(gold, file.path.as_str()));
        let ranks: Option<Vec<usize>> = instance.gold_files.iter().map(rank).collect();
        ranks.and_then(|ranks| ranks.into_iter().max()).map(|last| last + 1)
    });
    Ok(Outcome { id: instance.instance_id.clone(), repo: instance.repo.clone(), records: records.len(), last })
}

/// The tree's file of memory, for as long as an instance is asked.
struct Memory {
    file: PathBuf,
}

impl Memory {
    fn at(root: &Path) -> Result<Self> {
        let dir = root.join(".muninn/memory");
        fs::create_dir_all(&dir).with_context(at(&dir))?;
        let memory = Self { file: dir.join("main.jsonl") };
        memory.remove();
        Ok(memory)
    }

    fn remove(&self) {
        drop(fs::remove_file(&self.file));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.remove();
    }
}

fn report(outcomes: &[Outcome]) -> Report {
    let within = |last: Option<usize>, at: usize| last.is_some_and(|last| last <= at);
    let share = |run: usize, at: usize| {
        let found = outcomes.iter().filter(|outcome| within(outcome.last[run], at)).count();
        (at, rounded(100.0 * found as f64 / outcomes.len().max(1) as f64))
    };
    let changed = |outcome: &Outcome, at: usize| {
        let [before, after] = outcome.last.map(|last| within(last, at));
        [!before && after, before && !after]
    };
    let count = |outcomes: &mut dyn Iterator<Item = &Outcome>, at: usize| {
        outcomes.fold([0, 0], |[gains, losses], outcome| {
            let [gained, lost] = changed(outcome, at);
            [gains + usize::from(gained), losses + usize::from(lost)]
        })
    };
    let ids = |which: usize| {
        let chosen = outcomes.iter().filter(|outcome| changed(outcome, 5)[which]);
        chosen.map(|outcome| outcome.id.clone()).collect()
    };
    let repos: std::collections::BTreeSet<&String> = outcomes.iter().map(|outcome| &outcome.repo).collect();
    let of_repo = |repo: &String| count(&mut outcomes.iter().filter(|outcome| outcome.repo == *repo), 5);
    let records: usize = outcomes.iter().map(|outcome| outcome.records).sum();
    Report {
        n: outcomes.len(),
        without: AT.into_iter().map(|at| share(0, at)).collect(),
        with: AT.into_iter().map(|at| share(1, at)).collect(),
        gains: ids(0),
        losses: ids(1),
        paired: AT.into_iter().map(|at| (at, count(&mut outcomes.iter(), at))).collect(),
        by_repo: repos.into_iter().map(|repo| (repo.clone(), of_repo(repo))).collect(),
        records: rounded(records as f64 / outcomes.len().max(1) as f64),
    }
}

/// The `main` of the benchmark.
pub fn main() -> std::process::ExitCode {
    command_line::main("learning", run)
}
