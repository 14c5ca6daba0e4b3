//! Which worktree a request is about, and what sets its conversation apart from those of other worktrees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio::task::JoinError;

use super::{App, OpenError, Place, Workspace};
use crate::access::Caller;
use crate::session::Workplace;

/// Why there is no repository for a request.
#[derive(Debug, Error)]
pub(super) enum EnterError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Opening it panicked.
    #[error("{} could not be opened: {error}", root.display())]
    Panicked { root: PathBuf, error: JoinError },
    /// It takes longer than a request waits.
    #[error("{} is still being opened", .0.display())]
    Late(PathBuf),
    /// The caller is shown nothing of it.
    #[error("the access key `{key}` is not for {}", root.display())]
    Forbidden { key: String, root: PathBuf },
    /// The request works in a place that is not served.
    #[error(
        "the request works in {place}, outside the served {}; to serve it too, add `roots = [{place:?}]` or a \
         directory above it to muninn.toml, or start `muninn serve --root {place}`",
        served.display()
    )]
    Outside { place: String, served: PathBuf },
}

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
/// [`EnterError`] where there is none for this request.
pub(super) async fn enter(
    app: &Arc<App>,
    caller: &Caller,
    place: Place,
    claimed: &[String],
) -> Result<Arc<Workspace>, EnterError> {
    let root = match place {
        Place::Open(workspace) => {
            return match &workspace.problem {
                Some(problem) => Err(OpenError::NoRepository(problem.clone()).into()),
                None => Ok(workspace),
            };
        }
        Place::Unopened(root) => root,
        Place::Forbidden(root) => {
            let key = caller.name().to_owned();
            return Err(EnterError::Forbidden { key, root });
        }
        Place::Outside => {
            return Err(EnterError::Outside {
                place: claimed.first().cloned().unwrap_or_default(),
                served: app.workspace.root.clone(),
            });
        }
    };
    let opening = tokio::task::spawn_blocking({
        let (app, root) = (Arc::clone(app), root.clone());
        move || app.workspaces.open(&root)
    });
    match tokio::time::timeout(app.workspaces.patience(), opening).await {
        Ok(Ok(opened)) => Ok(opened?),
        Ok(Err(error)) => Err(EnterError::Panicked { root, error }),
        Err(_) => Err(EnterError::Late(root)),
    }
}
