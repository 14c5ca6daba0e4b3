//! The worktree of a request, and the seed that keeps conversations of different worktrees apart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muninn_backend::access::{Caller, Door};
use muninn_session::ClaimedDirectories;
use thiserror::Error;
use tokio::task::JoinError;

use super::{App, Location, OpenError, Workspace};

/// Stands for a directory that a stranger is not told.
const HIDDEN: &str = "(a directory of the gateway)";

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
    /// The caller's key does not allow it. The text does not name it, because the caller may not know that it exists.
    #[error("the access key `{key}` does not allow this directory")]
    Forbidden { key: String },
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
    app.workspaces.locate(&claimed_directories.now, caller.own_root(), &may_use)
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
    /// The text of an error for a caller. A stranger learns neither the served directories nor which others exist.
    pub(super) fn enter_error_for(&self, caller: &Caller, error: &EnterError) -> String {
        let mut text = match error {
            EnterError::Forbidden { .. } | EnterError::Outside { .. } if caller.may(Door::Details).is_err() => {
                match caller.name() {
                    "" => "the gateway does not serve this directory to other users".to_owned(),
                    key => EnterError::Forbidden { key: key.to_owned() }.to_string(),
                }
            }
            error => error.to_string(),
        };
        self.hide_directories(caller, &mut text);
        text
    }

    /// Replaces the paths of the gateway's directories in an error, unless the caller may see them.
    pub fn hide_directories(&self, caller: &Caller, error: &mut String) {
        if caller.may(Door::Details).is_ok() {
            return;
        }
        let open = self.workspaces.all();
        let settings = self.settings();
        let mut directories: Vec<&Path> = open.iter().map(|workspace| &*workspace.root).collect();
        directories.extend(settings.config.roots.iter().map(PathBuf::as_path));
        directories.push(&self.state_dir);
        directories.extend(settings.config.file.as_deref());
        directories.extend(self.personal.as_ref().map(|personal| personal.root()));
        // The longest first: a directory can lie in another one. The root of the file system says nothing.
        directories.retain(|directory| directory.parent().is_some());
        directories.sort_by_key(|directory| std::cmp::Reverse(directory.as_os_str().len()));
        for directory in directories {
            let directory = directory.display().to_string();
            if error.contains(&directory) {
                *error = error.replace(&directory, HIDDEN);
            }
        }
    }

    /// The workspace of a directory, if the caller may use it; without a directory, the served one. `within` bounds the
    /// wait for it to open.
    pub(crate) async fn workspace_at(
        self: &Arc<App>,
        caller: &Caller,
        directory: Option<String>,
        within: Duration,
    ) -> Result<Arc<Workspace>, EnterError> {
        let claimed: Vec<String> = directory.into_iter().collect();
        let location = self.workspaces.locate(&claimed, caller.own_root(), &|root| caller.may_use_root(root));
        enter(self, caller, location, &claimed, within).await
    }
}

/// The workspace of a request, opened on a blocking thread if necessary. A request waits for it at most `within`; the
/// opening continues for the next request.
pub(super) async fn enter(
    app: &Arc<App>,
    caller: &Caller,
    location: Location,
    claimed: &[String],
    within: Duration,
) -> Result<Arc<Workspace>, EnterError> {
    let root = match location {
        Location::Open(workspace) => {
            return match &workspace.problem {
                Some(problem) => Err(OpenError::NoRepository(problem.clone()).into()),
                None => Ok(workspace),
            };
        }
        Location::Closed(root) => root,
        Location::Forbidden(_) => {
            let key = caller.name().to_owned();
            return Err(EnterError::Forbidden { key });
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
    match tokio::time::timeout(within, opening).await {
        Ok(Ok(opened)) => Ok(opened?),
        Ok(Err(error)) => Err(EnterError::Panicked { root, error }),
        Err(_) => Err(EnterError::StillOpening(root)),
    }
}
