//! What comes of routing: where a request goes, or why it goes nowhere.

use std::sync::Arc;

use thiserror::Error;

use super::{Backend, CONTEXT_MODEL};
use crate::wire::WireFormat;
use crate::wire::error::ErrorKind;

/// Where a request goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// The built-in model.
    Context,
    /// The candidates in the order in which they are tried; never empty.
    Candidates(Vec<Candidate>),
}

/// A backend that may answer a request.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The backend.
    pub backend: Arc<Backend>,
    /// The wire format to speak to it.
    pub format: WireFormat,
    /// The name to put in place of the client's, where it knows the model under another.
    pub rename: Option<String>,
}

/// Why a request goes nowhere.
#[derive(Debug, Error)]
pub enum NoRoute {
    /// Nothing is configured, brought or found.
    #[error(
        "no model is connected: nothing is configured, the request brought no vendor's key, and no model server answered on {tried}. Start ollama, vLLM, llama.cpp or LM Studio, or add a [[backends]] entry to {config}; the model `{CONTEXT_MODEL}` answers without one"
    )]
    NothingConnected {
        /// The ports that were tried.
        tried: String,
        /// The user's configuration file.
        config: String,
    },
    /// The caller may not use any backend that would answer.
    #[error("this access key may not use any backend that the model `{model}` goes to")]
    NotAllowed {
        /// The model that was asked for.
        model: String,
    },
}

impl NoRoute {
    /// How a client is told.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            NoRoute::NothingConnected { .. } => ErrorKind::NoBackend,
            NoRoute::NotAllowed { .. } => ErrorKind::Permission,
        }
    }
}
