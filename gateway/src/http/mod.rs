//! The HTTP door: what it answers, and its life from bind to drain.
//!
//! `lifecycle` binds and runs one single-threaded runtime per core, so that a request's two connections live on one
//! thread. `door` says who may come in, `routes` what is answered where. `converse` is a conversation's way through:
//! `app` plans what goes into its prompt, `exchange` sends it and brings back the answer, `answer_body` carries that.

mod account;
mod answer_body;
mod body;
mod body_memory;
mod bookkeeping;
mod coding;
mod converse;
mod count;
mod door;
mod exchange;
mod exchanged;
mod exploring;
mod guard;
mod headers;
mod large;
mod lifecycle;
mod passed_on;
mod path;
mod refusal;
mod reply;
mod routes;
mod worker;

pub use lifecycle::{Server, StartError};
pub use reply::REQUEST_ID;
use worker::{Shared, Worker};
