//! One client on the standard streams.

use std::io;

use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

use super::lines::Lines;
use super::server::McpServer;
use super::source::Source;
use super::{LocalClient, Offer};

/// Serves the client on stdin and stdout until it leaves.
///
/// # Errors
/// An [`io::Error`] where the runtime cannot be made, or the client's first message is no beginning of the protocol.
pub fn serve(offer: Offer, client: LocalClient) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = McpServer::new(offer, Source::Local(client));
    let served = runtime.block_on(async {
        let (input, output) = stdio_pipes();
        let gone = CancellationToken::new();
        let transport = Lines::new(input, output, gone.clone());
        match server.serve_with_ct(transport, gone.clone()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves before it says anything is no error.
            Err(_) if gone.is_cancelled() => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    // A stop does not wait for calls that are under way.
    runtime.shutdown_background();
    served
}
