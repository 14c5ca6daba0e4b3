//! Commands that reconcile sessions into main memory and resolve conflicts.

mod conflicts;
mod folds;
mod resolve;
mod run;
mod sides;
mod workspace;

pub(super) use conflicts::Conflicts;
pub(super) use resolve::Resolve;
pub(super) use run::Reconcile;
pub(super) use workspace::workspace;
