//! The team's chores: what sessions learned becomes main memory, and people settle what contradicts itself.

mod conflicts;
mod resolve;
mod run;
mod sides;

use muninn_memory::Store;
use muninn_memory::reconcile::{OpenConflict, open_conflicts};
use muninn_repo_tools::Worktree;

use super::{CliError, Common, Exit, output};
use crate::causes::with_causes;
use crate::config::{Config, paths};
use crate::server::Repository;

pub(super) use conflicts::Conflicts;
pub(super) use resolve::Resolve;
pub(super) use run::Reconcile;

/// A worktree's memory, and what main may take in bytes once it is pruned.
fn store_of(common: &Common, config: &Config) -> Result<(Store, u64), CliError> {
    let repository = Repository::open(&common.directory()?, config, &paths::state_dir()?);
    repository.move_old_sessions();
    let settings = repository.settings();
    if let Some(problem) = &settings.problem {
        output::note(&problem.to_string());
    }
    let max_main_bytes = settings.memory.max_main_bytes;
    let store = repository.memory.ok_or_else(|| {
        CliError::new(Exit::NotFound, repository.problem.unwrap_or_default())
            .hint("run it inside a git repository, or name one with --root DIR")
    })?;
    Ok((store, max_main_bytes))
}

/// The conflicts that wait for a person.
fn open_in(worktree: &Worktree) -> Result<Vec<OpenConflict>, CliError> {
    open_conflicts(worktree).map_err(|error| CliError::new(Exit::Failure, with_causes(&error)))
}
