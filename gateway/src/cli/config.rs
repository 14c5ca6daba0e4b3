//! `muninn config check`: validates the configuration and prints the settings in force.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_config::{Config, ExploreMode, paths, repository};
use muninn_repo_tools::Worktree;
use muninn_text::model::ToolMode;
use serde_json::{Value, json};

use super::{CliError, Common, examples, output};

/// Check the configuration
#[derive(Args)]
#[command(after_help = examples(&[("muninn config check", "Check the configuration, and print its path")]))]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check your configuration and this repository's, and print the settings in force
    #[command(after_help = examples(&[
        ("muninn config check", "Exits with 3 if the configuration is wrong"),
        ("muninn config check --config team.toml", "Check another file"),
    ]))]
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl ConfigCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let Action::Check { json } = self.action;
        let config = common.configuration(None)?;
        super::mcp::offer(&config, &config.mcp.tools)?;
        let worktree = Worktree::discover(&common.directory()?).ok();
        if let Some(worktree) = &worktree {
            repository(&config, worktree.root())?;
        }
        let path = match &config.file {
            Some(file) => file.display().to_string(),
            None => format!("no file; the defaults apply (path: {})", paths::config_file()?.display()),
        };
        if json {
            let backends: Vec<_> = config.backends.iter().map(|backend| backend.name.as_str()).collect();
            let keys: Vec<_> = config.keys.iter().map(|key| key.name.as_str()).collect();
            output::json(
                &json!({"ok": true, "file": config.file, "listen": config.listen, "backends": backends, "routes": config.routes.len(), "keys": keys, "explore": explore_json(&config), "summarizer": summarizer_json(&config), "reconciler": reconciler_json(&config)}),
            );
            return Ok(ExitCode::SUCCESS);
        }
        output::line(&format!("configuration: {path}"));
        output::line(&format!("listen:        {}", config.listen));
        for backend in &config.backends {
            let key = if backend.key.is_some() { "with a key" } else { "without a key" };
            let asked: Vec<String> = backend.formats.iter().map(|format| backend.url.of(format.path())).collect();
            output::line(&format!("backend:       {} at {} ({key})", backend.name, asked.join(", ")));
        }
        for route in &config.routes {
            let rename = route.rename.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
            output::line(&format!("route:         {} -> {}{rename}", route.model, config.backends[route.backend].name));
        }
        if config.explore.mode != ExploreMode::Off {
            output::line(&format!("explore:       {}", explore_text(&config)));
        }
        if let Some(summarizer) = summarizer_text(&config) {
            output::line(&format!("summarizer:    {summarizer}"));
        }
        if let Some(reconciler) = reconciler_text(&config) {
            output::line(&format!("reconciler:    {reconciler}"));
        }
        for key in &config.keys {
            let restricted = [
                ("models", key.models.is_some()),
                ("backends", key.backends.is_some()),
                ("roots", key.roots.is_some()),
                ("rate", key.requests_per_minute.is_some()),
                ("reading", !key.write),
            ];
            let limits: Vec<_> = restricted.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect();
            let limits = if limits.is_empty() {
                "not restricted".to_owned()
            } else {
                format!("restricted by {}", limits.join(", "))
            };
            output::line(&format!("key:           {} ({limits})", key.name));
        }
        if config.backends.is_empty() {
            output::line("backends:      none configured; a client's own vendor or a local model server is used");
        }
        if let Some(worktree) = worktree {
            output::line(&format!("repository:    {}", worktree.root().display()));
        }
        output::line("no problems found");
        Ok(ExitCode::SUCCESS)
    }
}

/// The explorer's backend and model; `None` where the request's own model explores.
fn explorer(config: &Config) -> Option<(&str, &str)> {
    let explorer = config.explore.explorer.as_ref()?;
    Some((&config.backends[explorer.backend].name, &explorer.model))
}

