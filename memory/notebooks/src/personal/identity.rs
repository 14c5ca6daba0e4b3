use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use muninn_text::redact::redact;
use serde::Serialize;

use super::error::PersonalError;
use super::files::{self, path_below};

/// The file of the identity that exists.
pub(super) fn identity(root: &Path) -> Option<&'static str> {
    let paths = STATE_FILES[0].paths.iter();
    paths.copied().find(|path| {
        let metadata = path_below(root, path).and_then(fs::symlink_metadata);
        metadata.is_ok_and(|metadata| metadata.is_file())
    })
}

/// A file that is always loaded.
#[derive(Debug, PartialEq, Eq)]
pub struct StateFile {
    /// The name in contexts and results.
    pub name: &'static str,
    /// The paths below the directory; the first one that exists counts, and the first one is written.
    pub paths: &'static [&'static str],
    /// The lines that it should not exceed.
    pub lines: usize,
}

/// The files, in the order in which they are shown. The last two are of the program that this one continues.
pub const STATE_FILES: [StateFile; 6] = [
    StateFile { name: "identity", paths: &["identity.md", "state/identity.md"], lines: 100 },
    StateFile { name: "inbox", paths: &["state/inbox.md"], lines: 20 },
    StateFile { name: "today", paths: &["state/today.md"], lines: 30 },
    StateFile { name: "commitments", paths: &["state/commitments.md"], lines: 40 },
    StateFile { name: "human", paths: &["state/human.md"], lines: 40 },
    StateFile { name: "workspace", paths: &["state/workspace.md"], lines: 40 },
];

impl StateFile {
    pub(crate) fn text(&self, root: &Path) -> Result<Option<StateText>, PersonalError> {
        for path in self.paths {
            let full = root.join(path);
            let bytes = match files::read_start(root, path, MOST_READ) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                bytes => bytes.map_err(PersonalError::io(&full))?,
            };
            let text = String::from_utf8_lossy(&bytes);
            let text = redact(text.trim()).into_owned();
            let lines = text.lines().count();
            return Ok((!text.is_empty()).then(|| StateText {
                name: self.name,
                path,
                lines,
                exceeds: (lines > self.lines).then_some(self.lines),
                text,
            }));
        }
        Ok(None)
    }
}

/// The part of a file that is read, in bytes.
pub(crate) const MOST_READ: u64 = 256 << 10;

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateText {
    /// The file's name.
    pub name: &'static str,
    /// Its path below the directory.
    pub path: &'static str,
    /// The text, without secrets.
    pub text: String,
    pub lines: usize,
    /// The lines that it should not exceed, if it does.
    pub exceeds: Option<usize>,
}
