//! What a call of a client's tool does with the files of a worktree, whatever client and format it is of.

mod named;
mod shell;

use std::path::Path;

use muninn_repo_tools::RelPath;

pub(super) use named::{Call, How, Named};

/// Where relative paths may count from.
pub(super) struct Places<'a> {
    pub(super) root: &'a Path,
    pub(super) claimed: &'a [String],
}

impl Places<'_> {
    /// The files of the worktree that a named path may be: none for one outside, several where it is not said what it
    /// counts from.
    pub(super) fn resolve(&self, named: &Named) -> Vec<RelPath> {
        let path = Path::new(&named.path);
        let claimed = self.claimed.iter().map(Path::new);
        let mut froms = vec![self.root.to_owned()];
        froms.extend(claimed.map(Path::to_owned));
        if let Some(directory) = &named.directory {
            froms = froms.iter().map(|from| from.join(directory)).collect();
        }
        let mut resolved: Vec<RelPath> = Vec::new();
        for from in froms {
            let relative = self.below(&plain(&from.join(path)));
            resolved.extend(relative.filter(|path| !resolved.contains(path)));
        }
        resolved
    }

    /// A path relative to the worktree. A client may know it by another name than its real one, as the first directory
    /// that it claims; then the claim stands for the root.
    fn below(&self, path: &Path) -> Option<RelPath> {
        let below_root = path.strip_prefix(self.root).ok();
        let below_claim = || {
            self.claimed
                .iter()
                .filter(|claim| !Path::new(claim).starts_with(self.root))
                .find_map(|claim| path.strip_prefix(claim).ok())
        };
        RelPath::from_relative(below_root.or_else(below_claim)?)
    }
}

/// A path without `.` and `..`, by its words alone.
fn plain(path: &Path) -> std::path::PathBuf {
    use std::path::Component;
    let mut plain = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
