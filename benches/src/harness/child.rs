//! Work in a process of its own, so that its start and its memory can be measured.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command_line::line;
use crate::command_line::progress;

/// Runs another process of this program in a role; the task is passed in a file.
///
/// # Errors
/// When the process cannot be started, or fails.
pub fn run<T: Serialize, O: DeserializeOwned>(role: &str, task: &T, file: &Path) -> Result<O> {
    fs::write(file, serde_json::to_vec(task)?)?;
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(role).arg(file).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the phase failed");
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Performs the task and prints its outcome, if this process was started in the role. The task gets the time of the start.
pub fn requested<T: DeserializeOwned, O: Serialize>(
    args: impl IntoIterator<Item = OsString>,
    role: &str,
    perform: impl FnOnce(T, Instant) -> Result<O>,
) -> Option<ExitCode> {
    let started = Instant::now();
    let mut args = args.into_iter().skip(1);
    if args.next()? != role {
        return None;
    }
    let done = || -> Result<O> {
        let task = fs::read(args.next().unwrap_or_default())?;
        perform(serde_json::from_slice(&task)?, started)
    };
    Some(match done() {
        Ok(outcome) => ExitCode::from(u8::from(line(&outcome).is_err())),
        Err(error) => {
            progress(&format!("{role}: {error:#}"));
            ExitCode::FAILURE
        }
    })
}
