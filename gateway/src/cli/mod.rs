//! The command line: one file per command, and the edge where errors become messages and exit codes.
//!
//! Data goes to stdout (with `--json` as one JSON value), everything else to stderr.

mod ask;
mod common;
mod completions;
mod config;
mod daemon;
mod doctor;
mod editor;
mod entry;
mod error;
mod explore;
mod hook;
mod hook_deadline;
mod index;
mod init;
mod install;
mod journal;
mod key;
mod knowledge;
mod local_calls;
mod log;
mod man;
mod mcp;
mod memory;
mod model;
mod output;
mod personal;
mod progress;
mod reconcile;
mod remind;
mod repo;
mod run;
mod scan;
mod serve;
mod signals;
mod stats;
pub mod status;
mod why;
mod wiki;
mod worklog;

pub(crate) use common::Common;
pub(super) use common::{examples, is_confirmed, read_text};
pub use entry::run;
pub use error::{CliError, Exit};
