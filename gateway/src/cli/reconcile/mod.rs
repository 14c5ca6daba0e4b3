//! The team's chores: what sessions learned becomes main memory, and people settle what contradicts itself.

mod conflicts;
mod resolve;
mod run;
mod sides;

use muninn_memory::reconcile::{ReconcileError, ResolveError};

use super::{CliError, Common, Exit, output};
use crate::app::{ChoreError, Workspace};
use muninn_repo_tools::with_causes;

pub(super) use conflicts::Conflicts;
pub(super) use resolve::Resolve;
pub(super) use run::Reconcile;

/// The workspace, after a word about a configuration of the repository's that is ignored.
fn workspace(common: &Common) -> Result<Workspace, CliError> {
    let workspace = common.workspace()?;
    if let Some(problem) = &workspace.settings().problem {
        output::note(&problem.to_string());
    }
    Ok(workspace)
}

impl From<ChoreError> for CliError {
    fn from(error: ChoreError) -> Self {
        let failed = CliError::new(Exit::Failure, with_causes(&error));
        match error {
            ChoreError::Memory(error) => error.into(),
            ChoreError::Reconcile(ReconcileError::NotDefault { default, .. }) => {
                failed.hint(format!("check out {default}, or say --here to do it on this branch"))
            }
            ChoreError::Reconcile(ReconcileError::Changed { .. }) => failed.hint("nothing is lost; run it again"),
            ChoreError::Reconcile(ReconcileError::Busy) => failed.hint("wait for it, and ask again"),
            ChoreError::Resolve(error) => {
                let exit = match error {
                    ResolveError::Unknown(_) | ResolveError::Ambiguous(_) => Exit::NotFound,
                    ResolveError::LongNote(_) => Exit::Usage,
                    ResolveError::Files(_) => Exit::Failure,
                };
                CliError::new(exit, with_causes(&error)).hint("`muninn conflicts` lists the open ones")
            }
            ChoreError::Reconcile(ReconcileError::Directory(_) | ReconcileError::Io { .. })
            | ChoreError::Store(_)
            | ChoreError::Courier(_) => failed,
        }
    }
}
