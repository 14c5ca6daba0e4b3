use std::path::Path;

use muninn_base::RelPath;

use super::file_use::NamedFile;

/// The directories against which paths are resolved.
pub(crate) struct PathResolver<'a> {
    pub(crate) root: &'a Path,
    pub(crate) claimed: &'a [String],
}

impl PathResolver<'_> {
    /// The files of the worktree that a named path may mean: none for a path outside, several if its base directory is
    /// unknown.
    pub(crate) fn resolve(&self, named: &NamedFile) -> Vec<RelPath> {
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

    /// A path relative to the worktree. A client may know the root by another name, such as a symbolic link; then a claimed
    /// directory stands for the root.
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

/// A path with `.` and `..` resolved lexically.
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
