//! A session's folder in the spool, and what its name is.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::file::append;
use super::{Durability, SpoolError, at, short_hash};
use crate::private_file;

/// A session as its folder names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
    /// The number of its next segment.
    pub(super) next: u64,
}

/// A session's folder.
pub(super) struct Folder(pub(super) PathBuf);

/// The same, for as long as no other process touches it.
pub(super) struct Locked {
    pub(super) folder: Folder,
    /// Unlocked when it is closed.
    _lock: File,
}

impl Folder {
    pub(super) fn locked(self) -> Result<Locked, SpoolError> {
        let path = self.0.join("lock");
        let lock = private_file::lock(&path).map_err(at(&path))?;
        Ok(Locked {
            folder: self,
            _lock: lock,
        })
    }

    pub(super) fn live(&self, branch: Option<&str>) -> PathBuf {
        self.0.join(format!(
            "live-{}.jsonl",
            branch.map_or_else(|| "detached".to_owned(), short_hash)
        ))
    }

    /// The files of these kinds, in the order of the kinds.
    pub(super) fn files(&self, kinds: &[&str]) -> Result<Vec<PathBuf>, SpoolError> {
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
    pub(super) fn named(&self) -> Result<Named, SpoolError> {
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

    pub(super) fn name(&self, named: &Named) -> Result<(), SpoolError> {
        let path = self.folder.0.join("session.json");
        let bytes = serde_json::to_vec(named).map_err(|error| at(&path)(error.into()))?;
        private_file::replace(&path, &bytes).map_err(at(&path))
    }

    pub(super) fn marks(&self) -> Result<Vec<String>, SpoolError> {
        let path = self.folder.0.join("marks");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(at(&path)(source)),
        }
    }

    pub(super) fn add_mark(&self, mark: &str, durability: Durability) -> Result<(), SpoolError> {
        let path = self.folder.0.join("marks");
        append(&path, format!("{mark}\n").as_bytes(), durability).map_err(at(&path))
    }
}
