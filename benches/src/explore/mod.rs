//! The deep lane with scripted explorers at the socket, or with a real model.
//!
//! A scripted server on loopback stands for the model, and the engine explores through the gateway's model client.
//! [`localized`] runs [`policies`] on instances with known answers: the best possible result, and that no explorer
//! loses a file of the lexical lane. [`overhead`] measures the cost of a turn beside the model on a large tree.
//! [`hostile`] shows that hostile scripts end, leak nothing and leave nothing running.

pub mod hostile;
pub mod localized;
pub mod overhead;
pub mod policies;
mod timing;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use serde::Serialize;

use self::localized::Explorer;
use self::policies::PolicyName;
use crate::command_line;
use crate::localization::EmbedderName;

/// Explores with scripted models at the socket, or with a real one.
///
/// Progress goes to stderr; on stdout there is a table, and last one JSON object on one line.
#[derive(Debug, Clone, Parser)]
#[command(name = "explore")]
pub struct Options {
    /// Questions with the files that answer them, one JSON object a line.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["overhead", "hostile"], requires = "repos")]
    pub instances: Option<PathBuf>,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: Option<PathBuf>,
    /// Explore with these policies only.
    #[arg(long, value_name = "NAMES", value_enum, value_delimiter = ',')]
    pub policy: Vec<PolicyName>,
    /// Explore with the model of this server, which speaks chat completions, instead of scripts.
    #[arg(long, value_name = "URL", requires = "instances", conflicts_with = "policy")]
    pub backend: Option<String>,
    /// The name of --backend's model.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub backend_model: String,
    /// The longest answer of --backend, in tokens.
    #[arg(long, value_name = "NUMBER", default_value_t = 256)]
    pub answer_tokens: u32,
    /// Keep trees and their indexes here from run to run.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// The embedder of the lexical lane.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    pub embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    pub model: Option<PathBuf>,
    /// Only instances whose id or repository contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Measure what a turn costs beside its model.
    #[arg(long, requires = "root", conflicts_with = "instances")]
    pub overhead: bool,
    /// The repository for --overhead. Nothing is written into it.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Rounds of --overhead, of which medians are taken.
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    pub rounds: usize,
    /// Explore with hostile scripts.
    #[arg(long, conflicts_with_all = ["instances", "overhead"])]
    pub hostile: bool,
}

/// The report, on the last line of stdout.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Report {
    /// Of policies on instances.
    Localized(localized::Report),
    /// Of `--overhead`.
    Overhead(overhead::Report),
    /// Of `--hostile`.
    Hostile(hostile::Report),
}

/// The `main` of the benchmark.
pub fn main() -> ExitCode {
    command_line::main("explore", run)
}

/// Runs what the options ask for and returns what it is to print last.
///
/// # Errors
/// When a tree, the server or a file is not to be had. How an exploration ends is no error.
pub fn run(options: &Options) -> Result<Report> {
    let work = options.work.as_deref();
    let embedder = || options.embedder.load(options.model.as_deref());
    match (&options.root, &options.instances, &options.repos) {
        (Some(root), ..) if options.overhead => {
            overhead::run(root, work, embedder()?, options.rounds).map(Report::Overhead)
        }
        (_, Some(instances), Some(repos)) => {
            let questions = (instances.as_path(), repos.as_path());
            let only = options.only.as_deref();
            localized::run(questions, work, embedder()?, only, &explorers(options)).map(Report::Localized)
        }
        _ => hostile::run().map(Report::Hostile),
    }
}

/// The explorers that the options name, or every script.
fn explorers(options: &Options) -> Vec<Explorer> {
    let scripts = match options.policy.as_slice() {
        [] => &PolicyName::ALL,
        some => some,
    };
    match &options.backend {
        Some(url) => vec![Explorer::Real {
            url: url.clone(),
            model: options.backend_model.clone(),
            answer_tokens: options.answer_tokens,
        }],
        None => scripts.iter().copied().map(Explorer::Script).collect(),
    }
}

/// A line of a table.
fn row(text: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}
