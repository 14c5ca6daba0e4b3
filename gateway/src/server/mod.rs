//! The HTTP server: what it answers, and its life from bind to drain.
//!
//! `lifecycle` binds and runs one single-threaded runtime per core, so that a request's two connections live on one
//! thread. `door` says who may come in, `routes` what is answered where. `converse` is a conversation's way through:
//! `turn` decides what goes into its prompt, `exchange` sends it and brings back the answer, `answer_body` carries that.

mod account;
mod answer_body;
mod app;
mod body;
mod body_memory;
mod bookkeeping;
mod coding;
mod context_model;
mod converse;
mod count;
mod decide;
mod deep;
mod door;
mod exchange;
mod exchanged;
mod guard;
mod headers;
mod large;
mod learn;
mod lifecycle;
mod notice;
mod passed_on;
mod path;
mod place;
mod refusal;
mod reply;
mod repositories;
mod repository;
mod routes;
mod turn;

pub use app::{App, Settings, Shared};
pub use lifecycle::{Server, StartError};
pub use reply::REQUEST_ID;
pub use repositories::{MOST_OPEN, Place, Repositories};
pub use repository::{Repository, RepositorySettings};
