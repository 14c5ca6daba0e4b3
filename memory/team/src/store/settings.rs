use std::path::PathBuf;
use std::sync::Arc;

use muninn_base::Clock;
use muninn_repo_tools::Checkout;
use parking_lot::Mutex;

use super::branches::DefaultBranchSegments;
use super::scope::Scope;
use crate::records::{Durability, Home, Spool};

/// Settings of a memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSettings {
    /// When live records are durable.
    pub durability: Durability,
    /// The short name of the default branch; `None` to ask git.
    pub default_branch: Option<String>,
    /// The segments that are read on it.
    pub default_branch_segments: DefaultBranchSegments,
}

/// One memory. Clones share cached facts about its files.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) home: Home,
    pub(crate) dir: PathBuf,
    pub(crate) spool: Spool,
    pub(crate) settings: StoreSettings,
    pub(crate) clock: Clock,
    pub(crate) scope: Arc<Mutex<Scope>>,
    /// The checkout at the last flush of all sessions.
    pub(crate) swept: Arc<Mutex<Option<Checkout>>>,
}
