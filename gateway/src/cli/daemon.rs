//! `muninn daemon`: the background process that answers hooks and MCP servers, and fires reminders.
//!
//! They start it themselves. The commands are for a look at it, and for a service manager that prefers to start it.

mod command;
#[cfg(unix)]
mod control;
#[cfg(unix)]
mod manager;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod process;

pub(crate) use command::DaemonCommand;
#[cfg(unix)]
pub use place::{DaemonPlace, is_running, wait};
#[cfg(unix)]
pub(super) use process::listen_beside;
