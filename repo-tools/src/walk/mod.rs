//! Walking the files of a worktree that may be shown to a model.

mod collect;
mod patterns;
mod rules;
mod walker;
mod wildmatch;

pub use collect::{
    Directories, FileEntry, SkipCounts, Walk, WalkLimits, visible_directories, walk, walk_at, walk_until,
    walked_directories,
};
pub(crate) use walker::{Found, Walker};
