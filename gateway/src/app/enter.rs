//! The worktree of a request, and the seed that keeps conversations of different worktrees apart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio::task::JoinError;

use super::{App, Location, OpenError, Workspace};
use crate::access::Caller;
use crate::session::ClaimedDirectories;

/// Why a request gets no repository.
#[derive(Debug, Error)]
pub(crate) enum EnterError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Opening it panicked.
    #[error("{} could not be opened: {error}", root.display())]
    Panicked { root: PathBuf, error: JoinError },
    /// Opening takes longer than a request waits.
    #[error("{} is still being opened", .0.display())]
    StillOpening(PathBuf),
    /// The caller's key does not allow it.
    #[error("the access key `{key}` does not allow {}", root.display())]
    Forbidden { key: String, root: PathBuf },
    /// The request works outside of all served roots.
    #[error(
        "the request works in {directory}, outside the served {}; to serve it too, add `roots = [{directory:?}]` or a \
         directory above it to muninn.toml, or start `muninn serve --root {directory}`",
        served.display()
    )]
    Outside { directory: String, served: PathBuf },
}

/// The worktree of a request.
pub(super) fn locate(app: &App, caller: &Caller, claimed_directories: &ClaimedDirectories) -> Location {
    let may_use = |root: &Path| caller.may_use_root(root);
    app.workspaces
        .locate(&claimed_directories.now, caller.own_root(), &may_use)
}

/// The seed of a conversation's chain: the worktree that the conversation opened in, even if it has moved since. A
/// directory that is not served is its own seed.
pub(super) fn seed(app: &App, caller: &Caller, claimed_directories: &ClaimedDirectories) -> String {
    let served = || app.workspace.root.to_string_lossy().into_owned();
    let root_of = |claim: &String| {
        let root = app.workspaces.root_of(claim, caller.own_root())?;
        Some(root.to_string_lossy().into_owned())
    };
    match (&claimed_directories.opening, &claimed_directories.opening_messages) {
        (Some(first), _) => root_of(first).unwrap_or_else(|| first.clone()),
        // The claim stands behind the first human text, which clients may send before it or with another claim. So a
        // directory that is not served must not change the seed.
        (None, Some(opening)) => root_of(opening).unwrap_or_else(served),
        (None, None) => served(),
    }
}

impl App {
    /// The workspace of a directory, if the caller may use it; without a directory, the served one.
    ///
    /// # Errors
    /// [`EnterError`].
    pub(crate) async fn workspace_at(
        self: &Arc<App>,
        caller: &Caller,
        directory: Option<String>,
    ) -> Result<Arc<Workspace>, EnterError> {
        let claimed: Vec<String> = directory.into_iter().collect();
        let location = self
            .workspaces
            .locate(&claimed, caller.own_root(), &|root| caller.may_use_root(root));
        enter(self, caller, location, &claimed).await
    }
}

/// The workspace of a request, opened on a blocking thread if necessary. A request waits for it at most its deadline; the
/// opening continues for the next request.
///
/// # Errors
/// [`EnterError`].
pub(super) async fn enter(
    app: &Arc<App>,
    caller: &Caller,
    location: Location,
    claimed: &[String],
) -> Result<Arc<Workspace>, EnterError> {
    let root = match location {
        Location::Open(workspace) => {
            return match &workspace.problem {
                Some(problem) => Err(OpenError::NoRepository(problem.clone()).into()),
                None => Ok(workspace),
            };
        }
        Location::Closed(root) => root,
        Location::Forbidden(root) => {
            let key = caller.name().to_owned();
            return Err(EnterError::Forbidden { key, root });
        }
        Location::Outside => {
            return Err(EnterError::Outside {
                directory: claimed.first().cloned().unwrap_or_default(),
                served: app.workspace.root.clone(),
            });
        }
    };
    let opening = async {
        let lock = app.workspaces.opening(&root).lock_owned().await;
        let (app, caller, root) = (Arc::clone(app), caller.clone(), root.clone());
        tokio::task::spawn_blocking(move || {
            let opened = app.workspaces.open(&root, caller.own_root());
            drop(lock);
            opened
        })
        .await
    };
    match tokio::time::timeout(app.workspaces.open_timeout(), opening).await {
        Ok(Ok(opened)) => Ok(opened?),
        Ok(Err(error)) => Err(EnterError::Panicked { root, error }),
        Err(_) => Err(EnterError::StillOpening(root)),
    }
}
