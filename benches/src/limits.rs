//! The limit on open files, which a thousand streams may exceed.

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::command_line::progress;

/// Raises this process's soft limit on open files to `needed` if it is lower, says so on stderr,
/// and returns the limit that holds then. Processes that are started later inherit it.
///
/// # Errors
/// When the hard limit is too low, or the system refuses.
pub fn allow_open_files(needed: u64) -> Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= needed {
        return Ok(soft);
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        bail!("the hard limit on open files is {hard}, and {needed} are needed");
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised)
        .with_context(|| format!("the soft limit on open files cannot be raised to {needed}"))?;
    progress(&format!("soft limit on open files raised from {soft} to {needed}"));
    Ok(needed)
}
