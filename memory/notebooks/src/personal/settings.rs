//! `macrodata.json` in the directory: settings that people bring from the program that this one continues.

use std::fmt::Display;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use muninn_base::private_file;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::directory::Personal;
use super::error::PersonalError;
use super::files;

pub(super) const FILE: &str = "macrodata.json";
/// The most bytes of it.
pub(super) const MOST_FILE: u64 = 64 << 10;

/// The intervals between two looks at all files that are taken from elsewhere, in milliseconds.
const CHECK_INTERVALS: RangeInclusive<u64> = 1_000..=3_600_000;

/// The settings. Unknown keys are ignored: the file belongs to two programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PersonalSettings {
    /// Versions of the files in git.
    pub git: GitSettings,
    pub search: SearchChoice,
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
        Self { model: None, index_on_write: true }
    }
}

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
        Self { enabled: true, check_interval: 60_000 }
    }
}

/// The settings of a file from elsewhere.
#[derive(Debug, Default, PartialEq)]
pub struct ImportableSettings {
    /// Preferences without an effect outside of Muninn, by their sections.
    pub taken: Map<String, Value>,
    /// The names of the others.
    pub left: Vec<String>,
}

/// Divides the settings of a file from elsewhere; `None` if it is no JSON object. Only known preferences are taken: others send
/// (`git.remote`), run (`git.enabled`), schedule (`daemon.enabled`) or fetch something (`search.model`, a name that macrodata
/// downloads).
pub fn importable_settings(text: &[u8]) -> Option<ImportableSettings> {
    let all: Map<String, Value> = serde_json::from_slice(text).ok()?;
    let mut settings = ImportableSettings::default();
    for (section, value) in all {
        let Value::Object(values) = value else {
            settings.left.push(section);
            continue;
        };
        for (name, value) in values {
            let is_preference = match (&*section, &*name) {
                ("search", "indexOnWrite") => value.is_boolean(),
                ("daemon", "checkInterval") => value.as_u64().is_some_and(|millis| CHECK_INTERVALS.contains(&millis)),
                _ => false,
            };
            if !is_preference {
                settings.left.push(format!("{section}.{name}"));
                continue;
            }
            let taken = settings.taken.entry(&*section);
            if let Value::Object(taken) = taken.or_insert_with(|| Value::Object(Map::new())) {
                taken.insert(name, value);
            }
        }
    }
    Some(settings)
}

impl PersonalSettings {
    /// The settings of a directory; the defaults without a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not what it should be.
    pub fn read(root: &Path) -> Result<Self, PersonalError> {
        let path = root.join(FILE);
        let text = match files::read(root, FILE, MOST_FILE) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            text => text.map_err(PersonalError::io(&path))?,
        };
        serde_json::from_slice(&text).map_err(damaged(path))
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
    pub fn commit_changes(&self) -> Result<(), PersonalError> {
        let _lock = self.lock()?;
        let path = self.root().join(FILE);
        let mut all: Map<String, Value> = match files::read(self.root(), FILE, MOST_FILE) {
            Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
            text => {
                let text = text.map_err(PersonalError::io(&path))?;
                serde_json::from_slice(&text).map_err(damaged(path.clone()))?
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
    move |error| PersonalError::Damaged { path, message: error.to_string() }
}
