//! Commands of the session memory.

mod flush;
mod forget;
mod history;
mod link;
mod recall;
mod remember;
mod workspace;

pub(super) use super::output::plural;
pub(super) use super::{CliError, Common, Exit, examples};
pub(super) use flush::Flush;
pub(super) use forget::Forget;
pub(super) use history::{History, print_event};
pub(super) use link::Link;
pub(super) use recall::Recall;
pub(super) use remember::Remember;
