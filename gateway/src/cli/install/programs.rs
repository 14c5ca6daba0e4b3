//! The programs that an install runs: this binary's hook, as a check, and the client's own command.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use muninn_clients::{Change, ClientCommand, ClientFile, Install, Plan, Setup, apply_rest};
use muninn_config::env_vars;

use crate::cli::{CliError, Exit, output};

/// The path by which clients start this binary: its place in `PATH`, which an upgrade keeps, or its own path.
pub(super) fn own_path() -> Result<String, CliError> {
    let failure = |problem: String| CliError::new(Exit::Failure, format!("cannot find the path of muninn: {problem}"));
    let own = std::env::current_exe().map_err(|error| failure(error.to_string()))?;
    let real = own.canonicalize().ok();
    let is_own = |path: &PathBuf| path.is_absolute() && path.canonicalize().ok() == real;
    let path = find("muninn").filter(is_own).unwrap_or(own);
    path.into_os_string().into_string().map_err(|path| failure(format!("{} is not valid Unicode", path.display())))
}

/// The first program of this name in `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os(env_vars::PATH)?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|program| program.is_file())
}

/// Checks that the hook that is to be installed works: clients stop a prompt on some errors of a hook.
pub(super) fn probe_hook(binary: &str) -> Result<(), CliError> {
    let mut probe = Command::new(binary);
    probe.args(["hook", "--probe"]);
    let problem = match run(probe) {
        Ok(()) => return Ok(()),
        Err(Problem::Missing) => "it does not exist".to_owned(),
        Err(Problem::Failed(problem)) => problem,
    };
    let message = format!("`{binary} hook --probe` failed: {problem}; nothing was changed");
    Err(CliError::new(Exit::Failure, message))
}

/// Whether the client's own command can make a change: the program exists, and no entry of this name is in the way.
pub(super) fn is_usable(command: &ClientCommand, plan: &Plan, old: Option<&Install>) -> bool {
    let entry = |install: &Install| {
        let files = install.files.iter().filter(|file| file.path == command.path);
        let mut applied = files.flat_map(|file| &file.applied);
        applied.find(|applied| applied.edit.keys == command.keys).map(|entry| entry.existing)
    };
    let is_new = entry(&plan.install).is_some_and(|existing| existing < command.keys.len());
    is_new && old.is_none_or(|old| entry(old).is_none()) && find(command.program).is_some()
}

/// Registers the MCP server with the client's own command, and writes what else the change has. Returns the change that
/// was made. If it fails, the file is as before.
pub(super) fn register(command: &ClientCommand, change: &Change, setup: &Setup) -> Result<Change, CliError> {
    let mut own = Command::new(command.program);
    own.args(&command.arguments);
    if let Some(root) = &setup.root {
        own.current_dir(root);
    }
    let result = match run(own) {
        Err(Problem::Missing) => return Ok(change.write().map(|()| change.clone())?),
        Ok(()) => finish(command, change, setup),
        Err(Problem::Failed(problem)) => Err(CliError::new(
            Exit::Failure,
            format!("`{} mcp add` failed: {problem}; nothing was changed", command.program),
        )),
    };
    if result.is_err() {
        let now = ClientFile::read(&command.path, setup.root.as_deref())?;
        let back = Change { file: now, text: change.file.text.clone() };
        back.write()?;
    }
    result
}

/// Writes the settings of the file that the client's command does not know.
fn finish(command: &ClientCommand, change: &Change, setup: &Setup) -> Result<Change, CliError> {
    let now = ClientFile::read(&command.path, setup.root.as_deref())?;
    let rest = apply_rest(now, setup, &command.keys)?.ok_or_else(|| {
        let path = command.path.display();
        CliError::new(Exit::Failure, format!("`{} mcp add` registered nothing in {path}", command.program))
    })?;
    rest.write()?;
    Ok(Change { file: change.file.clone(), text: rest.text })
}

enum Problem {
    Missing,
    Failed(String),
}

fn run(mut command: Command) -> Result<(), Problem> {
    match command.stdin(Stdio::null()).output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.stderr);
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let problem = format!("{} {}", done.status, output::sanitize_line(line));
            Err(Problem::Failed(problem.trim_end().to_owned()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Problem::Missing),
        Err(error) => Err(Problem::Failed(error.to_string())),
    }
}
