use std::sync::Arc;

use muninn_backend::access::Caller;
use muninn_base::Until;

use crate::{App, Workspace};

/// The circumstances of a call: who calls, from where, in which worktree.
pub struct ToolSession {
    /// The application.
    pub(super) app: Arc<App>,
    /// The worktree.
    pub(super) workspace: Arc<Workspace>,
    pub(super) caller: Caller,
    /// The client's name, for receipts.
    pub(super) client: String,
    /// The client's session.
    pub(super) session: Option<String>,
    /// The deadline.
    pub(super) until: Until,
}
