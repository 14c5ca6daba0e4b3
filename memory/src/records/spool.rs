//! Live records, on their way into the repository.
//!
//! They wait in the user's state directory, because a tracked file that is written to would block `git checkout` and
//! `git rebase`, and one that is held open loses what is written to it after a `git stash`. A session has a folder there:
//!
//! ```text
//! <spool>/<hash of the client's session>/
//!   lock                      taken for each append and each flush; several processes write at once
//!   session.json              the session's id, and the number of its next segment
//!   marks                     what was learned from, a line each
//!   live-<branch>.jsonl       what was learned on a branch; the file is opened for each append, which is one write
//!   flushing-<branch>.jsonl   the same, while it becomes a segment
//!   aside-<n>-<branch>.jsonl  what a segment was made of, where some of its lines are no records
//! ```
//!
//! A branch is named by a hash of its name, since that may hold anything.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ulid::Ulid;

use super::lines;
use super::record::Record;
use super::segment::{SegmentError, Segments, Written};
use crate::private_file;

/// When what was appended is on the disk for good. A killed process loses nothing either way; a power cut may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Once a segment was made of it.
    #[default]
    Segment,
    /// When [`Spool::append`] returns.
    Append,
}

/// The live records of one worktree.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
    durability: Durability,
}

/// Why records could not be kept or flushed.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// A file of the spool.
    #[error("the spool of live records at {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A segment could not be written; its records stay in the spool.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// A session as its folder names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Named {
    id: String,
    next: u64,
}

/// Records of one session and branch that wait for their segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The session's id.
    pub session: String,
    /// The branch that they were learned on; `None` on a detached HEAD.
    pub branch: Option<String>,
    /// The commits that were checked out, each once.
    pub commits: Vec<String>,
    /// How many they are.
    pub records: usize,
    /// The file that they wait in.
    pub file: PathBuf,
}

/// What a flush came to.
#[derive(Debug, Default)]
pub struct Flushed {
    /// Names of the segments that were made.
    pub segments: Vec<String>,
    /// Records in them.
    pub records: usize,
    /// What still waits.
    pub waiting: Vec<Waiting>,
}

impl Spool {
    /// The spool in this directory, which is made when it is first needed.
    #[must_use]
    pub fn at(dir: PathBuf, durability: Durability) -> Self {
        Self { dir, durability }
    }

