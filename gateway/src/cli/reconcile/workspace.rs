use muninn_base::with_causes;
use muninn_core::{ChoreError, Workspace};
use muninn_reconcile::{ReconcileError, ResolveError};

use super::super::{CliError, Common, Exit, output};

/// Opens the workspace, and warns of a repository configuration that is ignored.
pub(crate) fn workspace(common: &Common) -> Result<Workspace, CliError> {
    let workspace = common.workspace()?;
    if let Some(problem) = &workspace.settings().problem {
        output::note(&problem.to_string());
    }
    Ok(workspace)
}

impl From<ChoreError> for CliError {
    fn from(error: ChoreError) -> Self {
        let failure = CliError::new(Exit::Failure, with_causes(&error));
        match error {
            ChoreError::Memory(error) => error.into(),
            ChoreError::Reconcile(ReconcileError::NotDefault { default, .. }) => {
                failure.hint(format!("check out {default}, or reconcile on this branch with --here"))
            }
            ChoreError::Reconcile(ReconcileError::Changed { .. }) => {
                failure.hint("no record is lost; run the command again")
            }
            ChoreError::Reconcile(ReconcileError::Busy) => {
                failure.hint("wait until it is done, and run the command again")
            }
            ChoreError::Resolve(error) => {
                let message = with_causes(&error);
                match error {
                    ResolveError::Id(error) => error.into(),
                    ResolveError::LongNote(_) | ResolveError::LongText(_) => {
                        CliError::new(Exit::Usage, message).hint("shorten it")
                    }
                    ResolveError::NoText | ResolveError::NoSide { .. } => CliError::new(Exit::Usage, message),
                    ResolveError::NoProposal => CliError::new(Exit::Usage, message)
                        .hint("choose the sides with --keep, or write a text with --write"),
                    ResolveError::OtherPairs => CliError::new(Exit::Failure, message)
                        .hint("`muninn conflicts --undecided --json` prints the pairs and the id of now"),
                    ResolveError::Answer(_) => CliError::new(Exit::Failure, message),
                    ResolveError::Head(_) | ResolveError::Files(_) => CliError::new(Exit::Failure, message),
                }
            }
            ChoreError::Reconcile(
                ReconcileError::Head(_) | ReconcileError::Directory(_) | ReconcileError::Io { .. },
            )
            | ChoreError::Store(_)
            | ChoreError::Judge(_)
            | ChoreError::BlockingClient(_) => failure,
        }
    }
}
