//! `muninn status`: where everything is, and how it is doing.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{CliError, Common, output};
use crate::config::paths;
use crate::server::Repository;
use crate::store::{SqliteStore, Store};

/// Where everything is, and how it is doing.
#[derive(Args)]
pub(crate) struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let config = common.configuration(None)?;
        let state_dir = paths::state_dir()?;
        let repository = Repository::open(&common.directory()?, &config, &state_dir);
        let running =
            std::net::TcpStream::connect_timeout(&config.listen, std::time::Duration::from_millis(200)).is_ok();
        let ledger = SqliteStore::open(&state_dir, &config.limits).and_then(|(store, _)| store.counts());
        let worktree = repository.engine.as_ref().map(|engine| engine.worktree().clone());
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "config": config.file,
            "listen": config.listen,
            "running": running,
            "state": state_dir,
            "ledger": ledger.as_ref().ok(),
            "ledger_problem": ledger.as_ref().err().map(ToString::to_string),
            "root": repository.root,
            "repository_problem": repository.problem,
            "repository_config_problem": repository.config_problem.as_ref().map(ToString::to_string),
            "initialised": paths::is_initialised(&repository.root),
            "branch": worktree.as_ref().and_then(muninn_repo_tools::Worktree::branch),
            "head": worktree.as_ref().and_then(muninn_repo_tools::Worktree::head_commit),
            "backends": config.backends.iter().map(|backend| json!({
                "name": backend.name, "url": backend.url, "formats": backend.formats, "default_model": backend.default_model,
            })).collect::<Vec<_>>(),
        });
        if self.json {
            output::json(&status);
        } else {
            for (key, value) in status
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, value)| !value.is_null())
            {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                output::line(&format!("{key:<26} {value}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
