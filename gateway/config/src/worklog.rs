//! `[worklog]`: `JOURNAL.md` of a worktree.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorklogConfig {
    /// Whether worktrees that were set up for Muninn have one: the user's choice.
    pub enabled: bool,
    /// Whether git tracks it. Otherwise git ignores it.
    pub track: bool,
}
