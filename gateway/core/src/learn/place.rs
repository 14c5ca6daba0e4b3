use muninn_team::knowledge::metis::current_task;
use muninn_team::learn::LearnContext;
use muninn_team::records::Origin;
use muninn_team::store::Store;

use crate::Workspace;

/// The context of records that are learned now.
pub fn place<'a>(workspace: &Workspace, store: &'a Store, origin: Origin) -> LearnContext<'a> {
    LearnContext {
        home: store.home(),
        clock: store.clock(),
        origin: Origin { task: store.home().worktree().and_then(current_task), ..origin },
        with_text: workspace.settings().memory.with_text,
    }
}
