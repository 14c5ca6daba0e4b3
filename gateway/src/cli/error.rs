//! Where errors become words for a person: message, cause, what to do, exit code.

use crate::backend::SendError;
use crate::config::ConfigError;
use crate::http::StartError;
use crate::store::StoreError;

/// What a command's exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Success = 0,
    /// It did not work.
    Failure = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong.
    Config = 3,
    /// What was asked for is not there.
    NotFound = 4,
}

/// An error on its way to a person.
#[derive(Debug)]
pub struct CliError {
    /// The exit code.
    pub exit: Exit,
    message: String,
    hint: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError {
            exit,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn print(&self) {
        super::output::note(&super::output::tame(&format!("error: {}", self.message)));
        if let Some(hint) = &self.hint {
            super::output::note(&format!("hint: {hint}"));
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
        let taken = matches!(&error, StartError::Bind { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse);
        let exit = if matches!(error, StartError::Config(_)) {
            Exit::Config
        } else {
            Exit::Failure
        };
        let error = CliError::new(exit, error.to_string());
        if taken {
            error.hint("is another Muninn running? Choose another port with --listen 127.0.0.1:PORT")
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
        CliError::new(Exit::Failure, error.to_string())
    }
}
