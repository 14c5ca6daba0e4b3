//! `muninn install CLIENT` and `muninn uninstall CLIENT`: connect a coding agent or an editor to Muninn, and take it back.
//!
//! Both show the difference of every file and ask before anything is written. What was changed is in the journal of the
//! state directory, so that uninstalling restores exactly that.

mod command;
mod programs;
mod show;
mod targets;
mod uninstall;

pub(crate) use command::Install;
pub(super) use targets::{Target, roll_back};
pub(crate) use uninstall::Uninstall;
