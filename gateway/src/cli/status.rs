//! `muninn status`: the gateway, the repository, the memory and the state of this machine.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::civil::Date;
use muninn_base::with_causes;
use muninn_config::{Config, paths};
use muninn_ledger::{DamagedLedger, KeyUsage, SqliteStore, Store, UsageSum, damaged_ledgers};
use muninn_repo_tools::{Checkout, Worktree};
use muninn_team::learn::budget::DailyBudget;
use muninn_text::model::block_on;
use serde_json::{Value, json};

use super::log;
use super::model::MODEL_OFFER;
use super::output::{self, plural, sanitize_line};
use super::{CliError, Common, examples};

/// How long `status` waits for the gateway.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Show the gateway, the repository, the memory and what each access key used
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn status", "As text"),
    ("muninn status --json", "As JSON, for scripts"),
]))]
pub(crate) struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let config = common.configuration(None)?;
        let state_dir = paths::state_dir()?;
        let repository = common.workspace_with(&config)?;
        let running = TcpStream::connect_timeout(&config.listen, TIMEOUT).is_ok();
        let health = running.then(|| health(config.listen)).flatten().unwrap_or_default();
        let today = repository.clock().today();
        let read = SqliteStore::open(&state_dir, &config.limits)
            .and_then(|store| block_on(async { Ok((store.counts().await?, store.usage(today).await?)) }));
        let (ledger, usage, problem) = match read {
            Ok((counts, usage)) => (Some(counts), usage, None),
            Err(error) => (None, Vec::new(), Some(error.to_string())),
        };
        let worktree = repository.engine.as_ref().map(|engine| engine.worktree().clone());
        let (checkout, unreadable) = match worktree.as_ref().map(Worktree::checkout).transpose() {
            Ok(checkout) => (checkout.unwrap_or_default(), None),
            Err(error) => (Checkout::default(), Some(with_causes(&error))),
        };
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "config": config.file,
            "listen": config.listen,
            "running": running,
            "tasks": health["tasks"],
            "added": health["added"],
            "embedder": match &health["embedder"] {
                Value::Null => repository.embedder().report(),
                embedder => embedder.clone(),
            },
            "vectors": health["index"]["vectors"],
            "unembedded": health["index"]["unembedded"],
            "state": state_dir,
            "ledger": ledger,
            "ledger_problem": problem,
            "keys": config.keys.iter().map(|key| &key.name).collect::<Vec<_>>(),
            "root": repository.root,
            "roots": config.roots,
            "repository_problem": repository.problem.clone().or(unreadable),
            "repository_config_problem": repository.settings().problem.as_ref().map(ToString::to_string),
            "summarizer": summarizer(&config, &state_dir, today),
            "initialised": paths::is_initialised(&repository.root),
            "branch": checkout.branch,
            "head": checkout.head,
            "backends": config.backends.iter().map(|backend| json!({
                "name": backend.name, "url": backend.url.base, "formats": backend.formats, "default_model": backend.default_model,
            })).collect::<Vec<_>>(),
        });
        if self.json {
            let mut status = status;
            status["usage"] = json!(usage);
            output::json(&status);
        } else {
            let index = index(worktree.as_ref());
            output::print(&text(&status, index, &damaged_ledgers(&state_dir), &usage));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the gateway at an address reports of itself. `None` where another program listens there; a gateway with access keys
/// reports no more than that it runs.
fn health(listen: SocketAddr) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().ok()?;
    let health = runtime.block_on(async {
        let answer = client.get(format!("http://{listen}/healthz")).send().await.ok()?;
        answer.bytes().await.ok()
    })?;
    serde_json::from_slice(&health).ok()
}

/// The directory of the index, or why there is none.
fn index(worktree: Option<&Worktree>) -> String {
    let Some(worktree) = worktree else {
        return "none: there is no repository".to_owned();
    };
    match paths::repository_cache_path(worktree.root(), worktree.common_dir()) {
        Ok(place) if place.exists() => place.display().to_string(),
        Ok(place) => format!("not built yet; its directory will be {}", place.display()),
        Err(error) => format!("none: {error}"),
    }
}

