//! What may be recalled, and how much of it.

use muninn_repo_tools::RelPath;

use crate::memories::Memory;
use crate::records::Moment;

/// Tells the blob id that a file has now, in hexadecimal digits; `None` where there is no such file.
pub type BlobLookup<'a> = &'a dyn Fn(&RelPath) -> Option<String>;

/// RecordSelection memories are looked through. Each condition holds before the best are taken, so that what it excludes takes
/// nobody's place; an empty list asks for nothing. Sections of knowledge have neither type, date, task nor session, and
/// so are left out wherever one of these is asked for.
#[derive(Clone, Copy)]
pub struct RecallOptions<'a> {
    /// So many are returned at most.
    pub keep: usize,
    /// Only records of these types; empty for all but `context_hit`, which says nothing by itself and counts where files
    /// are ranked.
    pub types: &'a [&'a str],
    /// Only what was written at this time or later, in the form of records: `2026-01-07T10:00:00Z`, or its beginning.
    pub since: Option<&'a Moment>,
    /// Only what was learned at this task.
    pub task: Option<&'a str>,
    /// Only what is about one of these files or folders.
    pub paths: &'a [RelPath],
    /// Only what these sessions wrote.
    pub sessions: &'a [&'a str],
    /// Only what was written on this branch.
    pub branch: Option<&'a str>,
    /// With it, memories whose cited files are others by now are recalled lower and said to be stale.
    pub blob_of: Option<BlobLookup<'a>>,
}

impl Default for RecallOptions<'_> {
    fn default() -> Self {
        Self {
            keep: 10,
            types: &[],
            since: None,
            task: None,
            paths: &[],
            sessions: &[],
            branch: None,
            blob_of: None,
        }
    }
}

impl RecallOptions<'_> {
    /// Whether records of a type may be recalled at all; `None` is the type of knowledge.
    pub(super) fn allow_type(&self, name: Option<&str>) -> bool {
        match name {
            Some(name) if !self.types.is_empty() => self.types.contains(&name),
            name => self.types.is_empty() && name != Some("context_hit"),
        }
    }

    /// Whether types are all that is asked for.
    pub(super) fn is_of_types_alone(&self) -> bool {
        self.sessions.is_empty() && self.paths.is_empty() && self.task.or(self.branch).is_none() && self.since.is_none()
    }

    /// Whether a memory may be recalled, its type aside. Knowledge is about the files that `applies_to` tells.
    pub(super) fn allow(&self, memory: &Memory, applies_to: &dyn Fn(&RelPath) -> bool) -> bool {
        let is = |wanted: Option<&str>, value: &Option<String>| wanted.is_none() || wanted == value.as_deref();
        let about = |path: &RelPath| applies_to(path) || memory.cites.iter().any(|cited| cited.path.is_under(path));
        let late_enough = |since: &Moment| memory.date.as_ref().is_some_and(|date| date >= since);
        let is_among = |session: &str| self.sessions.contains(&session);
        (self.sessions.is_empty() || memory.session.as_deref().is_some_and(is_among))
            && is(self.task, &memory.task)
            && is(self.branch, &memory.branch)
            && self.since.is_none_or(late_enough)
            && (self.paths.is_empty() || self.paths.iter().any(about))
    }

    /// Whether a file that a memory rests on is another by now.
    pub(super) fn stale(&self, memory: &Memory) -> bool {
        let changed = |blob_of: BlobLookup<'_>| {
            let mut cites = memory.cites.iter();
            cites.any(|cited| blob_of(&cited.path).as_deref() != Some(cited.blob.as_str()))
        };
        self.blob_of.is_some_and(changed)
    }
}
