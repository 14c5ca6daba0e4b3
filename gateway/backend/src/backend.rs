use std::ops::Deref;
use std::sync::Arc;

use muninn_config::{BackendConfig, LimitsConfig};
use muninn_wire::{Dialect, WireFormat};

use super::circuits::{Circuit, Circuits};
use super::vendor_urls::{ANTHROPIC_URL, OPENAI_URL};

/// The name of the built-in model, which answers with the pack itself.
pub const CONTEXT_MODEL: &str = "muninn/context";

/// A backend: its configuration, its models and its circuit. The configuration is immutable, and its fields can be read
/// directly (`backend.name`, `backend.url`). For discovered servers and vendors it has default values.
#[derive(Debug, Clone)]
pub struct Backend {
    pub(crate) config: BackendConfig,
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
        Backend { circuit: circuits.of(&config.name, &config.url.base), config, models: Vec::new() }
    }

    /// Creates the backend of a cloud vendor, for requests with the client's credential.
    pub fn vendor(dialect: Dialect, limits: &LimitsConfig, circuits: &Circuits) -> Backend {
        let (name, url, formats) = match dialect {
            Dialect::Anthropic => ("anthropic", ANTHROPIC_URL, vec![WireFormat::Messages]),
            Dialect::OpenAi => ("openai", OPENAI_URL, vec![WireFormat::Chat, WireFormat::Responses]),
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
