//! Work in a process of its own: its start is a start, and its memory nobody else's.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command_line::progress;
use crate::command_line::{chain, line};

/// Why a process did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum SubprocessError {
    /// It could not be started, or its answer not be read.
    #[error("a process for the phase")]
    Process(#[from] io::Error),
    /// It ended with an error, which it said on stderr.
    #[error("the phase failed")]
    Failed,
    /// Its task or its answer is not what was agreed on.
    #[error("what was passed between the processes")]
    Json(#[from] serde_json::Error),
}

/// Has another process of this program play a role; the task is passed in a file.
///
/// # Errors
/// When the process cannot be started, or fails.
pub fn run<T: Serialize, O: DeserializeOwned>(role: &str, task: &T, file: &Path) -> Result<O, SubprocessError> {
    fs::write(file, serde_json::to_vec(task)?)?;
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(role).arg(file).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(SubprocessError::Failed);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// If this process is to play the role: does its task, which is told when the process started, and says how it went.
pub fn requested<T: DeserializeOwned, O: Serialize, E: Error + 'static>(
    args: impl IntoIterator<Item = OsString>,
    role: &str,
    perform: impl FnOnce(T, Instant) -> Result<O, E>,
) -> Option<ExitCode> {
    let started = Instant::now();
    let mut args = args.into_iter().skip(1);
    if args.next()? != role {
        return None;
    }
    let done = || -> Result<O, Box<dyn Error>> {
        let task = fs::read(args.next().unwrap_or_default())?;
        Ok(perform(serde_json::from_slice(&task)?, started)?)
    };
    Some(match done() {
        Ok(outcome) => ExitCode::from(u8::from(line(&outcome).is_err())),
        Err(error) => {
            progress(&format!("{role}: {}", chain(&*error)));
            ExitCode::FAILURE
        }
    })
}
