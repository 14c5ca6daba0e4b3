//! Filters and limits of a recall.

use muninn_base::RelPath;
use muninn_team::citations::Citation;
use muninn_team::memories::Memory;
use muninn_team::records::Moment;

/// Returns whether a cited content has changed.
pub type IsStale<'a> = &'a dyn Fn(&Citation) -> bool;

/// Filters of a recall. They apply before the best are selected; an empty list is no filter. Sections of knowledge have
/// no type, date, task or session, so any of these filters excludes them.
#[derive(Clone, Copy)]
pub struct RecallOptions<'a> {
    /// Maximum number of results.
    pub keep: usize,
    /// Only records of these types; empty for all but `context_hit`, which has no text of its own and only affects the
    /// ranking of files.
    pub types: &'a [&'a str],
    /// Only records written at this time or later: `2026-01-07T10:00:00Z`, or a prefix of it.
    pub since: Option<&'a Moment>,
    /// Only records of this task.
    pub task: Option<&'a str>,
    /// Only memories about one of these files or folders.
    pub paths: &'a [RelPath],
    /// Only records of these sessions.
    pub sessions: &'a [&'a str],
    /// Only records of this branch.
    pub branch: Option<&'a str>,
    /// If given, memories of which a cited content has changed are marked stale and ranked lower.
    pub is_stale: Option<IsStale<'a>>,
}

impl Default for RecallOptions<'_> {
    fn default() -> Self {
        Self { keep: 10, types: &[], since: None, task: None, paths: &[], sessions: &[], branch: None, is_stale: None }
    }
}

impl RecallOptions<'_> {
    /// Returns whether a record type passes the filter; `None` is knowledge.
    pub(super) fn allow_type(&self, name: Option<&str>) -> bool {
        match name {
            Some(name) if !self.types.is_empty() => self.types.contains(&name),
            name => self.types.is_empty() && name != Some("context_hit"),
        }
    }

    /// Returns whether there is no filter except types.
    pub(super) fn filters_by_type_only(&self) -> bool {
        self.sessions.is_empty() && self.paths.is_empty() && self.task.or(self.branch).is_none() && self.since.is_none()
    }

    /// Returns whether a memory passes all filters except types. `applies_to` matches the files that a section is
    /// about.
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

    /// Returns whether a cited content has changed.
    pub(super) fn stale(&self, memory: &Memory) -> bool {
        self.is_stale.is_some_and(|is_stale| memory.cites.iter().any(is_stale))
    }
}
