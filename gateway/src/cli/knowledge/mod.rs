//! `muninn knowledge`: creates, lists, checks and imports knowledge pages.
//!
//! Pages are written only after `muninn init`, and never over an existing file.

mod check;
mod command;
mod import;
mod list;
mod new;

pub(super) use super::{CliError, Exit, examples, output};
pub(crate) use command::KnowledgeCommand;
