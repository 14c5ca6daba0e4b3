//! Whether the files that a question is about are found, and the lines.
//!
//! Each instance is a question about a repository as it was at a commit, with the files that answer it. The tree is cut
//! there ([`crate::trees`]), indexed, and asked, one instance after another, so that times are of a machine that does
//! nothing else. Ranks are taken with the threshold off: whether to answer at all is another question.

mod answer;
pub mod bootstrap;
mod remembered;
pub mod report;
pub mod scores;
pub mod spans;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use muninn_context_engine::{Lists, Tuning};
use muninn_memory::embed::{Embedder, LoadError, StaticVectors, minilm};
use serde::{Deserialize, Serialize};

use self::answer::{Answer, Subject};
use self::remembered::Remembered;
use self::report::{Ablation, Accuracy, Percentiles, Report};
use self::scores::Scores;
use crate::command_line;
use crate::command_line::progress;
use crate::instances::{self, InstanceError};
use crate::report::rounded;
use crate::stats::percentile;
use crate::subject::SubjectError;
use crate::trees::{TreeError, Trees};

/// Measures whether the files that questions are about are found.
///
/// Progress goes to stderr; the last line on stdout is one JSON object, and with --ablate a line for each run before it.
#[derive(Debug, Clone, Parser)]
#[command(name = "localization")]
pub struct Options {
    /// Questions with the files that answer them, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub instances: PathBuf,
    /// Where the clones are: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: PathBuf,
    /// The embedder to rank with.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    pub embedder: EmbedderName,
    /// Where the files of minilm are.
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
    /// What is compiled in.
    Static,
    /// The transformer, from `--model`.
    Minilm,
}

