//! Reconciling what sessions learned with what the team agreed on.
//!
//! [`plan`] says what main, the open conflicts and the log are to be; it reads and writes nothing. [`reconcile`] does that
//! to a worktree's files.

mod blocks;
mod claim;
mod open;
mod place;
mod plan;
mod resolve;
mod run;
mod runs;

pub use self::open::{FileToday, OpenConflict, open_conflicts, today};
pub use self::plan::{After, Before, Segment, Summary, plan};
pub use self::resolve::{Keep, ResolveError, resolve};
pub use self::run::{
    ARCHIVE, RECONCILED, ReconcileError, ReconcileOptions, Reconciled, SESSIONS_ARCHIVE, Steps, reconcile,
};

/// What two claims are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They say the same.
    Same,
    /// One says the same as the other, and more.
    Refines,
    /// They cannot both be so.
    Contradicts,
    /// One of the others, and nobody can say which.
    Doubt,
    /// They have nothing to do with each other.
    Unrelated,
}

/// Says what two texts are to each other, and why.
pub trait Judge: Sync {
    /// The older one comes first. It must say the same whichever way round, and whenever it is asked.
    fn judge(&self, older: &str, newer: &str) -> (Relation, String);
}

#[cfg(test)]
mod tests;
