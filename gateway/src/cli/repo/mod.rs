//! The registry's tools as commands. A command builds a tool's arguments, calls the tool, and prints its answer as text
//! or JSON.
//!
//! They open the worktree only: they read no configuration and no index, and create no state directory.

mod definition;
mod grep;
mod outline;
mod read;
mod shared;
mod symbols;
mod tree;
mod usages;

pub(super) use super::{Common, examples, output};
pub(super) use definition::Definition;
pub(super) use grep::Grep;
pub(super) use outline::Outline;
pub(super) use read::Read;
pub(super) use shared::{NameQuery, Opened, Paint, PathFilter, TIMEOUT, finish};
pub(super) use symbols::Symbols;
pub(super) use tree::Tree;
pub(super) use usages::{Callers, References};
