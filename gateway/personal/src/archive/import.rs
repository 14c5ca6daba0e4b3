//! Adding the files of an archive to a memory.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use muninn_base::private_file;
use muninn_notebooks::personal::layout::{FileKind, LeftOut};
use muninn_notebooks::personal::{MOST_IMPORTED_LINES, Reminder, importable_lines, importable_settings};
use serde::Serialize;
use serde_json::{Map, Value};

use super::unpack::{Left, StagedFile, unpack};
use super::{ArchiveError, io_error};

/// Where an archive is unpacked, in the directory of the memory, so that a move cannot meet another file system.
const STAGING: &str = ".index";
const STAGING_PREFIX: &str = "import-";

/// What an archive brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// New files.
    pub added: usize,
    /// Files of lines that got those they lacked.
    pub merged: usize,
    /// Files that were replaced.
    pub replaced: usize,
    /// Files that are the same.
    pub unchanged: usize,
    /// Files that differ and stay as they are.
    pub kept: Vec<String>,
    /// Entries and settings that were not taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftOut>,
    /// The number of further entries that were not taken.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_left: usize,
    /// The new and changed reminders, which wait for the user's yes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Adds the files of an archive to the directory. Files of lines get the lines that they lack; other files that differ stay
/// as they are, or are replaced with `force`. Only files that a memory holds are taken. The caller holds the memory's lock.
///
/// # Errors
/// [`ArchiveError`]; if the archive itself is refused, nothing was added.
pub fn import(root: &Path, archive: &Path, force: bool) -> Result<Imported, ArchiveError> {
    let place = root.join(STAGING);
    let made = private_file::dir(&place).and_then(|()| {
        if place.is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        remove_abandoned(&place)?;
        tempfile::Builder::new().prefix(STAGING_PREFIX).tempdir_in(&place)
    });
    let staging = made.map_err(io_error(&place))?;
    let unpacked = unpack(archive, staging.path())?;
    let mut import = Import {
        root,
        force,
        imported: Imported::default(),
        left: unpacked.left,
        lines: MOST_IMPORTED_LINES,
        folders: HashSet::new(),
    };
    for staged in &unpacked.files {
        import.add(staged)?;
    }
    let mut imported = import.imported;
    imported.left = import.left.named;
    imported.more_left = import.left.more;
    Ok(imported)
}

/// Removes the staging directories of killed imports.
fn remove_abandoned(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(STAGING_PREFIX) && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// An import under way.
struct Import<'a> {
    root: &'a Path,
    force: bool,
    imported: Imported,
    left: Left,
    /// The number of lines that may still be taken.
    lines: usize,
    /// The directories that are there and no links.
    folders: HashSet<String>,
}

/// What is to be done with a file.
enum Change {
    None,
    /// It gets these lines at its end.
    Append(Vec<u8>),
    /// It differs, and would be this.
    Replace(Vec<u8>),
}

