//! Session folders of earlier versions, and their migration into the index.
//!
//! ```text
//! <spool>/<client>/
//!   lock                      taken by those versions for each append and each flush
//!   session.json              the session's id, and the number of its next segment
//!   marks                     the session's marks, one per line
//!   live-<branch>.jsonl, flushing-<branch>.jsonl, aside-<n>-<branch>.jsonl
//! ```
//!
//! The order of steps makes a kill harmless: the session and its marks are durable in the index first, then the files
//! move, then the rest is removed. Repeating a step has no effect.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use muninn_base::{Clock, Until, private_file};
use serde::Deserialize;

use super::index::Session;
use super::waiting::{Kind, PendingFile, aside_dir, dir, entries};
use super::{Locked, Spool, SpoolError, at};

/// Number of folders that are moved in one transaction, between two checks of the deadline.
const BATCH: usize = 64;

/// `session.json`.
#[derive(Deserialize)]
struct Named {
    id: String,
    next: u64,
}

/// A locked session folder of an earlier version.
struct Folder {
    path: PathBuf,
    client: String,
    named: Option<Named>,
    marks: Vec<String>,
    files: Vec<PathBuf>,
    _lock: File,
}

impl Spool {
    /// Moves session folders of earlier versions into the index until the deadline. Returns whether none is left. A
    /// folder that cannot be moved stays, and the others are moved.
    ///
    /// # Errors
    /// The first failure.
    pub fn compact(&self, until: &Until) -> Result<bool, SpoolError> {
        let folders = match fs::read_dir(&self.dir) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(source) => return Err(at(&self.dir)(source)),
        };
        // Lazily: listing a folder with 100,000 entries takes a while.
        let mut paths = folders.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_folder(path));
        let mut failed = None;
        loop {
            let batch: Vec<PathBuf> = paths.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return failed.map_or(Ok(true), Err);
            }
            if until.is_over() {
                return Ok(false);
            }
            let moved = self.locked()?.migrate_folders(&batch)?;
            failed = failed.or(moved);
        }
    }
}

impl Locked<'_> {
    /// Moves the folder of a client, if an earlier version made one.
    pub(super) fn migrate_client(&self, client: &str) -> Result<(), SpoolError> {
        let path = self.dir.join(client);
        if path.is_dir() { self.migrate_folders(&[path])?.map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Moves these folders, and returns the first failure.
    fn migrate_folders(&self, folders: &[PathBuf]) -> Result<Option<SpoolError>, SpoolError> {
        let (mut read, mut failed) = (Vec::new(), None);
        for path in folders {
            match Folder::read(path) {
                Ok(folder) => read.extend(folder),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let index = self.index()?;
        index.synced(|| {
            index.together(|| {
                for folder in &read {
                    if let Some(session) = folder.session() {
                        index.add_session(&folder.client, &session)?;
                    }
                    for mark in &folder.marks {
                        index.add_mark(&folder.client, mark)?;
                    }
                }
                Ok(())
            })
        })?;
        for folder in read {
            failed = folder.migrate(self.dir, self.clock).err().or(failed);
        }
        Ok(failed)
    }
}

impl Folder {
    /// Reads a folder; `None` if another process has moved it meanwhile.
    fn read(path: &Path) -> Result<Option<Folder>, SpoolError> {
        let lock = match private_file::lock(&path.join("lock")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock.map_err(at(path))?,
        };
        let text = |name: &str| match private_file::read_whole(&path.join(name)) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(at(&path.join(name))(source)),
        };
        Ok(Some(Folder {
            client: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            named: serde_json::from_slice(&text("session.json")?).ok(),
            marks: String::from_utf8_lossy(&text("marks")?).lines().map(str::to_owned).collect(),
            files: entries(path)?.into_iter().filter(|path| kind_of(path).is_some()).collect(),
            path: path.to_owned(),
            _lock: lock,
        }))
    }

    /// The session; `None` if it has no records, because its id is then unused.
    fn session(&self) -> Option<Session> {
        let Named { id, next } = self.named.as_ref()?;
        (*next > 0 || !self.files.is_empty()).then(|| Session { id: id.clone(), next: *next })
    }

    fn migrate(self, spool: &Path, clock: &Clock) -> Result<(), SpoolError> {
        for file in &self.files {
            let target = self.target(spool, file, clock).map_err(at(file))?;
            fs::rename(file, &target).map_err(at(file))?;
        }
        for name in ["session.json", "session.tmp", "marks", "lock"] {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
                _ => {}
            }
        }
        fs::remove_dir(&self.path).map_err(at(&self.path))
    }

    /// The new path of a file. No file has this name.
    fn target(&self, spool: &Path, file: &Path, clock: &Clock) -> io::Result<PathBuf> {
        let Some((kind, branch)) = kind_of(file) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let Some(kind) = kind else {
            private_file::dir(&aside_dir(spool))?;
            return Ok(aside_dir(spool).join(format!("{}-{}-{branch}", self.client, clock.id())));
        };
        private_file::dir(&dir(spool))?;
        let target = PendingFile::new(spool, kind, &self.client, &branch).path;
        if !target.exists() {
            return Ok(target);
        }
        let (hash, _) = branch.split_once('.').unwrap_or((&branch, ""));
        let branch = format!("{hash}.{}.jsonl", clock.id());
        Ok(PendingFile::new(spool, kind, &self.client, &branch).path)
    }
}

/// The kind of a file, and the part of its name that encodes the branch. The inner `None` is a file with invalid lines.
fn kind_of(path: &Path) -> Option<(Option<Kind>, String)> {
    let (kind, branch) = path.file_name()?.to_str()?.split_once('-')?;
    match kind {
        "live" => Some((Some(Kind::Live), branch.to_owned())),
        "flushing" => Some((Some(Kind::Flushing), branch.to_owned())),
        "aside" => Some((None, branch.to_owned())),
        _ => None,
    }
}

/// Returns whether an entry of the spool is a session folder.
fn is_folder(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == 16 && name.iter().all(u8::is_ascii_hexdigit) && path.is_dir()
}