    /// The id of a session, by the name that its client gives it; made the first time, and the same from then on.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn session(&self, client: &str) -> Result<String, SpoolError> {
        Ok(self.folder(client)?.locked()?.named()?.id)
    }

    /// Appends records of a session that were learned on a branch, in one write. They are kept when this returns. `mark`
    /// names what they were learned from: where the session has that mark, nothing is appended, and `false` returned.
    ///
    /// # Errors
    /// [`SpoolError::Io`]; then none of them is kept.
    pub fn append(
        &self,
        client: &str,
        branch: Option<&str>,
        mark: Option<&str>,
        records: &[Record],
    ) -> Result<bool, SpoolError> {
        if records.is_empty() {
            return Ok(false);
        }
        let text: String = records
            .iter()
            .flat_map(|record| [record.line(), "\n".to_owned()])
            .collect();
        let locked = self.folder(client)?.locked()?;
        locked.named()?;
        if let Some(mark) = mark
            && locked.marks()?.iter().any(|other| other == mark)
        {
            return Ok(false);
        }
        let path = locked.folder.live(branch);
        append(&path, text.as_bytes(), self.durability).map_err(at(&path))?;
        // Behind the records: whoever is killed in between has them twice, and not never.
        if let Some(mark) = mark {
            locked.add_mark(mark, self.durability)?;
        }
        Ok(true)
    }

    /// Takes a mark without a record, for what was learned from and gave nothing. Returns whether it was new.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn mark(&self, client: &str, mark: &str) -> Result<bool, SpoolError> {
        let locked = self.folder(client)?.locked()?;
        locked.named()?;
        let is_new = !locked.marks()?.iter().any(|other| other == mark);
        if is_new {
            locked.add_mark(mark, self.durability)?;
        }
        Ok(is_new)
    }

    /// What a session was learned from, in the order in which it was.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn marks(&self, client: &str) -> Result<Vec<String>, SpoolError> {
        self.folder(client)?.locked()?.marks()
    }

    /// What waits, in the order of the sessions' ids.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn waiting(&self) -> Result<Vec<Waiting>, SpoolError> {
        let mut waiting = Vec::new();
        for folder in self.folders()? {
            let locked = folder.locked()?;
            let session = locked.named()?.id;
            for file in locked.folder.files(&["flushing-", "live-"])? {
                waiting.extend(look_at(&session, file)?);
            }
        }
        waiting.sort_by(|a, b| (&a.session, &a.file).cmp(&(&b.session, &b.file)));
        Ok(waiting)
    }

    /// The ids of the sessions that were recorded here, flushed or not.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn sessions(&self) -> Result<Vec<String>, SpoolError> {
        let named = |folder: Folder| folder.locked()?.named();
        let ids: Result<Vec<String>, _> = self
            .folders()?
            .into_iter()
            .map(|folder| Ok(named(folder)?.id))
            .collect();
        ids
    }

    /// Makes segments of what `is_due` picks. Killed at any point it goes on where it was the next time: what is in a
    /// segment leaves the spool only when the segment is on the disk.
    ///
    /// # Errors
    /// The first thing that failed; what it was about stays in the spool.
    pub fn flush(&self, segments: &Segments, is_due: impl Fn(&Waiting) -> bool) -> Result<Flushed, SpoolError> {
        let mut flushed = Flushed::default();
        for folder in self.folders()? {
            folder.locked()?.flush(segments, &is_due, &mut flushed)?;
        }
        Ok(flushed)
    }

    /// The files that could not be made into segments as they were, because some of their lines are no records.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SpoolError> {
        let files: Result<Vec<_>, _> = self.folders()?.iter().map(|folder| folder.files(&["aside-"])).collect();
        Ok(files?.into_iter().flatten().collect())
    }

    fn folder(&self, client: &str) -> Result<Folder, SpoolError> {
        let folder = Folder(self.dir.join(short_hash(client)));
        private_file::dir(&folder.0).map_err(at(&folder.0))?;
        Ok(folder)
    }

    fn folders(&self) -> Result<Vec<Folder>, SpoolError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(at(&self.dir)(source)),
        };
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(at(&self.dir))?;
        paths.retain(|path| path.join("session.json").is_file());
        paths.sort();
        Ok(paths.into_iter().map(Folder).collect())
    }
}

/// A session's folder.
struct Folder(PathBuf);

/// The same, for as long as no other process touches it.
struct Locked {
    folder: Folder,
    /// Unlocked when it is closed.
    _lock: File,
}

impl Folder {
    fn locked(self) -> Result<Locked, SpoolError> {
        let path = self.0.join("lock");
        let lock = private_file::lock(&path).map_err(at(&path))?;
        Ok(Locked {
            folder: self,
            _lock: lock,
        })
    }

    fn live(&self, branch: Option<&str>) -> PathBuf {
        self.0.join(format!(
            "live-{}.jsonl",
            branch.map_or_else(|| "detached".to_owned(), short_hash)
        ))
    }

    /// The files of these kinds, in the order of the kinds.
    fn files(&self, kinds: &[&str]) -> Result<Vec<PathBuf>, SpoolError> {
        let entries = fs::read_dir(&self.0).map_err(at(&self.0))?;
        let names: io::Result<Vec<String>> = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect();
        let mut names = names.map_err(at(&self.0))?;
        names.sort();
        let of_kind = |kind: &&str| {
            names
                .iter()
                .filter(|name| name.starts_with(*kind))
                .map(|name| self.0.join(name))
                .collect::<Vec<_>>()
        };
        Ok(kinds.iter().flat_map(of_kind).collect())
    }
}

