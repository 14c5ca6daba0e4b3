//! The endpoint `/mcp` of a gateway.

use std::sync::Arc;

use axum::routing::{MethodRouter, any_service};
use muninn_core::App;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::Offer;
use super::server::McpServer;
use super::source::Source;

/// The most bytes of a request.
const MAX_BODY_BYTES: usize = 1 << 20;

/// The service of the endpoint. Host, origin and access key are checked by the server that mounts it.
pub fn service(app: &Arc<App>, offer: &Offer) -> MethodRouter {
    let server = McpServer::new(offer.clone(), Source::Network(Arc::clone(app)));
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(app.supervisor.stopping().clone());
    any_service(StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    ))
}