impl EmbedderName {
    /// The embedder; `model` is where the files of minilm are.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn load(self, model: Option<&Path>) -> Result<Option<Arc<dyn Embedder>>, LoadError> {
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

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum LocalizationError {
    /// The questions.
    #[error("the instances")]
    Instances(#[from] InstanceError),
    /// The embedder.
    #[error("the embedder")]
    Embedder(#[from] LoadError),
    /// The directory of trees.
    #[error("the trees")]
    Trees(#[from] TreeError),
    /// One of the questions.
    #[error("instance {id}")]
    Subject {
        /// Which.
        id: String,
        /// What went wrong.
        source: Box<SubjectError>,
    },
    /// Something could not be written.
    #[error("writing {0}")]
    Write(String, #[source] io::Error),
    /// `--only` leaves nothing.
    #[error("no instance is called like {0:?}")]
    Nothing(String),
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// An instance whose tree cannot be cut or indexed is skipped and counted.
///
/// # Errors
/// When that is so of all instances, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<Report, LocalizationError> {
    let mut instances = instances::read(&options.instances)?;
    if let Some(only) = &options.only {
        instances.retain(|one| one.instance_id.contains(only) || one.repo.contains(only));
        if instances.is_empty() {
            return Err(LocalizationError::Nothing(only.clone()));
        }
    }
    let embedder = options.embedder.load(options.model.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let runs = runs(options.ablate.as_deref());
    let mut per_instance = options.per_instance.as_ref().map(PerInstance::create).transpose()?;
    let mut answers = Vec::new();
    let mut failed = Vec::new();
    for (at, instance) in instances.iter().enumerate() {
        let answer = match Subject::open(&trees, &options.repos, instance, embedder.clone()) {
            Ok(subject) => subject.answer(instance, &runs),
            Err(source) => {
                let error = LocalizationError::Subject {
                    id: instance.instance_id.clone(),
                    source: Box::new(source),
                };
                progress(&format!("skipped: {}", causes(&error)));
                failed.push(error);
                continue;
            }
        };
        progress(&format!("{:>3}/{} {}", at + 1, instances.len(), answer.line()));
        if let Some(file) = &mut per_instance {
            file.add(&answer)?;
        }
        answers.push(answer);
    }
    per_instance.map(PerInstance::finish).transpose()?;
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

/// An error with what led to it, on one line.
fn causes(error: &dyn Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// The full run first, then each without a list; just the full one if nothing is ablated, all if none is named.
fn runs(ablate: Option<&[String]>) -> Vec<(Option<&'static str>, Tuning)> {
    let tuning = |lists| Tuning { lists, decide: false };
    let chosen = |name: &str| ablate.is_some_and(|names| names.is_empty() || names.iter().any(|one| one == name));
    let ablated = Lists::EACH.iter().filter(|(name, _)| chosen(name));
    let ablated = ablated.map(|(name, list)| (Some(*name), tuning(Lists::ALL.without(*list))));
    std::iter::once((None, tuning(Lists::ALL))).chain(ablated).collect()
}

struct PerInstance {
    path: String,
    file: BufWriter<File>,
}

impl PerInstance {
    fn create(path: &PathBuf) -> Result<Self, LocalizationError> {
        let path_text = path.display().to_string();
        let file = File::create(path).map_err(|error| LocalizationError::Write(path_text.clone(), error))?;
        Ok(Self {
            path: path_text,
            file: BufWriter::new(file),
        })
    }

    fn add(&mut self, answer: &Answer) -> Result<(), LocalizationError> {
        let line = serde_json::to_string(answer).map_err(io::Error::from);
        let written = line.and_then(|line| writeln!(self.file, "{line}"));
        written.map_err(|error| LocalizationError::Write(self.path.clone(), error))
    }

    fn finish(mut self) -> Result<(), LocalizationError> {
        self.file
            .flush()
            .map_err(|error| LocalizationError::Write(self.path, error))
    }
}

fn tell_about_the_whole(answers: &[Answer]) {
    let cold = answers.iter().filter(|answer| answer.cold).count();
    let spans: usize = answers.iter().map(|answer| answer.spans.len()).sum();
    let unknown: usize = answers.iter().map(|answer| answer.unknown_spans).sum();
    let absent: usize = answers.iter().map(|answer| answer.absent).sum();
    let embedding: f64 = answers.iter().map(|answer| answer.embedding_s).sum();
    progress(&format!(
        "vectors took {:.2} s a tree",
        embedding / answers.len() as f64
    ));
    progress(&format!(
        "{cold} of {} indexes were made anew; {spans} gold spans are definitions, {unknown} are not and do not count; \
         {absent} gold files are not in their tree",
        answers.len()
    ));
}

fn print_ablations(runs: &[(Option<&'static str>, Tuning)], answers: &[Answer]) -> Result<(), LocalizationError> {
    let scores = |run: usize| answers.iter().map(|answer| answer.scores[run]).collect::<Vec<Scores>>();
    let full = scores(0);
    for (at, (without, _)) in runs.iter().enumerate() {
        let ablation = match without {
            None => Ablation::none(&full),
            Some(list) => Ablation::of(list, &scores(at), &full),
        };
        progress(&ablation.line());
        command_line::line(&ablation).map_err(|error| LocalizationError::Write("to stdout".to_owned(), error))?;
    }
    Ok(())
}

fn report(answers: &[Answer], skipped: usize) -> Report {
    let mut by_repo: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for answer in answers {
        by_repo.entry(answer.repo.clone()).or_default().push(answer.scores[0]);
    }
    let mut millis: Vec<f64> = answers.iter().map(|answer| answer.query_ms).collect();
    let all: Vec<Scores> = answers.iter().map(|answer| answer.scores[0]).collect();
    let seconds: f64 = answers.iter().map(|answer| answer.index_s).sum();
    Report {
        all: Accuracy::of(&all),
        skipped,
        query_ms: Percentiles {
            p50: percentile(&mut millis, 0.5).map(rounded),
            p95: percentile(&mut millis, 0.95).map(rounded),
        },
        index_s: rounded(seconds / answers.len() as f64),
        by_repo: by_repo
            .into_iter()
            .map(|(repo, scores)| (repo, Accuracy::of(&scores)))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
