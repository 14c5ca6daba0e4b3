//! The team's chores: what sessions learned becomes main memory, and people settle what contradicts itself.

mod conflicts;
mod resolve;
mod run;
mod sides;

use muninn_memory::Store;

use super::{CliError, Common, Exit};
use crate::causes::with_causes;
use crate::config::paths;
use crate::server::Repository;

pub(super) use conflicts::Conflicts;
pub(super) use resolve::Resolve;
pub(super) use run::Reconcile;

/// A worktree's memory, and what main may take in bytes once it is pruned.
fn store(common: &Common) -> Result<(Store, u64), CliError> {
    let config = common.configuration(None)?;
    let repository = Repository::open(&common.directory()?, &config, &paths::state_dir()?);
    let max_main_bytes = repository.settings().memory.max_main_bytes;
    let store = repository.memory.ok_or_else(|| {
        CliError::new(Exit::NotFound, repository.problem.unwrap_or_default())
            .hint("run it inside a git repository, or name one with --root DIR")
    })?;
    Ok((store, max_main_bytes))
}
