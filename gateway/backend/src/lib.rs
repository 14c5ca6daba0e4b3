//! Backends: routing, credentials, circuit breakers and transports.
//!
//! `routing` lists the candidates of a request, `attempt` tries them until one answers, and `circuits` asks the store
//! which of them to skip. `transport` sends the bytes through `direct` or reqwest. `blocking_client` does so for
//! blocking callers, which are `embeddings` and `model`.

pub mod access;
mod affinity;
mod attempt;
mod backend;
mod blocking_client;
mod circuits;
mod credentials;
mod direct;
mod discovery;
mod embeddings;
mod fair;
mod http1;
mod known_models;
mod load;
pub mod metrics;
mod model;
mod model_list;
mod models;
mod opening;
mod pattern;
pub mod percent;
mod pool;
mod probe;
mod relay;
mod routing;
mod send_error;
#[cfg(target_os = "linux")]
mod socket_diag;
pub mod socket_owner;
mod target;
mod timed;
mod transport;
mod vendor_urls;

pub use affinity::Conversation;
pub use attempt::{AttemptAnswer, AttemptError, AttemptReport, attempt};
pub use backend::{Backend, CONTEXT_MODEL};
pub use blocking_client::{BlockingClient, BlockingClientError};
pub use circuits::{Circuit, CircuitReport, Circuits, Permit};
pub use credentials::{apply_credentials, client_credential_vendor};
pub use discovery::{Announcement, Discovery};
pub use embeddings::RemoteEmbedder;
pub use fair::FairBody;
pub use load::UnderWay;
pub use model::RemoteModel;
pub use model_list::{ListedModel, ModelPage, render_models};
pub use models::{list_models, own_model};
pub use probe::{FormatSupport, Probe, probe_formats};
pub use routing::{Allowed, Router};
pub use send_error::{SendError, innermost};
pub use target::{Candidate, NoRoute, Target};
pub use transport::{Outgoing, Transport};
