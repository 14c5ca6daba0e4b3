use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{StyledStr, Styles};
use muninn_base::{Clock, utf16, with_causes};
use muninn_config::{Config, Overrides, env_vars, load, paths};
use muninn_core::Workspace;
use muninn_repo_tools::Worktree;

use super::error::{CliError, Exit};

/// Flags of every command.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Use the repository of DIR [default: current directory]
    #[arg(long, global = true, help_heading = "Global options", value_name = "DIR", env = env_vars::ROOT, hide_env_values = true)]
    pub(crate) root: Option<PathBuf>,
    /// Read this user configuration file
    #[arg(long, global = true, help_heading = "Global options", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A command's exit code, or its error.
pub(crate) type CommandResult = Result<ExitCode, CliError>;

/// The last section of a command's help: command lines, each with a remark below.
pub(crate) fn examples(lines: &[(&str, &str)]) -> StyledStr {
    let styles = Styles::styled();
    let header = styles.get_header();
    let lines = lines.iter().map(|(line, remark)| format!("\n  {line}\n      {remark}"));
    StyledStr::from(format!("{header}Examples:{header:#}{}", lines.collect::<String>()))
}

impl Common {
    /// The directory to work in; it must exist.
    pub(crate) fn directory(&self) -> Result<PathBuf, CliError> {
        match &self.root {
            Some(root) if root.is_dir() => Ok(root.clone()),
            Some(root) => Err(CliError::new(Exit::NotFound, format!("{} is not a directory", root.display()))),
            None => std::env::current_dir()
                .map_err(|error| CliError::new(Exit::Failure, format!("cannot find the current directory: {error}"))),
        }
    }

    /// The worktree that contains the directory.
    pub(crate) fn worktree(&self) -> Result<Worktree, CliError> {
        Worktree::discover(&self.directory()?).map_err(|error| CliError::no_repository(with_causes(&error)))
    }

    /// The workspace that contains the directory. Without a repository, [`Workspace::problem`] is set.
    pub(crate) fn workspace(&self) -> Result<Workspace, CliError> {
        self.workspace_with(&self.configuration(None)?)
    }

    /// Opens the workspace with a configuration that was read before.
    pub(crate) fn workspace_with(&self, config: &Config) -> Result<Workspace, CliError> {
        let (directory, state_dir) = (self.directory()?, paths::state_dir()?);
        Ok(Workspace::open(&directory, config, &state_dir, Self::clock()))
    }

    /// The clock of every command.
    pub(crate) fn clock() -> Clock {
        Clock::system()
    }

    pub(crate) fn configuration(&self, listen: Option<String>) -> Result<Config, CliError> {
        Ok(load(&Overrides { config: self.config.clone(), listen })?)
    }
}

/// Asks a question at the terminal. Anything but a yes is a no.
pub(crate) fn is_confirmed(question: &str) -> std::io::Result<bool> {
    write!(anstream::stderr(), "{question} [y/N]: ").ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The text of a file; `-` is standard input.
pub(crate) fn read_text(from: &Path) -> Result<String, CliError> {
    let read = if from.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(from)
    };
    let no_text = |error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
    let text = |bytes: Vec<u8>| utf16(&bytes).map_or_else(|| String::from_utf8(bytes).map_err(no_text), Ok);
    read.and_then(text)
        .map_err(|error| CliError::new(Exit::Failure, format!("cannot read {}: {error}", from.display())))
}
