//! The estimated worth of the gateway's pack in the first prompt of recorded runs.
//!
//! Each run's issue is sent through the gateway as the first turn of a client with file tools, over the repository at the
//! run's commit. The receipt says what was packed. [`Run::worth`] compares it with the recorded calls: an upper bound,
//! because an agent that is given a file may still search.

mod repo_map;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde::Serialize;
use serde_json::json;

pub use self::runs::{Call, Run, Worth};

use crate::command_line::{at, progress};
use crate::format::Format;
use crate::gateway_process::{configuration, home, serve, wait_until_settled};
use crate::json_lines;
use crate::report::rounded;
use crate::stand;
use crate::stats::median;
use crate::trees::{Trees, clone_of};
use crate::turns::{Client, Message, send};
use crate::upstream::Upstream;

/// The tokens of an oracle's pack: the paths of the gold files.
const ORACLE_TOKENS: u32 = 150;
/// The budget of a client without tools, whose pack of code is measured beside.
const FULL_TOKENS: u32 = 2_000;

/// Estimates the worth of the gateway's packs in recorded runs of agents.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "value")]
pub struct Options {
    /// Recorded runs, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub runs: PathBuf,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: PathBuf,
    /// Keep trees here from run to run.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Write one JSON object for each run: the files and tokens of its packs, and their worth.
    #[arg(long, value_name = "FILE")]
    pub per_run: Option<PathBuf>,
    /// Only runs whose id contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// The worth of one kind of pack over all runs, in input tokens that are not cached.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The mean worth of a run.
    pub net_mean: f64,
    /// The median.
    pub net_median: f64,
    /// The share of runs with a loss, from 0 to 1.
    pub loss: f64,
    /// The spared calls of all runs.
    pub spared: usize,
    /// The share of runs whose first gold file is in the pack, from 0 to 1.
    pub first: f64,
    /// The median size.
    pub tokens_median: f64,
}

/// The result of the benchmark.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The number of runs.
    pub runs: usize,
    /// Those without gold files, in which every pack is a loss.
    pub without_gold: usize,
    /// The pack of a client with file tools: a map.
    pub pack: Summary,
    /// The gold files, known beforehand.
    pub oracle: Summary,
    /// The pack of a client without tools: code.
    pub full: Summary,
    /// A repository map of the pack's size.
    pub repomap: Summary,
    /// No pack.
    pub nothing: Summary,
}

/// A pack: its files, and its tokens.
#[derive(Debug, Clone, Default, Serialize)]
struct Pack {
    files: BTreeSet<String>,
    tokens: u32,
}

/// The packs of one issue.
#[derive(Debug, Clone, Serialize)]
struct Packs {
    pack: Pack,
    full: Pack,
    repomap: Pack,
}

/// Runs the benchmark.
///
/// # Errors
/// When a file cannot be read or written, or a tree cannot be checked out.
pub fn run(options: &Options) -> Result<Report> {
    let mut runs: Vec<Run> = json_lines::read(&options.runs)?;
    runs.retain(|run| options.only.as_ref().is_none_or(|only| run.id.contains(only)));
    ensure!(!runs.is_empty(), "no run is called like {:?}", options.only);
    let upstream = stand::upstream(0)?;
    let trees = Trees::new(options.work.as_deref())?;
    let mut packs: BTreeMap<String, Packs> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        if !packs.contains_key(&run.instance_id) {
            let packed = ask(options, &trees, &upstream, run).with_context(|| format!("run {}", run.id))?;
            packs.insert(run.instance_id.clone(), packed);
        }
        let pack = &packs[&run.instance_id].pack;
        let worth = run.worth(&pack.files, pack.tokens);
        progress(&format!(
            "{:>3}/{} {}: {} files, {} tokens, {} calls spared, net {:.0}",
            at + 1,
            runs.len(),
            run.id,
            pack.files.len(),
            pack.tokens,
            worth.spared,
            worth.net
        ));
    }
    if let Some(path) = &options.per_run {
        let mut file = std::fs::File::create(path).with_context(self::at(path))?;
        for run in &runs {
            let packs = &packs[&run.instance_id];
            let net = run.worth(&packs.pack.files, packs.pack.tokens).net;
            writeln!(file, "{}", json!({"id": run.id, "packs": packs, "net": rounded(net)}))?;
        }
    }
    let pack = |choose: fn(&Packs) -> &Pack| summary(&runs, |run| choose(&packs[&run.instance_id]).clone());
    Ok(Report {
        runs: runs.len(),
        without_gold: runs.iter().filter(|run| run.gold_files.is_empty()).count(),
        pack: pack(|packs| &packs.pack),
        oracle: summary(&runs, oracle),
        full: pack(|packs| &packs.full),
        repomap: pack(|packs| &packs.repomap),
        nothing: summary(&runs, |_| Pack::default()),
    })
}

