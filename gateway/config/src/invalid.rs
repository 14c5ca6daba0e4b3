use std::fmt::Display;

use thiserror::Error;

use super::ConfigError;

/// An unknown value of a key with a fixed set of values.
#[derive(Debug, Error)]
#[error("`{value}` is unknown; write {known}")]
pub(super) struct UnknownValue {
    value: String,
    /// The known values, as a list for the error.
    known: &'static str,
}

impl UnknownValue {
    pub(super) fn new(value: &str, known: &'static str) -> UnknownValue {
        UnknownValue { value: value.to_owned(), known }
    }
}

/// Builds the error of an invalid key. `message` is the problem with its fix, or the error of a check.
pub(super) fn invalid(origin: &str, key: impl Into<String>, message: impl Display) -> ConfigError {
    invalid_setting(format!("{origin}: {}", key.into()), message)
}

/// Builds the error of an invalid flag or environment variable, whose name is the whole `setting`.
pub(crate) fn invalid_setting(setting: impl Into<String>, message: impl Display) -> ConfigError {
    ConfigError::Value { setting: setting.into(), message: message.to_string() }
}
