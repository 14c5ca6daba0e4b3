//! The stamp of a loaded file, which detects changes.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Path, size and modification time of a loaded file of `.muninn/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The displayed path.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
}
