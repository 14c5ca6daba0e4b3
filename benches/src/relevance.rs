//! Relevance: for each prompt and repository, the features of the engine's decision and what is packed.
//!
//! A prompt about one repository is asked in it, and in some others, where it is as far from the topic as a prompt about no
//! repository. `benches/relevance/fit.py` fits and scores.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use muninn_context_engine::{EngineSettings, Tuning};
use muninn_text::embed::StaticVectors;
use muninn_text::fnv;
use serde::{Deserialize, Serialize};

use crate::graded::subject::Subject;
use crate::graded::trees::{Trees, clone_of};
use crate::harness::{at, json_lines, progress};

/// Number of ranked files where only the features of the decision are needed.
const CLOSELY: usize = 24;

/// Asks prompts in repositories.
#[derive(Debug, Clone, Parser)]
#[command(name = "relevance")]
pub(crate) struct Options {
    /// The sets of repositories with their commits.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/relevance/repositories.json"))]
    list: PathBuf,
    /// The set to ask in.
    #[arg(long, default_value = "train")]
    set: String,
    /// The directory of the clones, OWNER+NAME/repo.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// The prompts: JSON lines with `id`, `class` (`question` without one), `text` and, if it is about one, `repo`.
    #[arg(long, value_name = "FILE")]
    texts: PathBuf,
    /// Keep trees and their indexes here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// In how many repositories a prompt about none, or about another one, is asked.
    #[arg(long, default_value_t = 6)]
    askings: usize,
    /// Leave out repositories that are not there.
    #[arg(long)]
    skip_missing: bool,
    /// The budget of a prompt.
    #[arg(long, default_value_t = 4_000)]
    tokens: u32,
    /// One JSON object for each asking.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// One JSON object for each prompt: its vector.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
struct Prompt {
    id: String,
    #[serde(default = "question")]
    class: String,
    repo: Option<String>,
    text: String,
}

fn question() -> String {
    "question".to_owned()
}

#[derive(Serialize)]
struct Asking<'a> {
    id: &'a str,
    class: &'a str,
    /// The repository that the prompt is about.
    about: Option<&'a str>,
    repo: &'a str,
    features: BTreeMap<&'static str, f32>,
    injected: bool,
    tokens: u32,
    sources: Vec<String>,
    /// The tokens and the sources of the map that a client with file tools gets.
    map_tokens: u32,
    map_sources: Vec<String>,
    ranked: Vec<String>,
}

#[derive(Serialize)]
struct Form<'a> {
    id: &'a str,
    vector: Vec<f32>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    repositories: usize,
    askings: usize,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let list = std::fs::read(&options.list).with_context(at(&options.list))?;
    let mut sets: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_slice(&list).with_context(at(&options.list))?;
    let repositories = sets.remove(&options.set).with_context(|| format!("no set {}", options.set))?;
    let prompts: Vec<Prompt> = json_lines::read(&options.texts)?;
    let trees = Trees::new(options.work.as_deref())?;
    let mut askings = Vec::new();
    let mut report = Report::default();
    for (repo, commit) in &repositories {
        let made = trees.checkout(&clone_of(&options.repos, repo), repo, commit, None);
        let subject = made.and_then(|tree| Subject::index(&tree, EngineSettings::default().embedder));
        let subject = match subject {
            Ok(subject) => subject,
            Err(error) if options.skip_missing => {
                progress(&format!("{repo} is left out: {error:#}"));
                continue;
            }
            Err(error) => return Err(error.context(repo.clone())),
        };
        report.repositories += 1;
        for prompt in &prompts {
            let is_own = prompt.repo.as_deref() == Some(repo);
            if !is_own && !is_drawn(&prompt.id, repo, options.askings, repositories.len()) {
                continue;
            }
            let found = subject.ask(&prompt.text, options.tokens, Tuning::default());
            let map = subject.map(&prompt.text, options.tokens);
            let ranking = subject.engine.rank(&prompt.text, Tuning::default(), CLOSELY);
            askings.push(Asking {
                ranked: ranking.files.iter().map(|file| file.path.to_string()).collect(),
                id: &prompt.id,
                class: &prompt.class,
                about: prompt.repo.as_deref(),
                repo,
                features: ranking.features.into_iter().collect(),
                injected: !found.items.is_empty(),
                tokens: found.tokens,
                sources: found.items.into_iter().map(|item| item.source).collect(),
                map_tokens: map.tokens,
                map_sources: map.items.into_iter().map(|item| item.source).collect(),
            });
        }
        progress(&format!("{repo}: {} askings so far", askings.len()));
    }
    report.askings = askings.len();
    json_lines::write(Some(&options.out), &askings)?;
    if let (Some(path), Some(vectors)) = (&options.vectors, StaticVectors::shared()) {
        let forms: Vec<Form<'_>> =
            prompts.iter().map(|prompt| Form { id: &prompt.id, vector: vectors.embed_one(&prompt.text) }).collect();
        json_lines::write(Some(path), &forms)?;
    }
    Ok(report)
}

/// Draws about `askings` of all repositories for a prompt, always the same ones.
fn is_drawn(id: &str, repo: &str, askings: usize, all: usize) -> bool {
    let hash = fnv::hash64(id.bytes().chain(repo.bytes()));
    (hash >> 32) as usize % all.max(1) < askings
}
