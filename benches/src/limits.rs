//! The limit on open files, which a thousand streams may exceed.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::command_line::progress;

/// Why so many files cannot be open.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The hard limit is lower than what is needed: the two numbers.
    #[error("the hard limit on open files is {0}, and {1} are needed")]
    Hard(u64, u64),
    /// The system refused to raise the soft limit to what is needed.
    #[error("the soft limit on open files cannot be raised to {0}")]
    Refused(u64, #[source] io::Error),
}

/// Raises this process's soft limit on open files to `needed` if it is lower, says so on stderr,
/// and returns the limit that holds then. Processes that are started later inherit it.
///
/// # Errors
/// When the hard limit is too low, or the system refuses.
pub fn allow_open_files(needed: u64) -> Result<u64, LimitError> {
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= needed {
        return Ok(soft);
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        return Err(LimitError::Hard(hard, needed));
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|error| LimitError::Refused(needed, error.into()))?;
    progress(&format!("soft limit on open files raised from {soft} to {needed}"));
    Ok(needed)
}
