//! Files of records that wait for their segment.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{SpoolError, at, short_hash};

const WAITING: &str = "waiting";
const ASIDE: &str = "aside";

/// A file of records: `<kind>-<client>-<branch>.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PendingFile {
    /// Hash of the client's name for the session.
    pub(super) client: String,
    pub(super) kind: Kind,
    /// The rest of the file name.
    pub(super) branch: String,
    pub(super) path: PathBuf,
}

/// The state of a file. `Flushing` sorts first, because its records are older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Becomes a segment.
    Flushing,
    /// Is appended to.
    Live,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Flushing => "flushing",
            Kind::Live => "live",
        }
    }
}

impl PendingFile {
    pub(super) fn new(spool: &Path, kind: Kind, client: &str, branch: &str) -> Self {
        Self {
            path: dir(spool).join(format!("{}-{client}-{branch}", kind.name())),
            client: client.to_owned(),
            branch: branch.to_owned(),
            kind,
        }
    }

    fn parse(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let mut parts = name.splitn(3, '-');
        let (kind, client, branch) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = [Kind::Flushing, Kind::Live].into_iter().find(|one| one.name() == kind)?;
        Some(Self { client: client.to_owned(), branch: branch.to_owned(), kind, path })
    }

    /// The file of the same branch in state [`Kind::Flushing`].
    pub(super) fn flushing(&self, spool: &Path) -> Self {
        Self::new(spool, Kind::Flushing, &self.client, &self.branch)
    }
}

/// The part of a file name that encodes the branch.
pub(super) fn branch_name(branch: Option<&str>) -> String {
    let hash = branch.map_or_else(|| "detached".to_owned(), short_hash);
    format!("{hash}.jsonl")
}

/// The files of all sessions, sorted by client and age.
pub(super) fn files(spool: &Path) -> Result<Vec<PendingFile>, SpoolError> {
    let mut files: Vec<_> = entries(&dir(spool))?.into_iter().filter_map(PendingFile::parse).collect();
    files.sort();
    Ok(files)
}

/// The folder of waiting files.
pub(super) fn dir(spool: &Path) -> PathBuf {
    spool.join(WAITING)
}

/// The folder of files with invalid lines.
pub(super) fn aside_dir(spool: &Path) -> PathBuf {
    spool.join(ASIDE)
}

/// The entries of a folder, sorted by name; empty if it does not exist.
pub(super) fn entries(dir: &Path) -> Result<Vec<PathBuf>, SpoolError> {
    let read = || -> io::Result<Vec<PathBuf>> { fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect() };
    match read() {
        Ok(mut paths) => {
            paths.sort();
            Ok(paths)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(at(dir)(source)),
    }
}
