use std::ops::Deref;
use std::sync::Arc;

use muninn_config::{BackendConfig, LimitsConfig};
use muninn_wire::{Dialect, WireFormat};

use super::circuits::{Circuit, Circuits};
use super::load::Load;
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
    /// The number of its key, from 1, if the backend has several.
    pub key_number: Option<usize>,
    /// The same backend with its further keys.
    pub(crate) further: Vec<Arc<Backend>>,
    /// The requests that are under way with its key.
    pub(crate) load: Load,
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
        let circuit = circuits.of(&config.name, &config.url.base);
        let with = |number: usize, config: BackendConfig| Backend {
            config,
            models: Vec::new(),
            circuit: Arc::clone(&circuit),
            key_number: Some(number),
            further: Vec::new(),
            load: Load::default(),
        };
        let further =
            config.further_keys.iter().enumerate().map(|(index, key)| {
                Arc::new(with(index + 2, BackendConfig { key: Some(key.clone()), ..config.clone() }))
            });
        let further: Vec<_> = further.collect();
        Backend { key_number: (!further.is_empty()).then_some(1), further, ..with(1, config) }
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
