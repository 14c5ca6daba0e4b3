//! The HTTP door: its endpoints, and the life of the server from bind to drain.
//!
//! `lifecycle` binds and runs one single-threaded runtime per core, so that both connections of a request live on one
//! thread. `admission` identifies the caller, `routes` maps paths to handlers, and the `gate` of each route checks access. `converse` handles a conversation request: `app`
//! plans what goes into its prompt, `exchange` sends it, and `answer_body` streams the answer to the client.

mod account;
mod admission;
mod answer_body;
mod answer_end;
mod body;
mod body_memory;
mod bookkeeping;
mod coding;
mod converse;
mod count;
mod exchange;
mod exchange_result;
mod exploring;
mod forward;
mod gate;
mod guard;
mod headers;
mod large;
mod lifecycle;
mod mount;
mod path;
mod refusal;
mod refusal_log;
mod reply;
mod routes;
mod websocket;
mod wiki;
mod worker;

pub use lifecycle::{Server, StartError};
pub use mount::Mount;
pub use reply::REQUEST_ID;
pub(crate) use worker::{Shared, Worker};
