//! The ground floor: a git worktree, read safely.
