//! Abstention: whether prompts that need context get a pack, and others get none.
//!
//! Three classes of prompts, as people type them into a coding agent: about this repository, about anything else, and
//! short follow-ups. The engine is asked as the gateway asks it, in this repository and in others, each at a fixed commit.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use muninn_context_engine::{EngineSettings, Tuning};
use serde::{Deserialize, Serialize};

use crate::graded::instances;
use crate::graded::split::{Half, Split, file, repositories};
use crate::graded::subject::{Subject, packed};
use crate::graded::trees::{Tree, Trees, clone_of};
use crate::harness::stats::percent;
use crate::harness::{json_lines, our_repository, progress};

/// The name of this repository, which needs no clone.
const OURS: &str = "muninn";

/// The number of ranked files where only the features of the decision are needed.
const CLOSELY: usize = 24;

/// Measures for which prompts anything is packed.
#[derive(Debug, Clone, Parser)]
#[command(name = "abstain")]
pub(crate) struct Options {
    /// The half of the prompts to ask.
    #[arg(long, value_enum, default_value_t = Split::Both)]
    split: Split,
    /// The directory of the other repositories' clones, OWNER+NAME/repo; without it only this repository is asked about.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Questions with the files that answer them, to tell how much of what is packed lies there.
    #[arg(long, value_name = "FILE", requires = "repos")]
    instances: Option<PathBuf>,
    /// Keep trees and their indexes here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// The budget of a prompt.
    #[arg(long, default_value_t = 4_000)]
    tokens: u32,
    /// Another threshold than the engine's own.
    #[arg(long)]
    threshold: Option<f32>,
    /// Write one JSON object for each prompt and repository: what was packed, or why nothing was.
    #[arg(long, value_name = "FILE")]
    per_prompt: Option<PathBuf>,
}

/// The class of a prompt, which says whether anything should be packed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Class {
    OffTopic,
    OnTopic,
    FollowUp,
}

#[derive(Debug, Clone, Deserialize)]
struct Prompt {
    class: Class,
    /// The repository that it is about, or `*`.
    repo: String,
    prompt: String,
}

/// Rates are percent of askings. A prompt about no repository is asked in each of them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    n: BTreeMap<Class, usize>,
    injected: BTreeMap<Class, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tune: BTreeMap<Class, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    held: BTreeMap<Class, f64>,
    by_repo: BTreeMap<String, BTreeMap<Class, f64>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    gold: Option<GoldShare>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct GoldShare {
    gold_n: usize,
    gold_injected: f64,
    gold_token_share: f64,
}

#[derive(Debug, Clone, Serialize)]
struct Asking {
    half: Half,
    class: Class,
    repo: String,
    prompt: String,
    injected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The packed sources, best first.
    sources: Vec<String>,
    tokens: u32,
    /// The features of the engine's decision; see `benches/relevance/fit.py`.
    signs: Vec<f32>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let trees = Trees::new(options.work.as_deref())?;
    let mut prompts: Vec<(Half, Prompt)> = Vec::new();
    for half in options.split.halves() {
        prompts.extend(read(*half)?.into_iter().map(|prompt| (*half, prompt)));
    }
    let mut askings = Vec::new();
    let mut asked: HashMap<usize, Class> = HashMap::new();
    for (repo, commit) in repositories()? {
        let clone = match &options.repos {
            _ if repo == OURS => our_repository()?,
            Some(repos) => clone_of(repos, &repo),
            None => continue,
        };
        let subject = subject(trees.checkout(&clone, &repo, &commit, None), options).context(repo.clone())?;
        let here = prompts.iter().enumerate().filter(|(_, (_, prompt))| prompt.repo == "*" || prompt.repo == repo);
        for (at, (half, prompt)) in here {
            asked.insert(at, prompt.class);
            let found = subject.ask(&prompt.prompt, options.tokens, Tuning::default());
            let features = subject.engine.rank(&prompt.prompt, Tuning::default(), CLOSELY).features;
            askings.push(Asking {
                half: *half,
                class: prompt.class,
                repo: repo.clone(),
                prompt: prompt.prompt.clone(),
                injected: !found.items.is_empty(),
                sources: found.items.iter().map(|item| item.source.clone()).collect(),
                tokens: found.tokens,
                reason: found.reason,
                signs: features.into_iter().map(|(_, value)| value).collect(),
            });
        }
        progress(&format!("{repo}: {} askings so far", askings.len()));
    }
    json_lines::write(options.per_prompt.as_deref(), &askings)?;
    let mut n: BTreeMap<Class, usize> = BTreeMap::new();
    asked.into_values().for_each(|class| *n.entry(class).or_default() += 1);
    Ok(report(n, &askings, gold_share(options, &trees)?))
}