impl Locked {
    /// The session's name, given to it the first time.
    fn named(&self) -> Result<Named, SpoolError> {
        let path = self.folder.0.join("session.json");
        let read = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(at(&path)(source)),
        };
        if let Some(named) = read {
            return Ok(named);
        }
        // Where a disk lost the name, another one is as good: no two sessions share a ULID.
        let named = Named {
            id: Ulid::generate().to_string(),
            next: 0,
        };
        self.name(&named)?;
        Ok(named)
    }

    fn name(&self, named: &Named) -> Result<(), SpoolError> {
        let path = self.folder.0.join("session.json");
        let bytes = serde_json::to_vec(named).map_err(|error| at(&path)(error.into()))?;
        private_file::replace(&path, &bytes).map_err(at(&path))
    }

    fn marks(&self) -> Result<Vec<String>, SpoolError> {
        let path = self.folder.0.join("marks");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(at(&path)(source)),
        }
    }

    fn add_mark(&self, mark: &str, durability: Durability) -> Result<(), SpoolError> {
        let path = self.folder.0.join("marks");
        append(&path, format!("{mark}\n").as_bytes(), durability).map_err(at(&path))
    }

    fn flush(
        &self,
        segments: &Segments,
        is_due: &impl Fn(&Waiting) -> bool,
        flushed: &mut Flushed,
    ) -> Result<(), SpoolError> {
        let mut named = self.named()?;
        // What was begun comes first: its records are older.
        for file in self.folder.files(&["flushing-", "live-"])? {
            let Some(waiting) = look_at(&named.id, file)? else {
                continue;
            };
            if !is_due(&waiting) {
                flushed.waiting.push(waiting);
                continue;
            }
            self.flush_file(&waiting, segments, &mut named, flushed)?;
        }
        Ok(())
    }

    fn flush_file(
        &self,
        waiting: &Waiting,
        segments: &Segments,
        named: &mut Named,
        flushed: &mut Flushed,
    ) -> Result<(), SpoolError> {
        let name = waiting
            .file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let branch = name.split_once('-').map_or("", |(_, branch)| branch);
        let flushing = self.folder.0.join(format!("flushing-{branch}"));
        if waiting.file != flushing {
            if flushing.exists() {
                // It was not due, and must not be written over.
                flushed.waiting.push(waiting.clone());
                return Ok(());
            }
            fs::rename(&waiting.file, &flushing).map_err(at(&flushing))?;
        }
        let Read { records, aside, .. } = read(&flushing)?;
        if !records.is_empty() {
            let text: String = records
                .iter()
                .flat_map(|record| [record.line(), "\n".to_owned()])
                .collect();
            while let Written::Taken = segments.write(&named.id, named.next, &text)? {
                named.next += 1;
            }
            flushed.segments.push(Segments::name(&named.id, named.next));
            flushed.records += records.len();
            named.next += 1;
            self.name(named)?;
        }
        if aside == 0 {
            return fs::remove_file(&flushing).map_err(at(&flushing));
        }
        let kept = self.folder.0.join(format!("aside-{}-{branch}", named.next));
        fs::rename(&flushing, &kept).map_err(at(&kept))
    }
}

/// What a file of the spool holds.
struct Read {
    records: Vec<Record>,
    /// Lines that are no records.
    aside: usize,
}

fn read(path: &Path) -> Result<Read, SpoolError> {
    let file = File::open(path).map_err(at(path))?;
    let (mut records, mut aside) = (Vec::new(), 0);
    lines::read(
        io::BufReader::new(file),
        |_, record| records.push(record),
        |_| aside += 1,
    )
    .map_err(at(path))?;
    Ok(Read { records, aside })
}

/// What waits in a file; nothing in an empty one.
fn look_at(session: &str, file: PathBuf) -> Result<Option<Waiting>, SpoolError> {
    let Read { records, aside } = read(&file)?;
    if records.is_empty() && aside == 0 {
        return Ok(None);
    }
    let mut commits: Vec<String> = records
        .iter()
        .filter_map(|record| record.origin.commit.clone())
        .collect();
    commits.sort();
    commits.dedup();
    Ok(Some(Waiting {
        session: session.to_owned(),
        branch: records.iter().find_map(|record| record.origin.branch.clone()),
        commits,
        records: records.len(),
        file,
    }))
}

/// Appends in one write; what a killed or failed writer left of a line is parted from it.
fn append(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = private_file::options()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let torn = length > 0 && {
        file.seek(SeekFrom::Start(length - 1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        last != *b"\n"
    };
    let parted = if torn { [b"\n", bytes].concat() } else { bytes.to_vec() };
    let written = file.write_all(&parted).and_then(|()| match durability {
        Durability::Append => file.sync_data(),
        Durability::Segment => Ok(()),
    });
    // On a full disk, a part of a record is worth nothing.
    written.inspect_err(|_| {
        let _as_good_as_it_gets = file.set_len(length);
    })
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { path, source }
}

fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
