//! The common start of benchmarks: the mock backend, this repository, and a runtime.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::command_line::at;
use crate::upstream::Upstream;

/// The mock on this port; 0 takes a free one.
///
/// # Errors
/// When the port is taken, or the mock's thread cannot start.
pub fn upstream(port: u16) -> Result<Upstream> {
    Upstream::start(port).with_context(|| format!("the mock backend on port {port}"))
}

/// The client's runtime, all on one thread.
///
/// # Errors
/// When the system refuses.
pub fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("the client's runtime")
}

/// The repository that this benchmark belongs to.
///
/// # Errors
/// When it is not where it was built.
pub fn repository() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().with_context(at(&root))
}
