//! What benchmarks start with: the mock, this repository, and a runtime.

use std::io;
use std::path::{Path, PathBuf};

use tokio::runtime::Runtime;

use crate::client::ClientError;
use crate::limits::LimitError;
use crate::upstream::Upstream;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The mock could not be started.
    #[error("the mock backend on port {0}")]
    Upstream(u16, #[source] io::Error),
    /// The runtime of the client could not be made.
    #[error("the client's runtime")]
    Runtime(#[source] io::Error),
    /// A request failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// So many connections cannot be opened.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The repository that the gateway is to serve is not there.
    #[error("the repository {0:?}")]
    Root(PathBuf, #[source] io::Error),
}

/// The mock on this port; 0 takes a free one.
///
/// # Errors
/// When the port is taken, or the mock's thread cannot start.
pub fn upstream(port: u16) -> Result<Upstream, BenchError> {
    Upstream::start(port).map_err(|error| BenchError::Upstream(port, error))
}

/// The client's runtime, all on one thread.
///
/// # Errors
/// When the system refuses.
pub fn runtime() -> Result<Runtime, BenchError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(BenchError::Runtime)
}

/// The repository that this benchmark belongs to.
///
/// # Errors
/// When it is not where it was built.
pub fn repository() -> Result<PathBuf, BenchError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().map_err(|error| BenchError::Root(root, error))
}
