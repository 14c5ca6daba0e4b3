//! Git blob ids.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::object_id::ObjectId;

/// A git blob object id.
///
/// The id is computed from the raw bytes on disk, without git's filters. In a repository with line-ending conversion it
/// therefore differs from the id in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlobId(ObjectId);

impl BlobId {
    /// Returns the id that `git hash-object --no-filters` prints for these bytes in a repository with SHA-1;
    /// [`Worktree::blob_id`](crate::Worktree::blob_id) knows the hash of a repository.
    ///
    /// Returns `None` only if the hash detects a SHA-1 collision attack in the content. Such a file is not read.
    pub fn of(content: &[u8]) -> Option<Self> {
        Self::hash(gix::hash::Kind::Sha1, content)
    }

    pub(crate) fn hash(hash: gix::hash::Kind, content: &[u8]) -> Option<Self> {
        let id = gix::objs::compute_hash(hash, gix::objs::Kind::Blob, content).ok()?;
        Some(Self(id.into()))
    }

    /// Converts the raw bytes of an id, for instance from a cache.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        ObjectId::from_bytes(bytes).map(Self)
    }

    /// Returns the raw bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Returns the first ten hexadecimal digits, which are enough to distinguish two versions of a file.
    pub fn short(&self) -> String {
        self.to_string().chars().take(10).collect()
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_git_hash_object() {
        let id = BlobId::of(b"hello\n").unwrap();
        assert_eq!(id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(id.short(), "ce01362503");
        assert_eq!(BlobId::of(b"").unwrap().to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(BlobId::from_bytes(id.as_bytes()), Some(id));
        assert_eq!(BlobId::from_bytes(b"short"), None);
    }
}
