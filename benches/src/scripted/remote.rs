//! The gateway's model client, for a scripted server or a real one.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use muninn_backend::{Backend, BlockingClient, BlockingClientError, Candidate, Circuits, RemoteModel};
use muninn_base::Supervisor;
use muninn_config::{BackendConfig, LimitsConfig};
use muninn_ledger::LocalCounters;
use muninn_wire::WireFormat;

/// Starts the client that carries requests.
pub(crate) fn blocking_client() -> Result<BlockingClient, BlockingClientError> {
    drop(rustls::crypto::ring::default_provider().install_default());
    BlockingClient::start(&Supervisor::default(), Duration::from_secs(5))
}

/// A model of the server at a URL, which speaks chat completions; with a circuit of its own.
pub(crate) fn model(blocking_client: &BlockingClient, url: String, name: &str) -> RemoteModel {
    let limits = LimitsConfig::default();
    let config = BackendConfig::new("bench".to_owned(), url, vec![WireFormat::Chat], &limits);
    let backend = Backend::new(config, &Circuits::new(limits.circuit, Arc::new(LocalCounters::default())));
    let candidate = Candidate { backend: Arc::new(backend), format: WireFormat::Chat, rename: None };
    RemoteModel::new(blocking_client, candidate, name, &HeaderMap::new())
}
