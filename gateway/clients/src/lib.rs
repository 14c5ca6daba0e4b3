//! Changes to the configuration files of other programs: coding agents and editors.
//!
//! An [`Edit`] sets one key or appends to one list. Everything else in the file keeps its bytes: comments, order and
//! white space. [`apply`] returns what it did as [`Applied`], and [`undo`] takes exactly that back, also from a file that
//! its owner or its program has changed since. Only [`file`](self::file) and [`journal`](self::journal) touch the disk.

mod diff;
mod file;
mod journal;
mod json;
mod place;
#[cfg(test)]
mod tests;
mod toml;

pub use diff::unified;
pub use file::{Change, ClientFile};
pub use journal::{Install, Journal, Plan, apply_rest};
pub use place::{Client, ClientCommand, Directories, Part, PlaceError, Scope, Setup};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// The format of a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// JSON, with comments and trailing commas where the client accepts them.
    Json,
    Toml,
    /// A file that belongs to Muninn as a whole. Its only edit has no keys.
    Whole,
}

/// One setting of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The keys from the root of the file.
    pub keys: Vec<String>,
    /// The value, or the new element of the list.
    pub(crate) value: Value,
    /// Whether `keys` name a list that gets one more element.
    #[serde(default)]
    pub(crate) append: bool,
}

/// An edit that changed a file, with what is needed to take it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    pub edit: Edit,
    /// How many of the leading keys existed before. The containers of the others were created.
    pub existing: usize,
    /// The text of the value that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// The change of the text.
    #[serde(default)]
    pub(crate) patch: Patch,
}

/// The one place at which two texts differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Patch {
    removed: String,
    inserted: String,
}

impl Patch {
    fn between(before: &str, after: &str) -> Patch {
        let ends = |a: &mut dyn Iterator<Item = (char, char)>| -> usize {
            a.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let prefix = ends(&mut before.chars().zip(after.chars()));
        let (before, after) = (&before[prefix..], &after[prefix..]);
        let suffix = ends(&mut before.chars().rev().zip(after.chars().rev()));
        Patch {
            removed: before[..before.len() - suffix].to_owned(),
            inserted: after[..after.len() - suffix].to_owned(),
        }
    }

    /// The text without the change, if the changed place can be found.
    fn reverse(&self, text: &str) -> Option<String> {
        let mut places = text.match_indices(&self.inserted);
        let (at, _) = places.next().filter(|_| !self.inserted.is_empty())?;
        let rest = &text[at + self.inserted.len()..];
        places.next().is_none().then(|| format!("{}{}{rest}", &text[..at], self.removed))
    }
}

impl Applied {
    fn new(edit: &Edit, existing: usize, previous: Option<String>) -> Applied {
        Applied { edit: edit.clone(), existing, previous, patch: Patch::default() }
    }

