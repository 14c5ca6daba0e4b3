use std::sync::Arc;

use muninn_backend::BlockingClient;
use muninn_ledger::Store;

/// What a summary needs of the application, which is built with the thread that learns.
pub trait SummarizerHost: Send + Sync {
    /// The client for the gateway's own requests to models; absent where its thread cannot be started.
    fn blocking_client(&self) -> Option<&BlockingClient>;

    /// The store of receipts, if there is one.
    fn store(&self) -> Option<&Arc<dyn Store>>;
}
