//! Abstention: whether prompts that need context get a pack, and others get none.
//!
//! Three classes of prompts, as people type them into a coding agent: about this repository, about anything else, and
//! short follow-ups. The engine is asked as the gateway asks it, in this repository and in others, each at a fixed
//! commit. Half of the prompts are held out from tuning.

pub mod prompts;
pub mod report;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use muninn_context_engine::{EngineSettings, Tuning};

use self::prompts::{Class, Half, Prompt, Split};
use self::report::{Asking, GoldShare, Report};
use crate::command_line::at;
use crate::command_line::progress;
use crate::instances::{self};
use crate::localization::report::percent;
use crate::stand::{self};
use crate::subject::{Subject, packed};
use crate::trees::{Trees, clone_of};

/// The name of this repository, which needs no clone.
const OURS: &str = "muninn";

/// The number of ranked files where only the features of the decision are needed.
const CLOSELY: usize = 24;

/// Measures for which prompts anything is packed.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "abstain")]
pub struct Options {
    /// The half of the prompts to ask.
    #[arg(long, value_enum, default_value_t = Split::Both)]
    pub split: Split,
    /// The directory of the other repositories' clones, OWNER+NAME/repo; without it only this repository is asked about.
    #[arg(long, value_name = "DIR")]
    pub repos: Option<PathBuf>,
    /// Questions with the files that answer them, to tell how much of what is packed lies there.
    #[arg(long, value_name = "FILE", requires = "repos")]
    pub instances: Option<PathBuf>,
    /// Keep trees and their indexes here from run to run.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// The budget of a prompt.
    #[arg(long, default_value_t = 4_000)]
    pub tokens: u32,
    /// Another threshold than the engine's own.
    #[arg(long)]
    pub threshold: Option<f32>,
    /// Write one JSON object for each prompt and repository: what was packed, or why nothing was.
    #[arg(long, value_name = "FILE")]
    pub per_prompt: Option<PathBuf>,
}

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When a repository cannot be had at its commit, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<Report> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("abstain");
    let trees = Trees::new(options.work.as_deref())?;
    let mut prompts: Vec<(Half, Prompt)> = Vec::new();
    for half in options.split.halves() {
        prompts.extend(prompts::read(&dir, *half)?.into_iter().map(|prompt| (*half, prompt)));
    }
    let mut askings = Vec::new();
    let mut asked: HashMap<usize, Class> = HashMap::new();
    for (repo, commit) in prompts::repositories(&dir)? {
        let Some(clone) = clone(&repo, options)? else { continue };
        let subject = subject(&trees, &clone, &repo, &commit, None)?;
        subject.engine.set_threshold(options.threshold);
        let here = prompts.iter().enumerate().filter(|(_, (_, prompt))| prompt.belongs_to(&repo));
        for (at, (half, prompt)) in here {
            asked.insert(at, prompt.class);
            askings.push(ask(&subject, &repo, *half, prompt, options.tokens));
        }
        progress(&format!("{repo}: {} askings so far", askings.len()));
    }
    if let Some(path) = &options.per_prompt {
        write(path, &askings).with_context(at(path))?;
    }
    let mut n: BTreeMap<Class, usize> = BTreeMap::new();
    asked.into_values().for_each(|class| *n.entry(class).or_default() += 1);
    let gold = gold_share(options, &trees)?;
    Ok(Report::of(n, &askings, gold))
}

/// A repository's clone; `None` if the repository is left out.
fn clone(repo: &str, options: &Options) -> Result<Option<PathBuf>> {
    if repo == OURS {
        return stand::repository().map(Some);
    }
    Ok(options.repos.as_ref().map(|repos| clone_of(repos, repo)))
}

fn subject(trees: &Trees, clone: &Path, repo: &str, commit: &str, folder: Option<&str>) -> Result<Subject> {
    let tree = trees.checkout(clone, repo, commit, folder);
    tree.and_then(|tree| Subject::index(&tree, EngineSettings::default().embedder)).with_context(|| repo.to_owned())
}

fn ask(subject: &Subject, repo: &str, half: Half, prompt: &Prompt, tokens: u32) -> Asking {
    let found = subject.ask(&prompt.prompt, tokens, Tuning::default());
    Asking {
        half,
        class: prompt.class,
        repo: repo.to_owned(),
        prompt: prompt.prompt.clone(),
        injected: !found.items.is_empty(),
        sources: found.items.iter().map(|item| item.source.clone()).collect(),
        tokens: found.tokens,
        reason: found.reason,
        signs: subject.engine.rank(&prompt.prompt, Tuning::default(), CLOSELY).features,
    }
}

fn write(path: &Path, askings: &[Asking]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for asking in askings {
        writeln!(file, "{}", serde_json::to_string(asking)?)?;
    }
    file.flush()
}

/// The share of packed tokens in gold files, with the threshold.
fn gold_share(options: &Options, trees: &Trees) -> Result<Option<GoldShare>> {
    let (Some(path), Some(repos)) = (&options.instances, &options.repos) else {
        return Ok(None);
    };
    let instances = instances::read(path, None)?;
    let (mut injected, mut gold, mut all) = (0u32, 0u64, 0u64);
    for instance in &instances {
        let clone = clone_of(repos, &instance.repo);
        let root = instance.root.as_deref();
        let subject = subject(trees, &clone, &instance.repo, &instance.base_commit, root)?;
        subject.engine.set_threshold(options.threshold);
        let spans = packed(&subject.ask(&instance.query, options.tokens, Tuning::default()));
        injected += u32::from(!spans.is_empty());
        for span in &spans {
            let is_gold = instance.gold_files.iter().any(|gold| instance.is_gold(gold, &span.path));
            all += u64::from(span.tokens);
            gold += if is_gold { u64::from(span.tokens) } else { 0 };
        }
    }
    progress(&format!("{gold} of {all} packed tokens lie in gold files"));
    Ok(Some(GoldShare {
        gold_n: instances.len(),
        gold_injected: percent(f64::from(injected) / instances.len() as f64),
        gold_token_share: percent(gold as f64 / all.max(1) as f64),
    }))
}
