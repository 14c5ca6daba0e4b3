//! `muninn status`: where everything is, and how it is doing.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::civil::Date;
use muninn_memory::learn::budget::DailyBudget;
use muninn_memory::model::block_on;
use muninn_repo_tools::Worktree;
use serde_json::{Value, json};

use super::{CliError, Common, output};
use crate::config::{Config, paths};
use crate::store::{KeyUsage, PutAside, SqliteStore, Store, UsageSum, put_aside};

/// How long the gateway may take to answer.
const PATIENCE: Duration = Duration::from_millis(200);

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
        let repository = common.workspace_of(&config)?;
        let running = TcpStream::connect_timeout(&config.listen, PATIENCE).is_ok();
        let today = repository.clock().today();
        let read = SqliteStore::open(&state_dir, &config.limits)
            .and_then(|store| block_on(async { Ok((store.counts().await?, store.usage(today).await?)) }));
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
            "tasks": running.then(|| tasks(config.listen)).flatten(),
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
            "branch": worktree.as_ref().and_then(Worktree::branch),
            "head": worktree.as_ref().and_then(Worktree::head_commit),
            "backends": config.backends.iter().map(|backend| json!({
                "name": backend.name, "url": backend.url, "formats": backend.formats, "default_model": backend.default_model,
            })).collect::<Vec<_>>(),
        });
        if self.json {
            let mut status = status;
            status["usage"] = json!(usage);
            output::json(&status);
        } else {
            output::print(&text(&status, &index(worktree.as_ref()), &put_aside(&state_dir)));
            output::print(&table(&usage));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the gateway that listens there says of its background tasks; nothing where it is another program, or tells
/// nobody without a key.
fn tasks(listen: SocketAddr) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().ok()?;
    let health = runtime.block_on(async {
        let answer = client.get(format!("http://{listen}/healthz")).send().await.ok()?;
        answer.bytes().await.ok()
    })?;
    let mut health: Value = serde_json::from_slice(&health).ok()?;
    health.get_mut("tasks").map(Value::take)
}

/// Where the index is, and whether it is there.
fn index(worktree: Option<&Worktree>) -> String {
    let Some(worktree) = worktree else {
        return "none, without a repository".to_owned();
    };
    match paths::repository_cache_place(worktree.root(), worktree.common_dir()) {
        Ok(place) if place.exists() => place.display().to_string(),
        Ok(place) => format!("not there yet; it will be in {}", place.display()),
        Err(error) => error.to_string(),
    }
}

/// The JSON in words, a line for each thing, aligned.
fn text(status: &Value, index: &str, aside: &[PutAside]) -> String {
    let string = |value: &Value| value.as_str().map(output::tame_line);
    let word = |key: &str| string(&status[key]);
    let mut lines: Vec<(&str, String)> = Vec::new();
    let running = if status["running"] == true {
        "answers"
    } else {
        "nothing answers there"
    };
    lines.push((
        "listening",
        format!("{} ({running})", word("listen").unwrap_or_default()),
    ));
    let tasks = status["tasks"].as_array().into_iter().flatten();
    let panicked = tasks.filter(|task| task["panics"] != 0).filter_map(|task| {
        let (name, panics) = (string(&task["name"])?, &task["panics"]);
        Some(match task["state"] == "off" {
            true => format!("its task {name} is off until a restart: it panicked {panics} times"),
            false => format!("its task {name} panicked {panics} times"),
        })
    });
    lines.extend(panicked.map(|line| ("", line)));
    lines.push((
        "configuration",
        word("config").unwrap_or_else(|| "no file; the defaults hold".to_owned()),
    ));
    let mut root = word("root").unwrap_or_default();
    if let Some(branch) = word("branch") {
        root.push_str(&format!(" on {branch}"));
    }
    if let Some(head) = word("head") {
        root.push_str(&format!(" at {}", head.get(..12).unwrap_or(&head)));
    }
    lines.push(("repository", root));
    let problems = ["repository_problem", "repository_config_problem"];
    lines.extend(problems.into_iter().filter_map(word).map(|problem| ("", problem)));
    lines.push(("index", index.to_owned()));
    let ledger = &status["ledger"];
    lines.push(match word("ledger_problem") {
        Some(problem) => ("ledger", problem),
        None => {
            let numbers = format!(
                "{} turns, {} with a block; {} receipts",
                ledger["turns"], ledger["blocks"], ledger["receipts"]
            );
            ("ledger", format!("{numbers}; in {}", word("state").unwrap_or_default()))
        }
    });
    let kept = |aside: &PutAside| {
        format!(
            "a damaged one was put aside at {}, as {}",
            output::local_time(&aside.at),
            aside.path.display()
        )
    };
    lines.extend(aside.iter().map(|aside| ("", kept(aside))));
    let backends = status["backends"].as_array().into_iter().flatten();
    let mut backends: Vec<_> = backends
        .map(|backend| {
            let formats = backend["formats"].as_array().into_iter().flatten().filter_map(string);
            let formats = formats.collect::<Vec<_>>().join(", ");
            let default = string(&backend["default_model"]).map(|model| format!(", by default {model}"));
            let (name, url) = (
                string(&backend["name"]).unwrap_or_default(),
                string(&backend["url"]).unwrap_or_default(),
            );
            format!("{name} at {url} ({formats}){}", default.unwrap_or_default())
        })
        .collect();
    if backends.is_empty() {
        backends.push("none configured".to_owned());
    }
    let names = std::iter::once("backends").chain(std::iter::repeat(""));
    lines.extend(names.zip(backends));
    let memory = match status["initialised"] == true {
        true => ".muninn/ is set up",
        false => ".muninn/ is not set up; `muninn init` does it",
    };
    lines.push(("memory", memory.to_owned()));
    let summarizer = &status["summarizer"];
    if let Some(model) = string(&summarizer["model"]) {
        let spent = string(&summarizer["problem"]).unwrap_or_else(|| summarizer["tokens_today"].to_string());
        lines.push((
            "summarizer",
            format!("{model}: {spent} of {} tokens today", summarizer["daily_tokens"]),
        ));
    }
    let keys: Vec<_> = status["keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(string)
        .collect();
    if !keys.is_empty() {
        lines.push(("keys", keys.join(", ")));
    }
    lines.push(("version", word("version").unwrap_or_default()));
    lines
        .iter()
        .map(|(name, value)| format!("{name:<13}  {value}\n"))
        .collect()
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
