//! Where requests go, what credentials they carry there, and how the bytes travel.
//!
//! `routing` names the candidates for a request, `attempt` tries them until one answers, and `circuits` asks the store which
//! of them are not worth trying now. `transport` carries the bytes, over `direct` or over reqwest; `blocking_client` for callers
//! that block, which are `embeddings` and `model`.

mod attempt;
mod blocking_client;
mod circuits;
mod credentials;
mod direct;
mod discovery;
mod embeddings;
mod fair;
mod model;
mod models;
mod probe;
mod relay;
mod routing;
mod target;
mod timed;
mod transport;

use std::ops::Deref;
use std::sync::Arc;

use crate::config::{BackendConfig, LimitsConfig};
use crate::wire::{Dialect, WireFormat};

pub use attempt::{AttemptAnswer, AttemptError, AttemptReport, attempt};
pub use blocking_client::{BlockingClient, BlockingClientError};
pub use circuits::{Circuit, CircuitReport, Circuits, Permit};
pub use credentials::{apply_credentials, client_credential_vendor};
pub use discovery::Discovery;
pub use embeddings::RemoteEmbedder;
pub(crate) use fair::FairBody;
pub use model::RemoteModel;
pub use models::{list_models, render_models};
pub use probe::{FormatSupport, Probe, probe_formats};
pub use routing::{Allowed, Router};
pub use target::{Candidate, NoRoute, Target};
pub(crate) use transport::innermost;
pub use transport::{Outgoing, SendError, Transport};

/// The name of the built-in model that answers with the pack itself.
pub const CONTEXT_MODEL: &str = "muninn/context";

/// A place that requests can be sent to: its configuration, written or assumed, and what is known besides. It reads as
/// its configuration (`backend.name`, `backend.url`), which nothing changes after it was made.
#[derive(Debug, Clone)]
pub struct Backend {
    config: BackendConfig,
    /// Its models, where they were asked for.
    pub models: Vec<String>,
    /// Whether it is worth trying now; shared by all who know this backend.
    pub circuit: Arc<Circuit>,
}

impl Deref for Backend {
    type Target = BackendConfig;

    fn deref(&self) -> &BackendConfig {
        &self.config
    }
}

impl Backend {
    /// A backend whose models nobody has asked for.
    #[must_use]
    pub fn new(config: BackendConfig, circuits: &Circuits) -> Backend {
        Backend {
            circuit: circuits.of(&config.name, &config.url),
            config,
            models: Vec::new(),
        }
    }

    /// A cloud vendor, reached with the credential that the client brought.
    #[must_use]
    pub fn vendor(dialect: Dialect, limits: &LimitsConfig, circuits: &Circuits) -> Backend {
        let (name, url, formats) = match dialect {
            Dialect::Anthropic => ("anthropic", credentials::ANTHROPIC_URL, vec![WireFormat::Messages]),
            Dialect::OpenAi => (
                "openai",
                credentials::OPENAI_URL,
                vec![WireFormat::Chat, WireFormat::Responses],
            ),
        };
        let config = BackendConfig::new(name.to_owned(), url.to_owned(), formats, limits);
        Backend::new(config, circuits)
    }

    /// Whether it takes requests of this format as they are.
    #[must_use]
    pub fn speaks(&self, format: WireFormat) -> bool {
        self.formats.contains(&format)
    }

    /// The format to speak to it for a client of this format: the client's own where it can be, else what loses least
    /// and most servers speak well.
    #[must_use]
    pub fn format_for(&self, client: WireFormat) -> WireFormat {
        [client, WireFormat::Chat, WireFormat::Messages, WireFormat::Responses]
            .into_iter()
            .find(|format| self.speaks(*format))
            .unwrap_or(client)
    }
}
