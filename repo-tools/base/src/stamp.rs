//! The stamp of a loaded file, which detects changes.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Path, size and modification time of a loaded file of `.muninn/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The displayed path.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    pub modified: SystemTime,
}
