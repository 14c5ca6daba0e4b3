//! The result of routing: a target, or the reason why there is none.

use std::sync::Arc;

use muninn_wire::WireFormat;
use muninn_wire::error::ErrorKind;
use thiserror::Error;

use super::{Backend, CONTEXT_MODEL};

/// The target of a request.
#[derive(Debug, Clone)]
pub enum Target {
    /// The built-in model.
    Context,
    /// The candidates in the order of trying. Never empty.
    Candidates(Vec<Candidate>),
}

/// A backend that may answer a request.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub backend: Arc<Backend>,
    /// The wire format of requests to it.
    pub format: WireFormat,
    /// The backend's name for the model, if it differs from the client's.
    pub rename: Option<String>,
}

impl Candidate {
    /// Whether the other sends the same request to the same backend with another key.
    pub(crate) fn differs_by_key(&self, other: &Candidate) -> bool {
        self.backend.name == other.backend.name
            && self.backend.key_number != other.backend.key_number
            && self.rename == other.rename
    }

    /// Whether the other sends the same request to the same backend with the same key.
    pub(crate) fn is_same(&self, other: &Candidate) -> bool {
        self.backend.name == other.backend.name
            && self.backend.key_number == other.backend.key_number
            && self.rename == other.rename
    }
}

/// The reason why a request has no target.
#[derive(Debug, Error)]
pub enum NoRoute {
    /// No backend is configured, the request has no vendor's key, and discovery found no server.
    #[error(
        "no model is connected: nothing is configured, the request brought no vendor's key, and no model server answered on {tried}. Start ollama, vLLM, llama.cpp or LM Studio, or add a [[backends]] entry to {config}; the model `{CONTEXT_MODEL}` answers without one"
    )]
    NothingConnected {
        /// The ports that were tried.
        tried: String,
        /// The user's configuration file.
        config: String,
    },
    /// The access key permits none of the model's backends.
    #[error("this access key may not use any backend that the model `{model}` goes to")]
    NotAllowed {
        /// The requested model.
        model: String,
    },
}

impl NoRoute {
    /// The kind of error that the client gets.
    pub fn kind(&self) -> ErrorKind {
        match self {
            NoRoute::NothingConnected { .. } => ErrorKind::NoBackend,
            NoRoute::NotAllowed { .. } => ErrorKind::Permission,
        }
    }
}
