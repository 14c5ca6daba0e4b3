//! Checks the places that memories cite against a worktree.

use std::cell::RefCell;
use std::collections::HashMap;

use muninn_base::RelPath;
use muninn_index::Snapshot;
use muninn_repo_tools::Worktree;
use muninn_team::citations::{Citation, CitationState};
use muninn_team::memories::Memory;

/// Maximum number of files that are searched for the content of a file that is gone.
const MAX_ELSEWHERE: usize = 64;

/// Compares citations with a worktree, each once.
pub struct Citations<'a> {
    worktree: &'a Worktree,
    /// The files in which moved content is searched; `None` if no index exists yet.
    snapshot: Option<&'a Snapshot>,
    known: RefCell<HashMap<Citation, CitationState>>,
}

impl<'a> Citations<'a> {
    pub(crate) fn new(worktree: &'a Worktree, snapshot: Option<&'a Snapshot>) -> Self {
        Self { worktree, snapshot, known: RefCell::default() }
    }

    /// The state of a citation on disk.
    pub fn state(&self, citation: &Citation) -> CitationState {
        let known = self.known.borrow().get(citation).cloned();
        known.unwrap_or_else(|| {
            let state = citation.state(self.worktree, &|gone| self.elsewhere(gone));
            self.known.borrow_mut().insert(citation.clone(), state.clone());
            state
        })
    }

    /// Whether all places that a memory cites are gone, and it cites one.
    pub fn are_gone(&self, memory: &Memory) -> bool {
        let is_gone = |citation: &Citation| self.state(citation) == CitationState::Gone;
        !memory.cites.is_empty() && memory.cites.iter().all(is_gone)
    }

    /// Whether a cited content has changed, by the index where it knows the file. It reads a file only if lines of it are
    /// cited.
    pub(crate) fn is_stale(&self, citation: &Citation) -> bool {
        let indexed = self.snapshot.and_then(|snapshot| snapshot.find(&citation.path));
        let is_same = indexed.is_some_and(|(_, file)| Some(file.facts.blob.to_string()) == citation.blob);
        !is_same && (citation.lines.is_none() || self.state(citation).is_stale())
    }

    /// The files that can have the content of a file that is gone: those with its blob, its name, or its directory and
    /// extension.
    fn elsewhere(&self, citation: &Citation) -> Vec<RelPath> {
        let gone = citation.path.as_str();
        let parts = |path: &str| {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            (directory.to_owned(), name.to_owned(), name.rsplit_once('.').map(|(_, extension)| extension.to_owned()))
        };
        let (directory, name, extension) = parts(gone);
        let files = self.snapshot.into_iter().flat_map(Snapshot::files);
        let ranked = files.filter_map(|(_, file)| {
            let other = parts(file.facts.path.as_str());
            let rank = match () {
                () if citation.blob.as_ref().is_some_and(|blob| file.facts.blob.to_string() == *blob) => 0,
                () if other.1 == name => 1,
                () if other.0 == directory && other.2 == extension => 2,
                () => return None,
            };
            Some((rank, &file.facts.path))
        });
        let mut ranked: Vec<(u8, &RelPath)> = ranked.collect();
        ranked.sort();
        ranked.into_iter().take(MAX_ELSEWHERE).map(|(_, path)| path.clone()).collect()
    }
}
