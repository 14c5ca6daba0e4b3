//! Searching the worktree's text within limits, with the crates of ripgrep.
//!
//! The files are listed first. Then they are searched on several threads, and the results are ordered by path, so that
//! a limit always omits the same matches. Files are opened by the paths of the walk, which follows no symlink. Before
//! the matches of a file are returned, the search verifies again that the file lies in the worktree.

mod many;
mod query;
mod run;
mod search;

pub use many::grep_many;
pub use query::{Detail, FileCount, GrepError, GrepLimits, GrepPattern, GrepQuery, GrepResult, Match};
pub(super) use query::{MAX_LINE_BYTES, MatchTotals, compile};
pub use run::{grep, grep_paths};
