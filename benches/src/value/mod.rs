//! The estimated worth of the gateway's pack in the first prompt of recorded runs.
//!
//! Each run's issue is sent through the gateway as the first turn of a client with file tools, over the repository at the
//! run's commit. The receipt names the packed files. [`Run::worth`] compares it with the recorded calls: an upper bound,
//! because an agent that is given a file may still search.

mod repo_map;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::gateway::home;
use crate::graded::trees::{Trees, clone_of};
use crate::graded::turns::{Client, Message, Stage};
use crate::harness::stats::{median, rounded, share};
use crate::harness::{json_lines, progress};

/// Prices relative to an input token that is not cached.
const CACHE_WRITE: f64 = 1.25;
const CACHED_READ: f64 = 0.1;
const OUTPUT: f64 = 5.0;
/// The tokens of a call, and those of the prompt before it.
const CALL_OUTPUT: f64 = 100.0;
const PREFIX: f64 = 20_000.0;
/// The tokens of an oracle's pack: the paths of the gold files.
const ORACLE_TOKENS: u32 = 150;
/// The budget of a client without tools, whose pack of code is measured beside.
const FULL_TOKENS: u32 = 2_000;

/// Estimates the worth of the gateway's packs in recorded runs of agents.
#[derive(Debug, Clone, Parser)]
#[command(name = "value")]
pub(crate) struct Options {
    /// Recorded runs, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    runs: PathBuf,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Keep trees here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Write one JSON object for each run: the files and tokens of its packs, and their worth.
    #[arg(long, value_name = "FILE")]
    per_run: Option<PathBuf>,
    /// Only runs whose id contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// The worth of one kind of pack over all runs, in input tokens that are not cached. Shares are from 0 to 1.
#[derive(Debug, Clone, Serialize)]
struct Summary {
    net_mean: f64,
    net_median: f64,
    loss: f64,
    spared: usize,
    first: f64,
    tokens_median: f64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    runs: usize,
    without_gold: usize,
    pack: Summary,
    oracle: Summary,
    full: Summary,
    repomap: Summary,
    nothing: Summary,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Pack {
    files: BTreeSet<String>,
    tokens: u32,
}

#[derive(Debug, Clone, Serialize)]
struct Packs {
    /// Of a client with file tools: a map.
    pack: Pack,
    /// Of a client without tools: code.
    full: Pack,
    /// A repository map of the pack's size.
    repomap: Pack,
}

/// One recorded run of an agent.
#[derive(Debug, Clone, Deserialize)]
struct Run {
    id: String,
    instance_id: String,
    repo: String,
    base_commit: String,
    query: String,
    #[serde(default)]
    gold_files: Vec<String>,
    calls: Vec<Call>,
    calls_total: usize,
    /// The number of the call that first reached each gold file.
    #[serde(default)]
    gold_first: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, Deserialize)]
struct Call {
    n: usize,
    /// `search`, `list`, `read`, `edit`, `run` or `other`.
    kind: String,
    bytes_out: u64,
}

/// The estimated worth of a pack in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Worth {
    /// The exploring calls that it would have spared.
    spared: usize,
    /// The price of those calls less that of the pack, in input tokens.
    net: f64,
}

impl Run {
    /// Whether a pack has a gold file that the agent reached first, and the number of the call that reached it.
    fn first_in(&self, pack: &Pack) -> Option<usize> {
        let first = self.gold_first.values().min()?;
        self.gold_first.iter().any(|(file, n)| n == first && pack.files.contains(file)).then_some(*first)
    }

    fn worth(&self, pack: &Pack) -> Worth {
        let turns = self.calls_total + 1;
        let kept = |turns: usize| CACHE_WRITE + CACHED_READ * turns as f64;
        // Zero tokens must not make `-0.0`.
        let mut worth = Worth { spared: 0, net: 0.0 - f64::from(pack.tokens) * kept(turns) };
        let first = self.first_in(pack).unwrap_or_default();
        let explores = |call: &&Call| call.n < first && ["search", "list", "read"].contains(&&*call.kind);
        for call in self.calls.iter().filter(explores) {
            let result = call.bytes_out as f64 / 4.0;
            worth.spared += 1;
            worth.net += CALL_OUTPUT * OUTPUT + result * kept(turns.saturating_sub(call.n)) + PREFIX * CACHED_READ;
        }
        worth
    }
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let mut runs: Vec<Run> = json_lines::read(&options.runs)?;
    runs.retain(|run| options.only.as_ref().is_none_or(|only| run.id.contains(only)));
    ensure!(!runs.is_empty(), "no run is called like {:?}", options.only);
    let trees = Trees::new(options.work.as_deref())?;
    let mut packs: BTreeMap<String, Packs> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        if !packs.contains_key(&run.instance_id) {
            let packed = ask(options, &trees, run).with_context(|| format!("run {}", run.id))?;
            packs.insert(run.instance_id.clone(), packed);
        }
        let Pack { files, tokens } = &packs[&run.instance_id].pack;
        let worth = run.worth(&packs[&run.instance_id].pack);
        progress(&format!(
            "{:>3}/{} {}: {} files, {tokens} tokens, {worth:?}",
            at + 1,
            runs.len(),
            run.id,
            files.len()
        ));
    }
    let rows = runs.iter().map(|run| {
        let packs = &packs[&run.instance_id];
        json!({"id": run.id, "packs": packs, "net": rounded(run.worth(&packs.pack).net)})
    });
    json_lines::write(options.per_run.as_deref(), rows)?;
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

