//! `muninn config check`: is the configuration right, and what does it come to?

use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_memory::model::Choice;
use serde_json::{Value, json};

use super::{CliError, Common, output};
use crate::config::{Config, ExploreMode, paths, repository};
use muninn_repo_tools::Worktree;

/// Look at the configuration.
#[derive(Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check the user's configuration and this repository's
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
        let worktree = Worktree::discover(&common.directory()?).ok();
        if let Some(worktree) = &worktree {
            repository(&config, worktree.root())?;
        }
        let place = match &config.file {
            Some(file) => file.display().to_string(),
            None => format!("none (it would be {})", paths::config_file()?.display()),
        };
        if json {
            let backends: Vec<_> = config.backends.iter().map(|backend| backend.name.as_str()).collect();
            let keys: Vec<_> = config.keys.iter().map(|key| key.name.as_str()).collect();
            output::json(
                &json!({"ok": true, "file": config.file, "listen": config.listen, "backends": backends, "routes": config.routes.len(), "keys": keys, "explore": exploring(&config), "summarizer": summarizing(&config), "reconciler": reconciling(&config)}),
            );
            return Ok(ExitCode::SUCCESS);
        }
        output::line(&format!("configuration: {place}"));
        output::line(&format!("listen:        {}", config.listen));
        for backend in &config.backends {
            let key = if backend.key.is_some() {
                "with a key"
            } else {
                "without a key"
            };
            output::line(&format!("backend:       {} at {} ({key})", backend.name, backend.url));
        }
        for route in &config.routes {
            let rename = route
                .rename
                .as_ref()
                .map(|name| format!(" as {name}"))
                .unwrap_or_default();
            output::line(&format!(
                "route:         {} -> {}{rename}",
                route.model, config.backends[route.backend].name
            ));
        }
        if config.explore.mode != ExploreMode::Off {
            output::line(&format!("explore:       {}", explored(&config)));
        }
        if let Some(summed_up) = summed_up(&config) {
            output::line(&format!("summarizer:    {summed_up}"));
        }
        if let Some(reconciled) = reconciled(&config) {
            output::line(&format!("reconciler:    {reconciled}"));
        }
        for key in &config.keys {
            let restricted = [
                ("models", key.models.is_some()),
                ("backends", key.backends.is_some()),
                ("roots", key.roots.is_some()),
                ("rate", key.requests_per_minute.is_some()),
            ];
            let limits: Vec<_> = restricted
                .iter()
                .filter(|(_, set)| *set)
                .map(|(name, _)| *name)
                .collect();
            let limits = if limits.is_empty() {
                "not restricted".to_owned()
            } else {
                format!("restricted in {}", limits.join(", "))
            };
            output::line(&format!("key:           {} ({limits})", key.name));
        }
        if config.backends.is_empty() {
            output::line("backends:      none; a client's own vendor, else a model server on loopback, is used");
        }
        if let Some(worktree) = worktree {
            output::line(&format!("repository:    {}", worktree.root().display()));
        }
        output::line("all is well");
        Ok(ExitCode::SUCCESS)
    }
}

/// Who explores, by backend and model; absent where it is the request's own.
fn explorer(config: &Config) -> Option<(&str, &str)> {
    let explorer = config.explore.explorer.as_ref()?;
    Some((&config.backends[explorer.backend].name, &explorer.model))
}

/// `auto by local/small, within 30000 ms, 60000 tokens, 64 calls, 6 turns, 2 deep`.
fn explored(config: &Config) -> String {
    let explore = &config.explore;
    let by = explorer(config).map_or_else(
        || "the request's own model".to_owned(),
        |(backend, model)| format!("{backend}/{model}"),
    );
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

fn exploring(config: &Config) -> Value {
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
        "tool_choice": if explore.tool_choice == Choice::Required { "required" } else { "auto" },
    })
}

/// `local/small, 50000 tokens a day`; nothing where nobody sums conversations up.
fn summed_up(config: &Config) -> Option<String> {
    let summarizer = config.summarizer.as_ref()?;
    let model = config.name_of(&summarizer.model);
    Some(format!("{model}, {} tokens a day", summarizer.daily_tokens))
}

fn summarizing(config: &Config) -> Value {
    config.summarizer.as_ref().map_or(Value::Null, |summarizer| {
        json!({
            "backend": config.backends[summarizer.model.backend].name,
            "model": summarizer.model.model,
            "daily_tokens": summarizer.daily_tokens,
            "max_answer_tokens": summarizer.max_answer_tokens,
        })
    })
}

/// `local/small, 200000 tokens a run`; nothing where rules reconcile alone.
fn reconciled(config: &Config) -> Option<String> {
    let reconciler = config.reconciler.as_ref()?;
    let model = config.name_of(&reconciler.model);
    Some(format!("{model}, {} tokens a run", reconciler.limits.tokens))
}

fn reconciling(config: &Config) -> Value {
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
    use crate::config::{Overrides, load};

    #[test]
    fn who_sums_up_and_for_how_much_is_told() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/summarizer.toml");
        let mut config = load(&Overrides {
            config: Some(file),
            listen: None,
        })
        .unwrap();
        let model = "Qwen/Qwen3-4B-Instruct-2507";
        assert_eq!(
            summed_up(&config).unwrap(),
            format!("local/{model}, 50000 tokens a day")
        );
        let told = json!({"backend": "local", "model": model, "daily_tokens": 50_000, "max_answer_tokens": 1_024});
        assert_eq!(summarizing(&config), told);
        config.summarizer = None;
        assert_eq!((summed_up(&config), summarizing(&config)), (None, Value::Null));
    }

    #[test]
    fn who_explores_and_for_how_much_is_told() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/explore.toml");
        let mut config = load(&Overrides {
            config: Some(file),
            listen: None,
        })
        .unwrap();
        let model = "Qwen/Qwen3-4B-Instruct-2507";
        let bounds = "within 30000 ms, 60000 tokens, 64 calls, 6 turns, 2 deep";
        assert_eq!(explored(&config), format!("auto by local/{model}, {bounds}"));
        let told = exploring(&config);
        assert_eq!((&told["backend"], &told["model"]), (&json!("local"), &json!(model)));
        assert_eq!((&told["mode"], &told["tool_choice"]), (&json!("auto"), &json!("auto")));

        config.explore.explorer = None;
        config.explore.mode = ExploreMode::Inline;
        assert_eq!(
            explored(&config),
            format!("inline by the request's own model, {bounds}")
        );
        assert_eq!(exploring(&config)["backend"], Value::Null);
    }
}
