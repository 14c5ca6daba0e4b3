//! `macrodata.json` in the directory: settings that people bring from the program that this one continues.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::directory::Personal;
use super::error::PersonalError;
use crate::private_file;

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
        serde_json::from_str(&text).map_err(damaged(path))
    }
}

impl Personal {
    /// The settings in `macrodata.json`.
    ///
    /// # Errors
    /// As [`PersonalSettings::read`].
    pub fn settings(&self) -> Result<PersonalSettings, PersonalError> {
        PersonalSettings::read(self.root())
    }

    /// Has the settings ask for a commit of each change. Other settings stay.
    ///
    /// # Errors
    /// [`PersonalError`] if the file cannot be read or written.
    pub fn commit_changes(&self) -> Result<(), PersonalError> {
        let _lock = self.lock()?;
        let path = self.root().join(FILE);
        let mut all: Map<String, Value> = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
            text => {
                let text = text.map_err(PersonalError::io(&path))?;
                serde_json::from_str(&text).map_err(damaged(path.clone()))?
            }
        };
        let git = all.entry("git").or_insert_with(|| Value::Object(Map::new()));
        let Some(git) = git.as_object_mut() else {
            return Err(damaged(path)("`git` is no object"));
        };
        git.insert("enabled".to_owned(), true.into());
        git.insert("autoCommit".to_owned(), true.into());
        let text = serde_json::to_string_pretty(&all).unwrap_or_default();
        private_file::replace(&path, format!("{text}\n").as_bytes()).map_err(PersonalError::io(&path))
    }
}

fn damaged<E: Display>(path: PathBuf) -> impl FnOnce(E) -> PersonalError {
    move |error| PersonalError::Damaged {
        path,
        message: error.to_string(),
    }
}
