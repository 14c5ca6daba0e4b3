//! Which worktree a request is about, and what sets its conversation apart from those of other worktrees.

use std::path::Path;
use std::sync::Arc;

use super::{App, Place, Workspace};
use crate::access::Caller;
use crate::session::Workplace;

/// The worktree of a request.
pub(super) fn locate(app: &App, caller: &Caller, workplace: &Workplace) -> Place {
    let may_use = |root: &Path| caller.may_use_root(root);
    app.workspaces.locate(&workplace.now, &may_use)
}

/// What seeds the conversation's chain: the worktree that it opened in, and never where it has moved since. A place that
/// is not served stands for itself.
pub(super) fn seed(app: &App, workplace: &Workplace) -> String {
    let served = || app.workspace.root.to_string_lossy().into_owned();
    let root_of = |claim: &String| {
        let root = app.workspaces.root_of(claim)?;
        Some(root.to_string_lossy().into_owned())
    };
    match (&workplace.at_first, &workplace.in_opening) {
        (Some(first), _) => root_of(first).unwrap_or_else(|| first.clone()),
        // Behind the person's first words, so a place that is not served must not count: clients may say it later, or
        // otherwise, and have said the words before.
        (None, Some(opening)) => root_of(opening).unwrap_or_else(served),
        (None, None) => served(),
    }
}

/// The worktree's repository, opened if need be on a thread of its own. A request waits for that no longer than it would
/// for an answer of the repository; the opening goes on, for the next one.
///
/// # Errors
/// In words, why there is none for this request.
pub(super) async fn enter(
    app: &Arc<App>,
    caller: &Caller,
    place: Place,
    claimed: &[String],
) -> Result<Arc<Workspace>, String> {
    let root = match place {
        Place::Open(workspace) => {
            return match &workspace.problem {
                Some(problem) => Err(problem.clone()),
                None => Ok(workspace),
            };
        }
        Place::Unopened(root) => root,
        Place::Forbidden(root) => return Err(not_for_this_key(caller, &root)),
        Place::Outside => return Err(outside(app, claimed)),
    };
    let opening = tokio::task::spawn_blocking({
        let (app, root) = (Arc::clone(app), root.clone());
        move || app.workspaces.open(&root)
    });
    match tokio::time::timeout(app.workspaces.patience(), opening).await {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => Err(format!("{} could not be opened: {error}", root.display())),
        Err(_) => Err(format!("{} is still being opened", root.display())),
    }
}

/// Why a caller is shown nothing of a repository.
fn not_for_this_key(caller: &Caller, root: &Path) -> String {
    format!("the access key `{}` is not for {}", caller.name(), root.display())
}

fn outside(app: &App, claimed: &[String]) -> String {
    let place = claimed.first().map(String::as_str).unwrap_or_default();
    let root = app.workspace.root.display();
    format!(
        "the request works in {place}, outside the served {root}; to serve it too, add `roots = [{place:?}]` or a \
         directory above it to muninn.toml, or start `muninn serve --root {place}`"
    )
}
