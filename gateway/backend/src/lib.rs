//! Backends: routing, credentials, circuit breakers and transports.
//!
//! `routing` lists the candidates of a request, `attempt` tries them until one answers, and `circuits` asks the store
//! which of them to skip. `transport` sends the bytes through `direct` or reqwest. `blocking_client` does so for
//! blocking callers, which are `embeddings` and `model`.

pub mod access;
mod attempt;
mod blocking_client;
mod circuits;
mod credentials;
mod direct;
mod discovery;
mod embeddings;
mod fair;
pub mod metrics;
mod model;
mod models;
mod pattern;
pub mod percent;
mod probe;
mod relay;
mod routing;
pub mod socket_owner;
mod target;
mod timed;
mod transport;

use std::ops::Deref;
use std::sync::Arc;

use muninn_config::{BackendConfig, LimitsConfig};
use muninn_wire::{Dialect, WireFormat};

pub use attempt::{AttemptAnswer, AttemptError, AttemptReport, attempt};
pub use blocking_client::{BlockingClient, BlockingClientError};
pub use circuits::{Circuit, CircuitReport, Circuits, Permit};
pub use credentials::{apply_credentials, client_credential_vendor};
pub use discovery::{Announcement, Discovery};
pub use embeddings::RemoteEmbedder;
pub use fair::FairBody;
pub use model::RemoteModel;
pub use models::{list_models, render_models};
pub use probe::{FormatSupport, Probe, probe_formats};
pub use routing::{Allowed, Router};
pub use target::{Candidate, NoRoute, Target};
pub use transport::innermost;
pub use transport::{Outgoing, SendError, Transport};

/// The name of the built-in model, which answers with the pack itself.
pub const CONTEXT_MODEL: &str = "muninn/context";

/// A backend: its configuration, its models and its circuit. The configuration is immutable, and its fields can be read
/// directly (`backend.name`, `backend.url`). For discovered servers and vendors it has default values.
#[derive(Debug, Clone)]
pub struct Backend {
    config: BackendConfig,
    /// Its models, empty unless discovery has listed them.
    pub models: Vec<String>,
    /// Its circuit breaker, shared by all copies of this backend.
    pub circuit: Arc<Circuit>,
}

impl Deref for Backend {
    type Target = BackendConfig;

    fn deref(&self) -> &BackendConfig {
        &self.config
    }
}

impl Backend {
    /// Creates a backend without a list of models.
    pub fn new(config: BackendConfig, circuits: &Circuits) -> Backend {
        Backend { circuit: circuits.of(&config.name, &config.url), config, models: Vec::new() }
    }

    /// Creates the backend of a cloud vendor, for requests with the client's credential.
    pub fn vendor(dialect: Dialect, limits: &LimitsConfig, circuits: &Circuits) -> Backend {
        let (name, url, formats) = match dialect {
            Dialect::Anthropic => ("anthropic", credentials::ANTHROPIC_URL, vec![WireFormat::Messages]),
            Dialect::OpenAi => ("openai", credentials::OPENAI_URL, vec![WireFormat::Chat, WireFormat::Responses]),
        };
        let config = BackendConfig::new(name.to_owned(), url.to_owned(), formats, limits);
        Backend::new(config, circuits)
    }

    /// Whether it accepts requests of this format without conversion.
    pub fn speaks(&self, format: WireFormat) -> bool {
        self.formats.contains(&format)
    }

    /// Returns the format of requests to it for a client of this format. The client's own is preferred; among the
    /// others, first the format that loses least in a conversion and that most servers support well.
    pub fn format_for(&self, client: WireFormat) -> WireFormat {
        [client, WireFormat::Chat, WireFormat::Messages, WireFormat::Responses]
            .into_iter()
            .find(|format| self.speaks(*format))
            .unwrap_or(client)
    }
}
