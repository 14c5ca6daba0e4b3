//! What a person tells the session memory, and has it do.

mod flush;
mod forget;
mod recall;
mod remember;

use muninn_memory::ids::IdError;

use super::output::plural;
use super::{CliError, Common, Exit};
use crate::app::MemoryError;
use muninn_repo_tools::with_causes;

pub(super) use flush::Flush;
pub(super) use forget::Forget;
pub(super) use recall::Recall;
pub(super) use remember::Remember;

impl From<MemoryError> for CliError {
    fn from(error: MemoryError) -> Self {
        let message = match &error {
            MemoryError::Id(IdError::Unknown(part)) => format!("there is no record {part}"),
            error => with_causes(error),
        };
        match error {
            MemoryError::NoRepository(_) => CliError::new(Exit::NotFound, message)
                .hint("run it inside a git repository, or name one with --root DIR"),
            MemoryError::Off => CliError::new(Exit::Config, message).hint("set it to `local` or `repo` in muninn.toml"),
            MemoryError::Empty => CliError::new(Exit::Usage, message),
            MemoryError::TooLong { .. } => CliError::new(Exit::Usage, message)
                .hint("say what matters in a few sentences, or write a file in .muninn/knowledge/"),
            MemoryError::File(_) | MemoryError::Id(_) => CliError::new(Exit::NotFound, message),
            MemoryError::Spool(_) => CliError::new(Exit::Failure, message),
        }
    }
}