/// The pack of an oracle, which adds nothing if there is nothing to find.
fn oracle(run: &Run) -> Pack {
    let tokens = if run.gold_files.is_empty() { 0 } else { ORACLE_TOKENS };
    Pack { files: run.gold_files.iter().cloned().collect(), tokens }
}

fn summary(runs: &[Run], pack: impl Fn(&Run) -> Pack) -> Summary {
    let (mut nets, mut tokens, mut spared, mut first) = (Vec::new(), Vec::new(), 0, 0);
    for run in runs {
        let pack = pack(run);
        let worth = run.worth(&pack);
        nets.push(worth.net);
        tokens.push(f64::from(pack.tokens));
        spared += worth.spared;
        first += usize::from(run.first_in(&pack).is_some());
    }
    Summary {
        net_mean: rounded(nets.iter().sum::<f64>() / runs.len() as f64),
        loss: share(nets.iter().filter(|net| **net < 0.0).count(), runs.len()),
        net_median: rounded(median(nets).unwrap_or_default()),
        spared,
        first: share(first, runs.len()),
        tokens_median: median(tokens).unwrap_or_default(),
    }
}

/// Sends an issue through the gateway, as a client with file tools and as one without tools.
fn ask(options: &Options, trees: &Trees, run: &Run) -> Result<Packs> {
    let tree = trees.checkout(&clone_of(&options.repos, &run.repo), &run.repo, &run.base_commit, None)?;
    let stage = Stage::start(home(), &tree.root, &format!("tokens_without_tools = {FULL_TOKENS}\n"));
    let pack = |client| {
        let receipt = stage.send(client, &format!("{client:?}"), &[Message::user(&run.query)])?;
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

    fn run() -> Run {
        let line = r#"{"id":"a","instance_id":"i","repo":"o/r","base_commit":"0","query":"q","gold_files":["a.py"],
            "calls":[{"n":1,"kind":"search","bytes_out":400},{"n":2,"kind":"run","bytes_out":9},{"n":3,"kind":"read","bytes_out":9}],
            "calls_total":9,"gold_first":{"a.py":3}}"#;
        serde_json::from_str(line).unwrap()
    }

    fn pack(files: &[&str], tokens: u32) -> Pack {
        Pack { files: files.iter().map(|name| (*name).to_owned()).collect(), tokens }
    }

    #[test]
    fn only_a_pack_with_the_first_gold_file_spares_calls() {
        let worth = run().worth(&pack(&["b.py", "a.py"], 100));
        let spared = 500.0 + 100.0 * (1.25 + 0.1 * 9.0) + 2_000.0;
        assert!(worth.spared == 1 && (worth.net - (spared - 100.0 * 2.25)).abs() < 1e-6, "{worth:?}");
        assert_eq!(run().worth(&pack(&["b.py"], 100)), Worth { spared: 0, net: -225.0 });
    }

    #[test]
    fn run_without_gold_files_counts_and_only_pays() {
        let runs = [run(), Run { gold_files: Vec::new(), gold_first: BTreeMap::new(), ..run() }];
        let oracle = summary(&runs, oracle);
        assert_eq!((oracle.spared, oracle.first, oracle.loss), (1, 0.5, 0.0));
        assert_eq!(summary(&runs, |_| pack(&["a.py"], 100)).loss, 0.5);
        let nothing = summary(&runs, |_| Pack::default());
        assert_eq!((nothing.net_mean, nothing.spared, nothing.first), (0.0, 0, 0.0));
        assert!(nothing.net_mean.is_sign_positive() && nothing.net_median.is_sign_positive());
    }
}
