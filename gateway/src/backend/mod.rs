//! Where requests go, what credentials they carry there, and how the bytes travel.

mod attempt;
mod credentials;
mod direct;
mod discovery;
mod models;
mod relay;
mod routing;
mod transport;

use crate::config::{BackendConfig, Secret};
use crate::wire::{Dialect, WireFormat};

pub use attempt::{Answered, Exhausted, Outgoing, Try, send_to_first};
pub use credentials::{apply_credentials, client_credential_vendor};
pub use discovery::Discovery;
pub use models::{list_models, render_models};
pub(crate) use routing::matches;
pub use routing::{Candidate, NoRoute, Router, Target};
pub use transport::{SendError, Transport};

/// The name of the built-in model that answers with the pack itself.
pub const CONTEXT_MODEL: &str = "muninn/context";

/// The names of backends that nobody has to configure: the two vendors, and the servers that are looked for on loopback.
pub(crate) const UNCONFIGURED: [&str; 6] = ["anthropic", "openai", "ollama", "vllm", "llama.cpp", "lmstudio"];

/// How a backend came to be known, which decides what it may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The user's configuration names it.
    Configured,
    /// The vendor whose credential the client brought.
    Vendor,
    /// It answered on loopback. It never gets a credential.
    Discovered,
}

/// A place that requests can be sent to.
#[derive(Debug, Clone)]
pub struct Backend {
    /// The name that logs and receipts show.
    pub name: String,
    /// Base address without a trailing slash and without `/v1`.
    pub url: String,
    /// The dialects that it speaks.
    pub formats: Vec<WireFormat>,
    /// Its own key.
    pub key: Option<Secret>,
    /// Whether the user lets it have the client's credential.
    pub client_credentials: bool,
    /// The model to ask for when nobody names one.
    pub default_model: Option<String>,
    /// Its models, where they were asked for.
    pub models: Vec<String>,
    /// Its context window in tokens, where known.
    pub context_window: Option<u32>,
    /// How it came to be known.
    pub origin: Origin,
}

impl Backend {
    /// Whether it takes requests of this format.
    #[must_use]
    pub fn speaks(&self, format: WireFormat) -> bool {
        self.formats.contains(&format)
    }

    /// The format to speak to it for a client that speaks this one.
    #[must_use]
    pub fn format_for(&self, client: WireFormat) -> WireFormat {
        [client, WireFormat::Chat, WireFormat::Messages, WireFormat::Responses]
            .into_iter()
            .find(|format| self.speaks(*format))
            .unwrap_or(client)
    }

    /// A cloud vendor, reached with the credential that the client brought.
    #[must_use]
    pub fn vendor(dialect: Dialect) -> Backend {
        let (name, url) = match dialect {
            Dialect::Anthropic => ("anthropic", credentials::ANTHROPIC_URL),
            Dialect::OpenAi => ("openai", credentials::OPENAI_URL),
        };
        Backend {
            name: name.to_owned(),
            url: url.to_owned(),
            formats: [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses]
                .into_iter()
                .filter(|format| format.dialect() == dialect)
                .collect(),
            key: None,
            client_credentials: false,
            default_model: None,
            models: Vec::new(),
            context_window: None,
            origin: Origin::Vendor,
        }
    }
}

impl From<&BackendConfig> for Backend {
    fn from(config: &BackendConfig) -> Self {
        Backend {
            name: config.name.clone(),
            url: config.url.clone(),
            formats: config.formats.clone(),
            key: config.key.clone(),
            client_credentials: config.client_credentials,
            default_model: config.default_model.clone(),
            models: Vec::new(),
            context_window: config.context_window,
            origin: Origin::Configured,
        }
    }
}
