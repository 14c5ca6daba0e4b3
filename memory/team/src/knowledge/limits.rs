/// The folder of a worktree's knowledge.
pub const ROOT: &str = ".muninn/knowledge";

pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

pub(crate) const MAX_FILES: usize = 2_000;

pub(crate) const MAX_TOTAL_BYTES: u64 = 16 << 20;

/// The most directories above a file.
pub(crate) const MAX_DEPTH: usize = 16;
