//! Errors as a command prints them: message, hint and exit code.

use muninn_backend::SendError;
use muninn_base::ids::IdError;
use muninn_config::ConfigError;
use muninn_http::StartError;
use muninn_ledger::StoreError;

use super::output;

/// A command's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Success = 0,
    /// The command failed.
    Failure = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong.
    Config = 3,
    /// What was asked for does not exist.
    NotFound = 4,
}

/// An error for a person to read.
#[derive(Debug)]
pub struct CliError {
    /// The exit code.
    pub exit: Exit,
    message: String,
    hint: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError { exit, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }

    /// The error of a command that needs a repository and has none.
    pub(crate) fn no_repository(problem: impl Into<String>) -> CliError {
        CliError::new(Exit::NotFound, problem)
            .hint("run the command inside a git repository, or name one with --root DIR")
    }

    pub(crate) fn print(&self) {
        output::note(&output::sanitize(&format!("error: {}", self.message)));
        if let Some(hint) = &self.hint {
            output::note(&format!("hint: {hint}"));
        }
    }
}

impl std::fmt::Display for CliError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        CliError::new(Exit::Config, error.to_string())
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let is_taken =
            matches!(&error, StartError::Bind { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse);
        let exit = if matches!(error, StartError::Config(_)) { Exit::Config } else { Exit::Failure };
        let error = CliError::new(exit, error.to_string());
        if is_taken {
            error.hint("is another gateway running? Choose another port with --listen 127.0.0.1:PORT")
        } else {
            error
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        CliError::new(Exit::Failure, error.to_string())
    }
}

impl From<SendError> for CliError {
    fn from(error: SendError) -> Self {
        CliError::new(Exit::Failure, error.to_string())
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        CliError::new(Exit::Failure, format!("a call to the system failed: {error}"))
    }
}

impl From<clap::Error> for CliError {
    fn from(error: clap::Error) -> Self {
        CliError::new(Exit::Usage, error.to_string())
    }
}

impl From<IdError> for CliError {
    fn from(error: IdError) -> Self {
        let hint = match &error {
            IdError::Unknown { noun: "receipt", .. } => "`muninn why` lists the latest receipts",
            IdError::Unknown { noun: "conflict", .. } => "`muninn conflicts` lists the open conflicts",
            IdError::Unknown { .. } => "`muninn recall` lists the newest records",
            IdError::Ambiguous { .. } => "give more of the id",
        };
        CliError::new(Exit::NotFound, error.to_string()).hint(hint)
    }
}