/// The pack of an oracle, which adds nothing where there is nothing to find.
fn oracle(run: &Run) -> Pack {
    if run.gold_files.is_empty() {
        return Pack::default();
    }
    Pack { files: run.gold_files.iter().cloned().collect(), tokens: ORACLE_TOKENS }
}

fn summary(runs: &[Run], pack: impl Fn(&Run) -> Pack) -> Summary {
    let packs: Vec<(Pack, Worth)> = runs
        .iter()
        .map(|run| {
            let pack = pack(run);
            let worth = run.worth(&pack.files, pack.tokens);
            (pack, worth)
        })
        .collect();
    let share = |count: usize| rounded(count as f64 / runs.len() as f64);
    let nets = || packs.iter().map(|(_, worth)| worth.net);
    let has_first = |(run, (pack, _)): &(&Run, &(Pack, Worth))| {
        let first = run.gold_first.values().min();
        let mut firsts = run.gold_first.iter().filter(|(_, n)| Some(*n) == first);
        firsts.any(|(file, _)| pack.files.contains(file))
    };
    Summary {
        net_mean: rounded(nets().sum::<f64>() / runs.len() as f64),
        net_median: rounded(median(nets().collect()).unwrap_or_default()),
        loss: share(nets().filter(|net| *net < 0.0).count()),
        spared: packs.iter().map(|(_, worth)| worth.spared).sum(),
        first: share(runs.iter().zip(&packs).filter(has_first).count()),
        tokens_median: median(packs.iter().map(|(pack, _)| f64::from(pack.tokens)).collect()).unwrap_or_default(),
    }
}

/// Sends an issue through the gateway, as a client with file tools and as one without tools.
fn ask(options: &Options, trees: &Trees, upstream: &Upstream, run: &Run) -> Result<Packs> {
    let clone = clone_of(&options.repos, &run.repo);
    let tree = trees.checkout(&clone, &run.repo, &run.base_commit, None)?;
    let home = home();
    home.write_config(&format!(
        "{}[context]\ndeadline_ms = 20000\ntokens_without_tools = {FULL_TOKENS}\n",
        configuration(upstream, Format::Chat)
    ));
    let gateway = serve(&home, &tree.root);
    wait_until_settled(&gateway);
    let pack = |client| {
        let receipt = send((&home, &gateway), client, &format!("{client:?}"), &[Message::user(&run.query)])?;
        let files = receipt.items.iter().filter_map(|item| Some(item.place()?.path));
        anyhow::Ok(Pack { files: files.collect(), tokens: receipt.tokens })
    };
    let (map, full) = (pack(Client::WithTools)?, pack(Client::WithoutTools)?);
    let tags = repo_map::read_tags(&tree.root)?;
    Ok(Packs { repomap: repo_map::repo_map(&tags, &run.query, map.tokens), pack: map, full })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(gold: &str, calls: usize) -> Run {
        let line = format!(
            r#"{{"id":"a","instance_id":"i","repo":"o/r","base_commit":"0","query":"q","gold_files":[{gold}],
                "calls":[{{"n":1,"kind":"search","bytes_out":400}}],"calls_total":{calls},
                "gold_first":{{{}}}}}"#,
            if gold.is_empty() { String::new() } else { format!("{gold}:2") }
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn run_without_gold_files_counts_and_only_pays() {
        let runs = [run(r#""a.py""#, 9), run("", 9)];
        let oracle = summary(&runs, oracle);
        assert_eq!((oracle.spared, oracle.first, oracle.loss), (1, 0.5, 0.0));
        let pack = |tokens| Pack { files: BTreeSet::from(["a.py".to_owned()]), tokens };
        let summary_of = |tokens| summary(&runs, |_| pack(tokens));
        assert_eq!((summary_of(100).spared, summary_of(100).loss), (1, 0.5));
        assert_eq!(summary_of(100).tokens_median, 100.0);
        let nothing = summary(&runs, |_| Pack::default());
        assert_eq!((nothing.net_mean, nothing.net_median, nothing.loss), (0.0, 0.0, 0.0));
        assert_eq!((nothing.spared, nothing.first), (0, 0.0));
        assert!(nothing.net_mean.is_sign_positive() && nothing.net_median.is_sign_positive());
    }
}
