use std::sync::Arc;

use muninn_base::Task;

use super::marks::Marks;
use super::shared::Shared;

/// Watches directories until it is dropped.
pub struct Watcher {
    pub(crate) shared: Arc<Shared>,
    pub(crate) marks: Marks,
    pub(crate) setter: Option<Task>,
}
