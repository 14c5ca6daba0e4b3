//! Files and their history on a ref of its own, which is no branch: `git status`, `git branch` and the worktree never show
//! it.
//!
//! Each change is a commit with one parent. It is written as objects first; then the ref is moved, if it still is where the
//! change began. Objects of a change that lost the race, or whose process was killed, are collected by git as garbage.
//! Nothing here runs a program that a repository's configuration names. What is read is bounded (see `limits`), and each
//! object is the one that its id names: replacements (`refs/replace/`) do not count.

mod access;
mod chain;
mod incoming;
mod limits;
mod reading;

pub use chain::{ChainCommit, ChainError, ChainFile, CommitChain, Signature};
pub use incoming::{IncomingError, IncomingObjects};
pub use limits::{ChainLimit, MAX_COMMITS, MAX_OBJECT_BYTES};
pub use reading::History;
