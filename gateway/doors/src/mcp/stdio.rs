//! One client on the standard streams.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

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
        let input = EndWatch { input, gone: gone.clone() };
        let transport = AsyncRwTransport::new_server(input, output);
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

/// Cancels the calls under way as soon as the client closes its end: the SDK would wait five seconds for them.
struct EndWatch<R> {
    input: R,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndWatch<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        if let Poll::Ready(done) = &read
            && (done.is_err() || is_end)
        {
            self.gone.cancel();
        }
        read
    }
}
