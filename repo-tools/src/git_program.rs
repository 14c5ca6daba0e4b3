//! The user's git program, for what the library cannot do: transports, and references in formats that it cannot read.
//!
//! A repository may be hostile, so git runs without hooks, without a file system monitor and without prompts, and it
//! uses only transports that start no program that an address names.

mod command;
mod remote;
mod run;
mod settings;

pub use command::{git, transfer_git};
pub use remote::{Remote, RemoteError, is_remote};
pub use run::{GitRunError, RunLimits, run_git};
pub(super) use settings::SETTINGS;
