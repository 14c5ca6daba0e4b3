//! Files of JSON lines, one for each UTC day: lines are only ever appended.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use jiff::civil::Date;
use muninn_base::private_file;

use super::directory::Personal;
use super::error::PersonalError;
use super::file_kind::FileKind;
use super::files::check_folder;
use super::read_budget::{ReadBudget, text};

const EXTENSION: &str = ".jsonl";
/// The most lines that one look reads, and their bytes: 16 MiB hold 5 million lines that say nothing.
const MOST_LINES: usize = 100_000;
const MOST_LINE_BYTES: usize = 128 << 20;

impl Default for ReadBudget {
    fn default() -> ReadBudget {
        ReadBudget { texts: MOST_LINES, bytes: MOST_LINE_BYTES }
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
