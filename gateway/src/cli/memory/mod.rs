//! Commands of the session memory.

mod flush;
mod forget;
mod recall;
mod remember;

use super::output::plural;
use super::{CliError, Common, Exit, examples};
use crate::app::MemoryError;
use muninn_repo_tools::with_causes;

pub(super) use flush::Flush;
pub(super) use forget::Forget;
pub(super) use recall::Recall;
pub(super) use remember::Remember;

impl From<MemoryError> for CliError {
    fn from(error: MemoryError) -> Self {
        let message = with_causes(&error);
        match error {
            MemoryError::Id(error) => error.into(),
            MemoryError::NoRepository(_) => CliError::no_repository(message),
            MemoryError::Off => CliError::new(Exit::Config, message)
                .hint("set `write` under [memory] to `local` or `repo` in muninn.toml"),
            MemoryError::Empty => CliError::new(Exit::Usage, message),
            MemoryError::TooLong { .. } => CliError::new(Exit::Usage, message)
                .hint("shorten it, or write a page in .muninn/knowledge/: `muninn knowledge new TITLE`"),
            MemoryError::File(_) => CliError::new(Exit::NotFound, message),
            MemoryError::Spool(_) => CliError::new(Exit::Failure, message),
        }
    }
}
