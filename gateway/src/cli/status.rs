//! `muninn status`: where everything is, and how it is doing.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use jiff::civil::Date;
use muninn_memory::learn::budget::DailyBudget;
use serde_json::{Value, json};

use super::{CliError, Common, output};
use crate::config::{Config, paths};
use crate::server::Repository;
use crate::store::{KeyUsage, SqliteStore, Store, UsageSum, utc_today};

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
        let today = utc_today();
        let read = SqliteStore::open(&state_dir, &config.limits)
            .and_then(|(store, _)| Ok((store.counts()?, store.usage(today)?)));
        let (ledger, usage, problem) = match read {
            Ok((counts, usage)) => (Some(counts), usage, None),
            Err(error) => (None, Vec::new(), Some(error.to_string())),
        };
        let worktree = repository.engine.as_ref().map(|engine| engine.worktree().clone());
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "config": config.file,
            "listen": config.listen,
            "running": running,
            "state": state_dir,
            "ledger": ledger,
            "ledger_problem": problem,
            "keys": config.keys.iter().map(|key| &key.name).collect::<Vec<_>>(),
            "root": repository.root,
            "roots": config.roots,
            "repository_problem": repository.problem,
            "repository_config_problem": repository.settings().problem.as_ref().map(ToString::to_string),
            "summarizer": summarizer(&config, &state_dir, today),
            "initialised": paths::is_initialised(&repository.root),
            "branch": worktree.as_ref().and_then(muninn_repo_tools::Worktree::branch),
            "head": worktree.as_ref().and_then(muninn_repo_tools::Worktree::head_commit),
            "backends": config.backends.iter().map(|backend| json!({
                "name": backend.name, "url": backend.url, "formats": backend.formats, "default_model": backend.default_model,
            })).collect::<Vec<_>>(),
        });
        if self.json {
            let mut status = status;
            status["usage"] = json!(usage);
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
            output::print(&table(&usage));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Who sums conversations up, and what that has cost today; nothing where nobody does.
fn summarizer(config: &Config, state_dir: &Path, today: Date) -> Value {
    let Some(summarizer) = &config.summarizer else {
        return Value::Null;
    };
    let (spent, problem) = match DailyBudget::below(state_dir).spent(today) {
        Ok(spent) => (Some(spent), None),
        Err(error) => (None, Some(error.to_string())),
    };
    json!({
        "model": config.name_of(&summarizer.model),
        "tokens_today": spent,
        "problem": problem,
        "daily_tokens": summarizer.daily_tokens,
    })
}

/// What each key used, a line for each key and span of time; days are those of UTC.
fn table(usage: &[KeyUsage]) -> String {
    if usage.is_empty() {
        return String::new();
    }
    let widest = usage
        .iter()
        .map(|usage| usage.key.chars().count())
        .max()
        .unwrap_or(0)
        .max(8);
    let mut text = format!(
        "\n{:<widest$}  {:<7}  {:>9}  {:>12}  {:>12}  {:>12}\n",
        "key", "span", "requests", "input", "cached", "output"
    );
    for usage in usage {
        let key = if usage.key.is_empty() { "(no key)" } else { &usage.key };
        for (span, sum) in [
            ("today", usage.today),
            ("30 days", usage.thirty_days),
            ("all", usage.all),
        ] {
            let UsageSum {
                requests,
                input,
                output,
                cached,
            } = sum;
            text.push_str(&format!(
                "{key:<widest$}  {span:<7}  {requests:>9}  {input:>12}  {cached:>12}  {output:>12}\n"
            ));
        }
    }
    text
}
