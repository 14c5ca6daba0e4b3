//! The applications that answer the calls of clients.

use std::pin::Pin;
use std::sync::Arc;

use http::request::Parts;
use muninn_backend::access::Caller;
use muninn_core::{App, ToolReply, ToolRequest};

/// An answer under way. Dropping it cancels the work.
pub type Answer = Pin<Box<dyn Future<Output = ToolReply> + Send>>;

/// Answers the calls of one program, in this process or in another one.
pub type Answerer = Arc<dyn Fn(ToolRequest) -> Answer + Send + Sync>;

/// Where a server's calls go.
#[derive(Clone)]
pub(super) enum Source {
    /// An application that serves the network. The request tells who calls.
    Network(Arc<App>),
    /// The client on the standard streams.
    Local(LocalClient),
}

/// The client on the standard streams: one process serves one.
#[derive(Clone)]
pub struct LocalClient {
    /// The session that the client named in the environment, or a new one.
    pub session: String,
    /// Answers its calls.
    pub answerer: Answerer,
}

impl Source {
    /// Answers a call. `parts` are those of the HTTP request.
    pub(super) async fn answer(&self, request: ToolRequest, parts: Option<&Parts>) -> ToolReply {
        match self {
            Source::Local(client) => (client.answerer)(request).await,
            Source::Network(app) => {
                let caller = match parts {
                    Some(parts) => Caller::of(&parts.extensions),
                    None => Caller::of(&http::Extensions::new()),
                };
                app.answer_tools(caller, request).await
            }
        }
    }

    /// The session of the process, if it serves one client.
    pub(super) fn session(&self) -> Option<&str> {
        match self {
            Source::Local(client) => Some(&client.session),
            Source::Network(_) => None,
        }
    }
}