type Line = (&'static str, String);

/// The status as text: a heading for each section, and aligned lines below it.
fn text(status: &Value, index: String, damaged: &[DamagedLedger], usage: &[KeyUsage]) -> String {
    let sections = [
        ("Gateway", gateway(status)),
        ("Repository", repository(status, index)),
        ("Memory", memory(status)),
        ("State on this machine", state(status, damaged)),
    ];
    let sections = sections.map(|(heading, lines)| {
        let lines = lines.iter().map(|(name, value)| format!("  {name:<14}  {value}\n"));
        format!("{heading}\n{}", lines.collect::<String>())
    });
    sections.join("\n") + &table(usage)
}

fn gateway(status: &Value) -> Vec<Line> {
    let running = if status["running"] == true { "running" } else { "not running" };
    let mut lines = vec![
        ("version", word(&status["version"]).unwrap_or_default()),
        ("address", format!("{} ({running})", word(&status["listen"]).unwrap_or_default())),
        ("configuration", word(&status["config"]).unwrap_or_else(|| "no file; the defaults apply".to_owned())),
    ];
    let mut backends: Vec<String> = items(&status["backends"]).map(backend).collect();
    if backends.is_empty() {
        backends.push("none configured; a client's own vendor or a local model server is used".to_owned());
    }
    let names = std::iter::once("backends").chain(std::iter::repeat(""));
    lines.extend(names.zip(backends));
    let keys: Vec<_> = items(&status["keys"]).filter_map(word).collect();
    if !keys.is_empty() {
        lines.push(("access keys", keys.join(", ")));
    }
    let added = &status["added"];
    if let (Some(requests), Some(p50), Some(p99)) =
        (added["requests"].as_u64(), added["p50_ms"].as_f64(), added["p99_ms"].as_f64())
    {
        let newest = if requests == 1 { "request".to_owned() } else { format!("{requests} requests") };
        lines.push(("added time", format!("{p50} ms (p50) and {p99} ms (p99) before it sent the last {newest} on")));
    }
    let panicked = items(&status["tasks"]).filter(|task| task["panics"] != 0);
    lines.extend(panicked.filter_map(|task| {
        let off = if task["state"] == "off" { "; it is off until a restart" } else { "" };
        Some(("problem", format!("task {} panicked {} times{off}", word(&task["name"])?, task["panics"])))
    }));
    lines
}

/// `local at http://127.0.0.1:8000 (chat, messages), default model qwen3`
fn backend(backend: &Value) -> String {
    let formats: Vec<_> = items(&backend["formats"]).filter_map(word).collect();
    let default = word(&backend["default_model"]).map(|model| format!(", default model {model}"));
    let (name, url) = (word(&backend["name"]).unwrap_or_default(), word(&backend["url"]).unwrap_or_default());
    format!("{name} at {url} ({}){}", formats.join(", "), default.unwrap_or_default())
}

fn repository(status: &Value, index: String) -> Vec<Line> {
    let mut lines = vec![("directory", word(&status["root"]).unwrap_or_default())];
    if let Some(branch) = word(&status["branch"]) {
        lines.push(("branch", branch));
    }
    if let Some(head) = word(&status["head"]) {
        lines.push(("commit", head.get(..12).unwrap_or(&head).to_owned()));
    }
    lines.push(("index", index));
    let problems = ["repository_problem", "repository_config_problem"];
    let problems = problems.into_iter().filter_map(|key| word(&status[key]));
    lines.extend(problems.map(|problem| ("problem", problem)));
    lines
}

fn memory(status: &Value) -> Vec<Line> {
    let set_up = if status["initialised"] == true { "set up" } else { "not set up; `muninn init` creates it" };
    let mut lines = vec![(".muninn/", set_up.to_owned())];
    lines.push(("embedder", embedder(&status["embedder"], status)));
    let summarizer = &status["summarizer"];
    if let Some(model) = word(&summarizer["model"]) {
        let spent = match word(&summarizer["problem"]) {
            Some(problem) => problem,
            None => format!("{} of {} tokens used today", summarizer["tokens_today"], summarizer["daily_tokens"]),
        };
        lines.push(("summarizer", format!("{model}: {spent}")));
    }
    lines
}

fn embedder(report: &Value, status: &Value) -> String {
    let model = word(&report["model"]).unwrap_or_default();
    if report["state"] == "absent" {
        return format!("static vectors; {MODEL_OFFER}");
    }
    let count = |key: &str| status[key].as_u64().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let of_memory = match count("unembedded") {
        None | Some(0) => String::new(),
        Some(left) => format!(", {} of the memory to embed", plural(left, "text")),
    };
    match (word(&report["reason"]), count("vectors")) {
        (Some(reason), _) => format!("{model}: cannot be used: {reason}"),
        (None, Some(vectors)) => format!("{model}: {} in the index{of_memory}", plural(vectors, "vector")),
        (None, None) => model,
    }
}

fn state(status: &Value, damaged: &[DamagedLedger]) -> Vec<Line> {
    let mut lines = vec![("directory", word(&status["state"]).unwrap_or_default())];
    let ledger = &status["ledger"];
    let count = |key: &str| usize::try_from(ledger[key].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    match word(&status["ledger_problem"]) {
        Some(problem) => lines.push(("problem", problem)),
        None => {
            let turns = plural(count("turns"), "turn");
            lines.push(("ledger", format!("{turns}, {} with an inserted block", count("blocks"))));
            lines.push(("receipts", count("receipts").to_string()));
        }
    }
    lines.extend(damaged.iter().map(|file| {
        let at = output::local_time(&file.at);
        ("damaged ledger", format!("moved to {} at {at}", file.path.display()))
    }));
    lines
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn word(value: &Value) -> Option<String> {
    value.as_str().map(sanitize_line)
}

/// The summarizer's model and today's cost; null where none is configured.
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

/// Tokens by access key and period. Days are days of UTC.
fn table(usage: &[KeyUsage]) -> String {
    if usage.is_empty() {
        return String::new();
    }
    let widest = usage.iter().map(|usage| usage.key.chars().count()).max().unwrap_or(0).max("access key".len());
    let mut text = format!(
        "\nUsage (input, cached and output in tokens)\n  {:<widest$}  {:<7}  {:>9}  {:>12}  {:>12}  {:>12}\n",
        "access key", "period", "requests", "input", "cached", "output"
    );
    for usage in usage {
        let key = if usage.key.is_empty() { "(no key)" } else { &usage.key };
        for (period, sum) in [("today", usage.today), ("30 days", usage.thirty_days), ("all", usage.all)] {
            let UsageSum { requests, input, output, cached } = sum;
            text.push_str(&format!(
                "  {key:<widest$}  {period:<7}  {requests:>9}  {input:>12}  {cached:>12}  {output:>12}\n"
            ));
        }
    }
    text
}
