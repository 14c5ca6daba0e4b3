//! A phase in a process of its own, whose start and memory can be measured.
//!
//! Memory that one phase needed is not returned to the system, so it would count for the next one too.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::at;

/// Runs a hidden subcommand of this program, with its task in a file in `dir`, and returns the outcome that it prints.
pub(crate) fn run<T: Serialize, O: DeserializeOwned>(phase: &str, task: &T, dir: &Path) -> Result<O> {
    let file = dir.join("task.json");
    fs::write(&file, serde_json::to_vec(task)?).with_context(at(&file))?;
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(phase).arg(&file).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{phase} failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn task<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let text = fs::read(file).with_context(at(file))?;
    serde_json::from_slice(&text).with_context(at(file))
}