impl Import<'_> {
    fn add(&mut self, staged: &StagedFile) -> Result<(), ArchiveError> {
        let bytes = fs::read(&staged.staged).map_err(io_error(&staged.staged))?;
        let name = &*staged.file.path;
        let Some(bytes) = self.admitted(staged, bytes)? else {
            return Ok(());
        };
        let path = self.folder_of(name)?;
        let failed = io_error(&path);
        let known = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Not written to the disk one by one, which takes minutes for thousands: the archive is still there.
                fs::rename(&staged.staged, &path).map_err(&failed)?;
                self.imported.added += 1;
                self.note_reminder(name, staged.file.kind);
                return Ok(());
            }
            _ => private_file::read_whole(&path).map_err(&failed)?,
        };
        match change(staged.file.kind, &known, bytes) {
            Change::None => self.imported.unchanged += 1,
            // A larger file would be left out of exports and versions, with the lines that are the user's.
            Change::Append(lines) if (known.len() + lines.len()) as u64 > staged.file.kind.most_bytes() => {
                self.imported.kept.push(name.to_owned());
            }
            Change::Append(lines) => {
                let mut file = private_file::append(&path).map_err(&failed)?;
                file.write_all(&lines).map_err(&failed)?;
                self.imported.merged += 1;
            }
            Change::Replace(bytes) if self.force => {
                private_file::replace(&path, &bytes).map_err(&failed)?;
                self.imported.replaced += 1;
                self.note_reminder(name, staged.file.kind);
            }
            Change::Replace(_) => self.imported.kept.push(name.to_owned()),
        }
        Ok(())
    }

    /// The form in which a file of an archive is taken, also in the staging directory; `None` if it is left.
    fn admitted(&mut self, staged: &StagedFile, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, ArchiveError> {
        let name = &*staged.file.path;
        let form = match staged.file.kind {
            FileKind::Text => return Ok(Some(bytes)),
            FileKind::Lines => match self.day(name, &bytes) {
                Some(lines) => lines,
                None => return Ok(None),
            },
            FileKind::Reminder => match Reminder::from_elsewhere(name, &bytes) {
                Some(reminder) => serde_json::to_vec_pretty(&reminder).unwrap_or_default(),
                None => {
                    self.left.add(name, "it is no reminder");
                    return Ok(None);
                }
            },
            FileKind::Settings => match self.preferences(name, &bytes) {
                Some(preferences) => preferences,
                None => return Ok(None),
            },
        };
        fs::write(&staged.staged, &form).map_err(io_error(&staged.staged))?;
        Ok(Some(form))
    }

    /// The lines that are taken of the file of a day; `None` if there are none.
    fn day(&mut self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let lines = importable_lines(name, bytes, self.lines);
        self.lines -= lines.count;
        if lines.bad > 0 {
            let noun = if lines.bad == 1 { "line" } else { "lines" };
            self.left.add(&format!("{name}: {} {noun}", lines.bad), "a day has no such lines");
        }
        if lines.is_over {
            self.left.add(&format!("{name}: further lines"), "the archive has too many lines");
        }
        (lines.count > 0 || bytes.is_empty()).then_some(lines.taken)
    }

    /// The settings that are taken; `None` if there are none.
    fn preferences(&mut self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let Some(settings) = importable_settings(bytes) else {
            self.left.add(name, "it is no JSON object");
            return None;
        };
        for setting in settings.left {
            self.left.add(&format!("{name}: {setting}"), "it decides what is sent, run or fetched, or is unknown");
        }
        (!settings.taken.is_empty()).then(|| serde_json::to_vec_pretty(&settings.taken).unwrap_or_default())
    }

    fn note_reminder(&mut self, name: &str, kind: FileKind) {
        if kind == FileKind::Reminder {
            self.imported.waiting.push(name.to_owned());
        }
    }

    /// The path of a file, whose directory is made if it is missing.
    fn folder_of(&mut self, name: &str) -> Result<PathBuf, ArchiveError> {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        if self.folders.contains(folder) {
            return Ok(self.root.join(name));
        }
        let mut path = self.root.to_owned();
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            if parts.peek().is_some() {
                // A link would lead out of the directory.
                if path.is_symlink() {
                    return Err(io_error(&path)(io::Error::other("a symbolic link is in the way")));
                }
                private_file::dir(&path).map_err(io_error(&path))?;
            }
        }
        self.folders.insert(folder.to_owned());
        Ok(path)
    }
}

/// What the file of an archive changes about the one that is there.
fn change(kind: FileKind, known: &[u8], other: Vec<u8>) -> Change {
    if known == other {
        return Change::None;
    }
    match kind {
        FileKind::Text => Change::Replace(other),
        FileKind::Lines => match missing_lines(known, &other) {
            missing if missing.is_empty() => Change::None,
            missing => Change::Append(missing),
        },
        FileKind::Reminder if is_same_reminder(known, &other) => Change::None,
        FileKind::Reminder => Change::Replace(other),
        FileKind::Settings => {
            let before: Map<String, Value> = serde_json::from_slice(known).unwrap_or_default();
            let mut after = before.clone();
            let taken: Map<String, Value> = serde_json::from_slice(&other).unwrap_or_default();
            for (name, section) in taken {
                let there = after.entry(name).or_insert_with(|| Value::Object(Map::new()));
                if let (Some(there), Value::Object(section)) = (there.as_object_mut(), section) {
                    there.extend(section);
                }
            }
            if after == before {
                Change::None
            } else {
                Change::Replace(serde_json::to_vec_pretty(&after).unwrap_or_default())
            }
        }
    }
}

/// Whether two reminders are the same but for the mark of those from elsewhere.
fn is_same_reminder(known: &[u8], other: &[u8]) -> bool {
    let read = |bytes: &[u8]| {
        let mut reminder: Reminder = serde_json::from_slice(bytes).ok()?;
        if let Some(extras) = &mut reminder.muninn {
            extras.from_tools = true;
        }
        Some(reminder)
    };
    read(known).is_some_and(|known| Some(known) == read(other))
}

/// The lines that a file lacks, to be appended to it.
fn missing_lines(known: &[u8], other: &[u8]) -> Vec<u8> {
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let there: HashSet<&[u8]> = lines(known).collect();
    let missing = lines(other).filter(|line| !there.contains(line));
    let mut text = Vec::new();
    for line in missing {
        if text.is_empty() && !known.is_empty() && !known.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}
