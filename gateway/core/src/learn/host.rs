use std::sync::Arc;

use muninn_backend::BlockingClient;
use muninn_ledger::Store;

/// The parts of the application that a summary uses. The learning thread starts before the application is built, so it gets
/// this trait instead of the application.
pub trait SummarizerHost: Send + Sync {
    /// The client for the gateway's own requests to models; absent where its thread cannot be started.
    fn blocking_client(&self) -> Option<&BlockingClient>;

    /// The store of receipts, if there is one.
    fn store(&self) -> Option<&Arc<dyn Store>>;
}
