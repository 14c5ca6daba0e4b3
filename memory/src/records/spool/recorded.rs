//! A glance at the spool that takes no lock, for recall, which looks at it before each question.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Spool;
use super::folder::{Folder, Named};

/// A folder that changed this short a time ago may change again without its time telling.
const FRESH: Duration = Duration::from_secs(2);

/// The sessions that are recorded in a spool, and the files in which their records wait.
#[derive(Debug, Default)]
pub struct Recorded(BTreeMap<PathBuf, Session>);

#[derive(Debug)]
struct Session {
    /// When a file came or went; `None` where that may go on.
    modified: Option<SystemTime>,
    id: String,
    files: Vec<PathBuf>,
}

impl Recorded {
    /// Looks again; a folder in which nothing came or went is not read. What cannot be read is as if it were not there.
    pub fn refresh(&mut self, spool: &Spool) {
        let mut last = std::mem::take(&mut self.0);
        let now = SystemTime::now();
        for folder in spool.folders().unwrap_or_default() {
            let changed = fs::metadata(&folder.0).and_then(|meta| meta.modified()).ok();
            let settled = changed.filter(|changed| now.duration_since(*changed).is_ok_and(|age| age > FRESH));
            let known = last.remove(&folder.0);
            let known = known.filter(|session| settled.is_some() && session.modified == settled);
            let session = known.or_else(|| Session::read(&folder, settled));
            self.0.extend(session.map(|session| (folder.0, session)));
        }
    }

    /// Whether a session was recorded here.
    pub fn has(&self, id: &str) -> bool {
        self.0.values().any(|session| session.id == id)
    }

    /// The files in which records wait, in no order that means anything.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.values().flat_map(|session| &session.files).map(PathBuf::as_path)
    }
}

impl Session {
    fn read(folder: &Folder, modified: Option<SystemTime>) -> Option<Session> {
        let named: Named = serde_json::from_slice(&fs::read(folder.0.join("session.json")).ok()?).ok()?;
        Some(Session {
            modified,
            id: named.id,
            files: folder.files(&["flushing-", "live-"]).ok()?,
        })
    }
}
