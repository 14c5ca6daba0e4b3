//! Whether a file is the one that was loaded.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A file of `.muninn/` as it was when it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The file, as it is shown.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// When it was last modified.
    pub(crate) modified: SystemTime,
}
