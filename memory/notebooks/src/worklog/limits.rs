/// The file's name, in the root of a worktree.
pub const FILE: &str = "JOURNAL.md";

/// The number of last lines that an agent reads first.
pub const HANDOVER_LINES: usize = 50;

/// The number of consecutive failures after which an agent declares a mutation.
pub const FAILURES_BEFORE_MUTATION: u32 = 3;
