//! Files of JSON lines, one for each UTC day: lines are only ever appended.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::Serialize;

use super::directory::Personal;
use super::error::PersonalError;
use super::files::check_folder;
use super::layout::FileKind;
use muninn_base::private_file;

const EXTENSION: &str = ".jsonl";
/// The most bytes of a file that are read.
const MOST_FILE: u64 = 64 << 20;
/// The most lines that one look reads, and their bytes: 16 MiB hold 5 million lines that say nothing.
const MOST_LINES: usize = 100_000;
const MOST_LINE_BYTES: usize = 128 << 20;

/// A line that is not what its file has. It is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// The file, below the directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// The lines of a folder that are not what its files have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BadLines {
    /// The first ones.
    pub lines: Vec<BadLine>,
    /// The number of all of them.
    pub count: usize,
    /// The file in which the look ended, because there are too many lines.
    pub ended_in: Option<String>,
}

/// How many texts, such as lines, may still be read, and bytes of them. The default is that of one look at lines.
pub(super) struct ReadBudget {
    pub(super) texts: usize,
    pub(super) bytes: usize,
}

impl Default for ReadBudget {
    fn default() -> ReadBudget {
        ReadBudget { texts: MOST_LINES, bytes: MOST_LINE_BYTES }
    }
}

impl ReadBudget {
    /// Takes a text out of the budget; `false` if it is used up.
    pub(super) fn take(&mut self, text: &[u8]) -> bool {
        let (texts, bytes) = (self.texts.checked_sub(1), self.bytes.checked_sub(text.len()));
        let (Some(texts), Some(bytes)) = (texts, bytes) else {
            return false;
        };
        *self = ReadBudget { texts, bytes };
        true
    }
}

pub(super) struct DayFile {
    pub(super) day: Date,
    pub(super) path: PathBuf,
    /// The path below the directory of the memory.
    pub(super) name: String,
}

impl Personal {
    /// Appends a line to the file of a day, in one write. A file never grows beyond the size that exports and versions take.
    pub(super) fn append(&self, folder: &str, day: Date, line: &str) -> Result<(), PersonalError> {
        let _lock = self.lock()?;
        let path = self.make(folder)?.join(format!("{day}{EXTENSION}"));
        let most = FileKind::Lines.most_bytes();
        // Two more for the line ends.
        let bytes = path.symlink_metadata().map_or(0, |metadata| metadata.len()) + line.len() as u64 + 2;
        if bytes > most {
            return Err(PersonalError::DayFull { path, most });
        }
        let append = || -> io::Result<()> {
            // For its owner only, also if another program has created it.
            let mut file = private_file::append(&path)?;
            let mut text = String::new();
            if private_file::ends_within_a_line(&path)? {
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
            file.write_all(text.as_bytes())?;
            file.sync_data()
        };
        append().map_err(PersonalError::io(&path))
    }

    /// What `read` makes of the newest lines of a folder, the newest first. Lines beyond the budget are not read.
    pub(super) fn newest<T>(
        &self,
        folder: &str,
        count: usize,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, PersonalError> {
        let (mut found, mut budget) = (Vec::new(), ReadBudget::default());
        for file in self.day_files(folder)?.iter().rev() {
            for line in text(&file.path)?.lines().rev() {
                if found.len() >= count || !budget.take(line.as_bytes()) {
                    return Ok(found);
                }
                found.extend(read(line));
            }
        }
        Ok(found)
    }

    /// The files of a folder, the oldest first. Other files are left alone.
    pub(super) fn day_files(&self, folder: &str) -> Result<Vec<DayFile>, PersonalError> {
        let path = self.path(folder);
        let entries = match check_folder(&path).and_then(|()| fs::read_dir(&path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(PersonalError::io(&path))?,
        };
        let file = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            Some(DayFile {
                day: name.strip_suffix(EXTENSION)?.parse().ok()?,
                path: entry.path(),
                name: format!("{folder}/{name}"),
            })
        };
        let mut files: Vec<DayFile> = entries.flatten().filter_map(file).collect();
        files.sort_by_key(|file| file.day);
        Ok(files)
    }
}

/// The text of a file; bytes that are no UTF-8 are replaced.
pub(super) fn text(path: &Path) -> Result<String, PersonalError> {
    let bytes = private_file::read_start(path, MOST_FILE).map_err(PersonalError::io(path))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
