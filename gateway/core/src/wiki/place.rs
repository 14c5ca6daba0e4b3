//! Where the wiki of a worktree is.

use std::path::{Component, Path, PathBuf};

use muninn_base::RelPath;
use muninn_config::WikiConfig;
use muninn_notebooks::wiki::WikiError;

/// The folder of a wiki in a worktree, relative to its root; `None` for the root itself and for a folder elsewhere.
pub fn wiki_inside(root: &Path, settings: &WikiConfig) -> Option<RelPath> {
    let path = settings.path.strip_prefix(root).unwrap_or(&settings.path);
    RelPath::from_relative(path).filter(|path| !path.as_str().is_empty())
}

/// The folder of a worktree's wiki. A relative path must lie in the worktree, and no part of it may be a link: a repository
/// must not lead to other files of the user.
pub fn wiki_folder(root: &Path, settings: &WikiConfig) -> Result<PathBuf, WikiError> {
    if settings.path.is_absolute() {
        return Ok(settings.path.clone());
    }
    let mut folder = root.to_owned();
    for part in settings.path.components() {
        folder.push(part);
        let is_real = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_real || matches!(part, Component::ParentDir) {
            return Err(WikiError::NoFolder(folder));
        }
    }
    Ok(folder)
}
