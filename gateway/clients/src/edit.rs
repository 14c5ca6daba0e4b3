use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::applied::{Applied, Edit, Patch};
use super::edit_error::EditError;
use super::error::FileError;
use super::file::{Change, ClientFile};
use super::{json, toml};

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

impl Applied {
    pub(crate) fn new(edit: &Edit, existing: usize, previous: Option<String>) -> Applied {
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

impl EditError {
    pub(crate) fn shape(keys: &[String], expected: &'static str) -> EditError {
        let key = if keys.is_empty() { "the file".to_owned() } else { keys.join(".") };
        EditError::Shape { key, expected }
    }

    pub(crate) fn at(self, path: PathBuf, format: Format) -> FileError {
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
pub(crate) const MARK: &str = "\u{feff}";

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
pub(crate) fn apply(format: Format, text: Option<&str>, edits: &[Edit]) -> Result<(String, Vec<Applied>), EditError> {
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
pub(crate) fn undo(format: Format, text: &str, applied: &[Applied]) -> Result<Undone, EditError> {
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
pub(crate) fn is_same(format: Format, text: &str, other: &str) -> bool {
    match format {
        Format::Json => json::value(text).is_some_and(|value| json::value(other) == Some(value)),
        Format::Toml => toml::value(text).is_some_and(|value| toml::value(other) == Some(value)),
        Format::Whole => text == other,
    }
}

pub(crate) fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}

pub(crate) fn whole_file(text: Option<&str>, edit: &Edit) -> Result<Option<(String, Applied)>, EditError> {
    let wanted = edit.value.as_str().unwrap_or_default();
    match text {
        None => Ok(Some((wanted.to_owned(), Applied::new(edit, 0, None)))),
        Some(text) if text == wanted => Ok(None),
        Some(_) => Err(EditError::Foreign),
    }
}

#[cfg(test)]
mod tests;
