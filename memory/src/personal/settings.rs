//! `macrodata.json` in the directory: settings that people bring from the program that this one continues.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use super::error::PersonalError;

/// The file.
const FILE: &str = "macrodata.json";

/// The settings. Unknown keys are ignored: the file belongs to two programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PersonalSettings {
    /// Versions of the files in git.
    pub git: GitSettings,
    /// The search.
    pub search: SearchChoice,
    /// The daemon.
    pub daemon: DaemonSettings,
}

/// Whether files are committed to a repository of the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GitSettings {
    /// Whether git is used at all.
    pub enabled: bool,
    /// Whether changes are committed.
    pub auto_commit: bool,
    /// The remote to which commits are pushed.
    pub remote: Option<String>,
}

/// The search.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SearchChoice {
    /// The embedder. Muninn always searches with its own static vectors.
    pub model: Option<String>,
    /// Whether an entry can be found at once.
    pub index_on_write: bool,
}

impl Default for SearchChoice {
    fn default() -> Self {
        Self {
            model: None,
            index_on_write: true,
        }
    }
}

/// The daemon.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonSettings {
    /// Whether reminders fire.
    pub enabled: bool,
    /// The milliseconds between two looks at all files.
    pub check_interval: u64,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            check_interval: 60_000,
        }
    }
}

impl PersonalSettings {
    /// The settings of a directory; the defaults without a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not what it should be.
    pub fn read(root: &Path) -> Result<Self, PersonalError> {
        let path = root.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            text => text.map_err(PersonalError::io(&path))?,
        };
        serde_json::from_str(&text).map_err(|error| PersonalError::Damaged {
            path,
            message: error.to_string(),
        })
    }
}
