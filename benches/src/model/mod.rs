//! Models whose answers are scripts, at a socket, and the gateway's own client of them or of a real model.

pub(crate) mod answer;
pub(crate) mod conversation;
pub(crate) mod server;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use http::HeaderMap;
use muninn_backend::{Backend, BlockingClient, Candidate, Circuits, RemoteModel};
use muninn_base::Supervisor;
use muninn_config::{BackendConfig, LimitsConfig};
use muninn_ledger::LocalCounters;
use muninn_wire::WireFormat;

use self::answer::Answer;
use self::conversation::Conversation;

pub(crate) type Policy = Arc<dyn Fn(&Conversation) -> Answer + Send + Sync>;

pub(crate) fn blocking_client() -> Result<BlockingClient> {
    drop(rustls::crypto::ring::default_provider().install_default());
    Ok(BlockingClient::start(&Supervisor::default(), Duration::from_secs(5))?)
}

/// A model of the server at a URL, which speaks chat completions; with a circuit of its own.
pub(crate) fn remote(blocking_client: &BlockingClient, url: String, name: &str) -> RemoteModel {
    let limits = LimitsConfig::default();
    let config = BackendConfig::new("bench".to_owned(), url, vec![WireFormat::Chat], &limits);
    let backend = Backend::new(config, &Circuits::new(limits.circuit, Arc::new(LocalCounters::default())));
    let candidate = Candidate { backend: Arc::new(backend), format: WireFormat::Chat, rename: None };
    RemoteModel::new(blocking_client, candidate, name, &HeaderMap::new())
}