fn read(half: Half) -> Result<Vec<Prompt>> {
    json_lines::read(&file(match half {
        Half::Tune => "tune.jsonl",
        Half::Held => "held.jsonl",
    }))
}

fn subject(tree: Result<Tree>, options: &Options) -> Result<Subject> {
    let subject = Subject::index(&tree?, EngineSettings::default().embedder)?;
    subject.engine.set_threshold(options.threshold);
    Ok(subject)
}

/// The share of packed tokens in gold files, with the threshold.
fn gold_share(options: &Options, trees: &Trees) -> Result<Option<GoldShare>> {
    let (Some(path), Some(repos)) = (&options.instances, &options.repos) else {
        return Ok(None);
    };
    let instances = instances::read(path, None)?;
    let (mut injected, mut gold, mut all) = (0u32, 0u64, 0u64);
    for instance in &instances {
        let tree = trees.of_instance(repos, instance);
        let subject = subject(tree, options).with_context(|| instance.repo.clone())?;
        let spans = packed(&subject.ask(&instance.query, options.tokens, Tuning::default()));
        injected += u32::from(!spans.is_empty());
        for (place, tokens) in &spans {
            let is_gold = instance.gold_files.iter().any(|gold| instance.is_gold(gold, &place.path));
            all += u64::from(*tokens);
            gold += if is_gold { u64::from(*tokens) } else { 0 };
        }
    }
    progress(&format!("{gold} of {all} packed tokens lie in gold files"));
    Ok(Some(GoldShare {
        gold_n: instances.len(),
        gold_injected: percent(f64::from(injected) / instances.len() as f64),
        gold_token_share: percent(gold as f64 / all.max(1) as f64),
    }))
}

fn report(n: BTreeMap<Class, usize>, askings: &[Asking], gold: Option<GoldShare>) -> Report {
    let mut by_repo: BTreeMap<String, Vec<&Asking>> = BTreeMap::new();
    for asking in askings {
        by_repo.entry(asking.repo.clone()).or_default().push(asking);
    }
    let of_half = |half| rates(askings.iter().filter(|asking| asking.half == half));
    Report {
        n,
        injected: rates(askings),
        tune: of_half(Half::Tune),
        held: of_half(Half::Held),
        by_repo: by_repo.into_iter().map(|(repo, here)| (repo, rates(here))).collect(),
        gold,
    }
}

/// The share of askings for which something was packed, by class.
fn rates<'a>(askings: impl IntoIterator<Item = &'a Asking>) -> BTreeMap<Class, f64> {
    let mut counts: BTreeMap<Class, (u32, u32)> = BTreeMap::new();
    for asking in askings {
        let (packed, all) = counts.entry(asking.class).or_default();
        *packed += u32::from(asking.injected);
        *all += 1;
    }
    let rate = |(class, (packed, all))| (class, percent(f64::from(packed) / f64::from(all)));
    counts.into_iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_reported_by_class_half_and_repository() {
        let asking = |half, class, repo: &str, injected| Asking {
            half,
            class,
            repo: repo.to_owned(),
            prompt: String::new(),
            injected,
            reason: None,
            sources: Vec::new(),
            tokens: 0,
            signs: Vec::new(),
        };
        let askings = [
            asking(Half::Tune, Class::OffTopic, "a", true),
            asking(Half::Tune, Class::OffTopic, "b", false),
            asking(Half::Tune, Class::OnTopic, "a", true),
            asking(Half::Held, Class::OffTopic, "a", false),
        ];
        let report = report(BTreeMap::new(), &askings, None);
        assert_eq!(report.injected, BTreeMap::from([(Class::OffTopic, 33.3), (Class::OnTopic, 100.0)]));
        assert_eq!((report.tune[&Class::OffTopic], report.held[&Class::OffTopic]), (50.0, 0.0));
        assert_eq!((report.by_repo["a"][&Class::OffTopic], report.by_repo["b"][&Class::OffTopic]), (50.0, 0.0));
    }
}
