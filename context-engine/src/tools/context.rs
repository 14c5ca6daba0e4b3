//! The context of a tool call: worktree, index, memories, scope and deadline.

use muninn_base::{RelPath, Until};
use muninn_index::Snapshot;
use muninn_recall::Memories;
use muninn_repo_tools::{FileFilter, Worktree};

use super::ToolError;
use super::arguments::{Globs, PathArgument};

/// The context of a tool call: worktree, index, memories, scope and deadline.
#[derive(Clone)]
pub struct ToolContext<'a> {
    pub worktree: &'a Worktree,
    /// The index. Without one, tools search the files directly.
    pub snapshot: Option<&'a Snapshot>,
    /// The team's memories.
    pub memories: &'a Memories,
    /// Maximum size of a file to parse or search, in bytes; a text search reads files up to 1 MiB in any case.
    pub max_file_bytes: u64,
    /// The directory that tools may read; `None` for the whole worktree.
    pub scope: Option<&'a RelPath>,
    /// The deadline.
    pub until: Until,
}

impl ToolContext<'_> {
    /// Returns the files and directories that arguments name, checked against the scope. Without arguments, returns the
    /// scope, or nothing for the whole worktree.
    pub(crate) fn under(&self, paths: &[PathArgument]) -> Result<Vec<RelPath>, ToolError> {
        let resolved = paths.iter().map(|path| path.resolve(self.worktree.root()));
        let resolved: Option<Vec<RelPath>> = resolved.collect::<Result<_, _>>()?;
        let under = resolved.unwrap_or_default();
        let Some(scope) = self.scope else { return Ok(under) };
        match under.iter().find(|path| !path.is_under(scope)) {
            Some(path) => Err(ToolError::OutOfScope { path: path.clone(), scope: scope.clone() }),
            None if under.is_empty() => Ok(vec![scope.clone()]),
            None => Ok(under),
        }
    }

    /// Returns the file that an argument names, checked against the scope.
    pub(super) fn file(&self, path: &PathArgument) -> Result<RelPath, ToolError> {
        let path = path.resolve(self.worktree.root())?.ok_or(ToolError::Root)?;
        if self.scope.is_none_or(|scope| path.is_under(scope)) {
            Ok(path)
        } else {
            Err(ToolError::FileOutOfScope(path))
        }
    }

    pub(super) fn filter(&self, paths: &[PathArgument], globs: &Globs) -> Result<FileFilter, ToolError> {
        Ok(FileFilter { globs: globs.0.clone(), under: self.under(paths)? })
    }

    /// Returns all indexed files in the scope; `None` without an index.
    pub(super) fn paths(&self) -> Option<Vec<RelPath>> {
        let within = |path: &RelPath| self.scope.is_none_or(|scope| path.is_under(scope));
        let files = self.snapshot?.files().map(|(_, file)| &file.facts.path);
        Some(files.filter(|path| within(path)).cloned().collect())
    }
}
