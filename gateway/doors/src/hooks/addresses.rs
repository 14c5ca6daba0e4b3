//! The addresses that a client may send its requests to, from the environment that it gives its hooks.

use muninn_base::{Links, read_regular_text};
use muninn_config::{env_vars, paths};
use muninn_session::transcript::Client;

/// The most bytes of Codex's configuration that are read.
const MOST_BYTES: u64 = 1 << 20;

/// The addresses of a client; `given` is one that its plugin passes.
pub(super) fn of(client: Client, given: Option<&str>) -> Vec<String> {
    let variables: &[&str] = match client {
        Client::ClaudeCode => &[env_vars::URL, env_vars::ANTHROPIC_BASE_URL],
        Client::Codex => &[env_vars::URL, env_vars::OPENAI_BASE_URL],
        Client::Opencode => &[env_vars::URL, env_vars::OPENAI_BASE_URL, env_vars::ANTHROPIC_BASE_URL],
    };
    let mut addresses: Vec<String> = variables.iter().filter_map(|name| std::env::var(name).ok()).collect();
    addresses.extend(given.map(str::to_owned));
    if client == Client::Codex {
        addresses.extend(codex_config().as_deref().map(in_codex_config).unwrap_or_default());
    }
    addresses.retain(|address| !address.trim().is_empty());
    addresses
}

fn codex_config() -> Option<String> {
    read_regular_text(&paths::codex_config()?, Links::Follow, MOST_BYTES).ok()
}

/// The address of the selected provider; those of all providers if none is selected at the top, since a profile or a flag
/// may select one.
pub(super) fn in_codex_config(text: &str) -> Vec<String> {
    let Ok(config) = text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let selected = config.get("model_provider").and_then(toml::Value::as_str);
    let providers = config.get("model_providers").and_then(toml::Value::as_table);
    let providers = providers.into_iter().flatten();
    let chosen = providers.filter(|(name, _)| selected.is_none_or(|selected| selected == *name));
    let own = config.get("openai_base_url").and_then(toml::Value::as_str);
    chosen.filter_map(|(_, provider)| provider.get("base_url")?.as_str()).chain(own).map(str::to_owned).collect()
}