/// `auto by local/small, within 30000 ms, 60000 tokens, 64 calls, 6 turns, 2 deep`.
fn explore_text(config: &Config) -> String {
    let explore = &config.explore;
    let by = explorer(config)
        .map_or_else(|| "the request's own model".to_owned(), |(backend, model)| format!("{backend}/{model}"));
    format!(
        "{} by {by}, within {} ms, {} tokens, {} calls, {} turns, {} deep",
        explore.mode,
        explore.deadline.as_millis(),
        explore.tokens,
        explore.calls,
        explore.turns,
        explore.depth
    )
}

fn explore_json(config: &Config) -> Value {
    let explore = &config.explore;
    let (backend, model) = explorer(config).unzip();
    json!({
        "mode": explore.mode.name(),
        "backend": backend,
        "model": model,
        "deadline_ms": explore.deadline.as_millis() as u64,
        "tokens": explore.tokens,
        "calls": explore.calls,
        "depth": explore.depth,
        "turns": explore.turns,
        "pack_tokens": explore.pack_tokens,
        "max_answer_tokens": explore.max_answer_tokens,
        "tool_choice": if explore.tool_choice == ToolMode::Required { "required" } else { "auto" },
    })
}

/// `local/small, 50000 tokens a day`; `None` without a summarizer.
fn summarizer_text(config: &Config) -> Option<String> {
    let summarizer = config.summarizer.as_ref()?;
    let model = config.name_of(&summarizer.model);
    Some(format!("{model}, {} tokens a day", summarizer.daily_tokens))
}

fn summarizer_json(config: &Config) -> Value {
    config.summarizer.as_ref().map_or(Value::Null, |summarizer| {
        json!({
            "backend": config.backends[summarizer.model.backend].name,
            "model": summarizer.model.model,
            "daily_tokens": summarizer.daily_tokens,
            "max_answer_tokens": summarizer.max_answer_tokens,
        })
    })
}

/// `local/small, 200000 tokens a run`; `None` without a reconciler.
fn reconciler_text(config: &Config) -> Option<String> {
    let reconciler = config.reconciler.as_ref()?;
    let model = config.name_of(&reconciler.model);
    Some(format!("{model}, {} tokens a run", reconciler.limits.tokens))
}

fn reconciler_json(config: &Config) -> Value {
    config.reconciler.as_ref().map_or(Value::Null, |reconciler| {
        let limits = reconciler.limits;
        json!({
            "backend": config.backends[reconciler.model.backend].name,
            "model": reconciler.model.model,
            "run_tokens": limits.tokens,
            "max_answer_tokens": limits.max_answer_tokens,
            "answer_timeout_ms": limits.patience.as_millis() as u64,
        })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use muninn_config::{Overrides, load};

    #[test]
    fn summarizer_and_its_budget_are_shown() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/summarizer.toml");
        let mut config = load(&Overrides { config: Some(file), listen: None }).unwrap();
        let model = "Qwen/Qwen3-4B-Instruct-2507";
        assert_eq!(summarizer_text(&config).unwrap(), format!("local/{model}, 50000 tokens a day"));
        let expected = json!({"backend": "local", "model": model, "daily_tokens": 50_000, "max_answer_tokens": 1_024});
        assert_eq!(summarizer_json(&config), expected);
        config.summarizer = None;
        assert_eq!((summarizer_text(&config), summarizer_json(&config)), (None, Value::Null));
    }

    #[test]
    fn explorer_and_its_budget_are_shown() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/explore.toml");
        let mut config = load(&Overrides { config: Some(file), listen: None }).unwrap();
        let model = "Qwen/Qwen3-4B-Instruct-2507";
        let bounds = "within 30000 ms, 60000 tokens, 64 calls, 6 turns, 2 deep";
        assert_eq!(explore_text(&config), format!("auto by local/{model}, {bounds}"));
        let json = explore_json(&config);
        assert_eq!((&json["backend"], &json["model"]), (&json!("local"), &json!(model)));
        assert_eq!((&json["mode"], &json["tool_choice"]), (&json!("auto"), &json!("auto")));

        config.explore.explorer = None;
        config.explore.mode = ExploreMode::Inline;
        assert_eq!(explore_text(&config), format!("inline by the request's own model, {bounds}"));
        assert_eq!(explore_json(&config)["backend"], Value::Null);
    }
}
