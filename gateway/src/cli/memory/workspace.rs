use muninn_base::with_causes;
use muninn_core::MemoryError;

use super::super::{CliError, Exit};

impl From<MemoryError> for CliError {
    fn from(error: MemoryError) -> Self {
        let (message, hint) = (with_causes(&error), error.hint());
        let failure = match error {
            MemoryError::Id(error) => error.into(),
            MemoryError::NoRepository(_) => CliError::no_repository(message),
            MemoryError::Off => CliError::new(Exit::Config, message),
            MemoryError::Empty
            | MemoryError::TooLong { .. }
            | MemoryError::TooManyAnswers { .. }
            | MemoryError::Itself(_) => CliError::new(Exit::Usage, message),
            MemoryError::Cite(_) | MemoryError::NoFiles(_) => CliError::new(Exit::NotFound, message),
            MemoryError::Head(_) | MemoryError::Spool(_) => CliError::new(Exit::Failure, message),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
