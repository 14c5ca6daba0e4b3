//! Whether the files and lines that answer a question are found.
//!
//! Each instance is a question about a repository at a commit, with the files that answer it. The tree is checked out
//! there ([`crate::trees`]), indexed, and asked, one instance after another, so that nothing else runs during a
//! measurement. Ranks are taken without the threshold, which `abstain` measures.

mod answer;
pub mod bootstrap;
mod remembered;
pub mod report;
pub mod scores;
pub mod spans;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use muninn_context_engine::{Lists, Tuning};
use muninn_text::embed::{Embedder, StaticVectors, minilm};
use serde::{Deserialize, Serialize};

use self::answer::{Answer, Subject};
use self::remembered::Remembered;
use self::report::{Ablation, Accuracy, Percentiles, Report};
use self::scores::Scores;
use crate::command_line::{self, at, progress};
use crate::instances;
use crate::report::rounded;
use crate::trees::Trees;

/// Measures whether the files that questions are about are found.
///
/// Progress goes to stderr; the last line on stdout is one JSON object, and with --ablate a line for each run before it.
#[derive(Debug, Clone, Parser)]
#[command(name = "localization")]
pub struct Options {
    /// Questions with the files that answer them, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub instances: PathBuf,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: PathBuf,
    /// The embedder to rank with.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    pub embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    pub model: Option<PathBuf>,
    /// Keep trees and their indexes here from run to run, so that the next is fast; without it every index is made anew.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Measure again without each of these lists, or without each there is.
    #[arg(long, value_name = "LISTS", value_delimiter = ',', num_args = 0.., value_parser = list_names())]
    pub ablate: Option<Vec<String>>,
    /// Write one JSON object for each instance: ranks of the gold files, the best ten files.
    #[arg(long, value_name = "FILE")]
    pub per_instance: Option<PathBuf>,
    /// Only instances whose id or repository contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// The embedders that can take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum EmbedderName {
    /// Lexical lists alone.
    None,
    /// The compiled-in static vectors.
    Static,
    /// The transformer, from `--model`.
    Minilm,
}

impl EmbedderName {
    /// The embedder; `model` is where the files of minilm are.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn load(self, model: Option<&Path>) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(match self {
            EmbedderName::None => None,
            EmbedderName::Static => Some(Arc::new(StaticVectors::shipped()?)),
            EmbedderName::Minilm => {
                let model = minilm(model.unwrap_or(Path::new(".")))?;
                Some(Arc::new(Remembered::of(Arc::from(model))))
            }
        })
    }
}

fn list_names() -> clap::builder::PossibleValuesParser {
    Lists::EACH.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// An instance whose tree cannot be checked out or indexed is skipped and counted.
///
/// # Errors
/// When that is so of all instances, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<Report> {
    let instances = instances::read(&options.instances, options.only.as_deref())?;
    let embedder = options.embedder.load(options.model.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let runs = runs(options.ablate.as_deref());
    let mut per_instance = match &options.per_instance {
        Some(path) => Some(BufWriter::new(File::create(path).with_context(at(path))?)),
        None => None,
    };
    let mut answers = Vec::new();
    let mut failed = Vec::new();
    for (at, instance) in instances.iter().enumerate() {
        let answer = match Subject::open(&trees, &options.repos, instance, embedder.clone()) {
            Ok(subject) => subject.answer(instance, &runs),
            Err(error) => {
                let error = error.context(format!("instance {}", instance.instance_id));
                progress(&format!("skipped: {error:#}"));
                failed.push(error);
                continue;
            }
        };
        progress(&format!("{:>3}/{} {}", at + 1, instances.len(), answer.line()));
        if let Some(file) = &mut per_instance {
            writeln!(file, "{}", serde_json::to_string(&answer)?)?;
        }
        answers.push(answer);
    }
    if let Some(mut file) = per_instance {
        file.flush()?;
    }
    let skipped = failed.len();
    if let (true, Some(error)) = (answers.is_empty(), failed.pop()) {
        return Err(error);
    }
    tell_about_the_whole(&answers);
    if options.ablate.is_some() {
        print_ablations(&runs, &answers)?;
    }
    Ok(report(&answers, skipped))
}

/// The full run first, then each without a list; just the full one if nothing is ablated, all if none is named.
fn runs(ablate: Option<&[String]>) -> Vec<(Option<&'static str>, Tuning)> {
    let tuning = |lists| Tuning { lists, decide: false };
    let chosen = |name: &str| ablate.is_some_and(|names| names.is_empty() || names.iter().any(|one| one == name));
    let ablated = Lists::EACH.iter().filter(|(name, _)| chosen(name));
    let ablated = ablated.map(|(name, list)| (Some(*name), tuning(Lists::ALL.without(*list))));
    std::iter::once((None, tuning(Lists::ALL))).chain(ablated).collect()
}

fn tell_about_the_whole(answers: &[Answer]) {
    let cold = answers.iter().filter(|answer| answer.cold).count();
    let spans: usize = answers.iter().map(|answer| answer.spans.len()).sum();
    let unknown: usize = answers.iter().map(|answer| answer.unknown_spans).sum();
    let absent: usize = answers.iter().map(|answer| answer.absent).sum();
    let embedding: f64 = answers.iter().map(|answer| answer.embedding_s).sum();
    progress(&format!("vectors took {:.2} s a tree", embedding / answers.len() as f64));
    progress(&format!(
        "{cold} of {} indexes were made anew; {spans} gold spans are definitions, {unknown} are not and do not count; \
         {absent} gold files are not in their tree",
        answers.len()
    ));
}

fn print_ablations(runs: &[(Option<&'static str>, Tuning)], answers: &[Answer]) -> Result<()> {
    let scores = |run: usize| answers.iter().map(|answer| answer.scores[run]).collect::<Vec<Scores>>();
    let full = scores(0);
    for (at, (without, _)) in runs.iter().enumerate() {
        let ablation = match without {
            None => Ablation::none(&full),
            Some(list) => Ablation::of(list, &scores(at), &full),
        };
        progress(&ablation.line());
        command_line::line(&ablation)?;
    }
    Ok(())
}

fn report(answers: &[Answer], skipped: usize) -> Report {
    let mut by_repo: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for answer in answers {
        by_repo.entry(answer.repo.clone()).or_default().push(answer.scores[0]);
    }
    let millis: Vec<f64> = answers.iter().map(|answer| answer.query_ms).collect();
    let all: Vec<Scores> = answers.iter().map(|answer| answer.scores[0]).collect();
    let seconds: f64 = answers.iter().map(|answer| answer.index_s).sum();
    Report {
        all: Accuracy::of(&all),
        skipped,
        query_ms: Percentiles::of(millis),
        index_s: rounded(seconds / answers.len() as f64),
        by_repo: by_repo.into_iter().map(|(repo, scores)| (repo, Accuracy::of(&scores))).collect(),
    }
}

#[cfg(test)]
mod tests;