    /// The keys with dots between them.
    fn name(&self) -> String {
        if self.edit.keys.is_empty() { "everything".to_owned() } else { self.edit.keys.join(".") }
    }
}

/// A text without Muninn's edits.
#[derive(Debug, PartialEq)]
pub(crate) struct Undone {
    /// The text, or nothing if no setting is left in it.
    pub(crate) text: Option<String>,
    /// The settings that somebody has changed since. They are kept.
    pub(crate) kept: Vec<String>,
}

/// The reason why a client's file cannot be changed. The file is unchanged.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("{} is not valid {format}: {message}", path.display())]
    Invalid { path: PathBuf, format: &'static str, message: String },
    #[error("{}: `{key}` is not {expected}", path.display())]
    Shape { path: PathBuf, key: String, expected: &'static str },
    #[error("{} exists, and Muninn did not write it", path.display())]
    Foreign { path: PathBuf },
    #[error("{} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is a symbolic link to a file that does not exist", path.display())]
    Dangling { path: PathBuf },
    #[error("{} leads out of the repository", path.display())]
    Outside { path: PathBuf },
    #[error("{} is larger than {} MB", path.display(), file::MAX_BYTES >> 20)]
    TooLarge { path: PathBuf },
    #[error("{} was changed by another program meanwhile", path.display())]
    Changed { path: PathBuf },
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

/// Why a text cannot be edited; [`FileError`] adds the path.
#[derive(Debug, PartialEq)]
enum EditError {
    Invalid(String),
    Shape { key: String, expected: &'static str },
    Foreign,
}

impl EditError {
    fn shape(keys: &[String], expected: &'static str) -> EditError {
        let key = if keys.is_empty() { "the file".to_owned() } else { keys.join(".") };
        EditError::Shape { key, expected }
    }

    fn at(self, path: PathBuf, format: Format) -> FileError {
        match self {
            EditError::Invalid(message) => {
                FileError::Invalid { path, format: if format == Format::Toml { "TOML" } else { "JSON" }, message }
            }
            EditError::Shape { key, expected } => FileError::Shape { path, key, expected },
            EditError::Foreign => FileError::Foreign { path },
        }
    }
}

/// A byte order mark. It is kept, and the parsers do not see it.
const MARK: &str = "\u{feff}";

/// Sets a key of a TOML file, such as the user's own of Muninn.
///
/// # Errors
/// If the file cannot be edited; then it is unchanged.
pub fn set_key(path: &Path, keys: &[&str], value: Value) -> Result<(), FileError> {
    let file = ClientFile::read(path, None)?;
    let edit = Edit { keys: keys.iter().map(|&key| key.to_owned()).collect(), value, append: false };
    let applied = apply(Format::Toml, file.text.as_deref(), &[edit]);
    let (text, _) = applied.map_err(|error| error.at(path.to_owned(), Format::Toml))?;
    Change { file, text: Some(text) }.write()
}

/// Applies edits to a text, or to a file that does not exist. Edits that the file contains already change nothing.
fn apply(format: Format, text: Option<&str>, edits: &[Edit]) -> Result<(String, Vec<Applied>), EditError> {
    let (mark, body) = split_mark(text.unwrap_or_default());
    let mut body = body.to_owned();
    let mut all = Vec::new();
    for edit in edits {
        let done = match format {
            Format::Json => json::apply(&body, edit)?,
            Format::Toml => toml::apply(&body, edit)?,
            Format::Whole => whole_file(text, edit)?,
        };
        if let Some((edited, mut applied)) = done {
            applied.patch = Patch::between(&body, &edited);
            body = edited;
            all.push(applied);
        }
    }
    Ok((format!("{mark}{body}"), all))
}

/// Takes edits back, the last one first.
///
/// The text of an edit is cut out where it still stands as it was written, which restores every byte. Elsewhere the
/// editor of the format removes the setting.
fn undo(format: Format, text: &str, applied: &[Applied]) -> Result<Undone, EditError> {
    let (mark, body) = split_mark(text);
    let mut body = body.to_owned();
    let mut kept = Vec::new();
    for applied in applied.iter().rev() {
        let undone = match format {
            Format::Json => json::undo(&body, applied)?,
            Format::Toml => toml::undo(&body, applied)?,
            Format::Whole if applied.edit.value == text => return Ok(Undone { text: None, kept }),
            Format::Whole => None,
        };
        let Some(undone) = undone else {
            kept.push(applied.name());
            continue;
        };
        let exact = applied.patch.reverse(&body);
        body = exact.filter(|exact| is_same(format, exact, &undone)).unwrap_or(undone);
    }
    Ok(Undone { text: Some(format!("{mark}{body}")), kept })
}

/// Whether two texts have the same settings.
fn is_same(format: Format, text: &str, other: &str) -> bool {
    match format {
        Format::Json => json::value(text).is_some_and(|value| json::value(other) == Some(value)),
        Format::Toml => toml::value(text).is_some_and(|value| toml::value(other) == Some(value)),
        Format::Whole => text == other,
    }
}

fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}

fn whole_file(text: Option<&str>, edit: &Edit) -> Result<Option<(String, Applied)>, EditError> {
    let wanted = edit.value.as_str().unwrap_or_default();
    match text {
        None => Ok(Some((wanted.to_owned(), Applied::new(edit, 0, None)))),
        Some(text) if text == wanted => Ok(None),
        Some(_) => Err(EditError::Foreign),
    }
}

/// Whether a value has everything that Muninn wrote. Its owner may have added members.
fn contains(value: &Value, ours: &Value) -> bool {
    match (value, ours) {
        (Value::Object(value), Value::Object(ours)) => {
            ours.iter().all(|(key, ours)| value.get(key).is_some_and(|value| contains(value, ours)))
        }
        (Value::Array(value), Value::Array(ours)) => {
            value.len() == ours.len() && value.iter().zip(ours).all(|(value, ours)| contains(value, ours))
        }
        _ => value == ours,
    }
}
