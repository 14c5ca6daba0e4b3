//! Blob ids of files that have not changed since they were hashed, by what the file system says of them, as in git's index.

use std::collections::HashMap;
use std::fs::Metadata;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use crate::blob::BlobId;
use crate::worktree::Worktree;

/// The most files that are known. Then all are forgotten.
const MOST: usize = 16 << 10;
/// A file that was changed less long ago may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// Device, inode, size, and the times of the last change of content and of metadata in nanoseconds; nobody can set the latter.
type Stamp = (u64, u64, u64, i128, i128);

static KNOWN: Mutex<Option<HashMap<(gix::hash::Kind, Stamp), BlobId>>> = Mutex::new(None);

/// The blob id of a file's content; see [`Worktree::blob_id`]. `metadata` is that of the open file before it was read.
pub(crate) fn blob_id(worktree: &Worktree, content: &[u8], metadata: &Metadata) -> Option<BlobId> {
    let hashed = || worktree.blob_id(content);
    let Some(stamp) = stamp(metadata).filter(|_| metadata.len() == content.len() as u64) else { return hashed() };
    let key = (worktree.git().object_hash, stamp);
    let known = KNOWN.lock().as_ref().and_then(|known| known.get(&key).copied());
    known.or_else(|| {
        let id = hashed()?;
        let mut known = KNOWN.lock();
        let known = known.get_or_insert_default();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, id);
        Some(id)
    })
}

/// The stamp of a file that has not been changed lately.
#[cfg(unix)]
fn stamp(metadata: &Metadata) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
    let changed = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
    let settled = SystemTime::now().checked_sub(SETTLED)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let is_settled = i128::try_from(settled.as_nanos()).is_ok_and(|settled| changed < settled && modified < settled);
    is_settled.then(|| (metadata.dev(), metadata.ino(), metadata.len(), modified, changed))
}

#[cfg(not(unix))]
fn stamp(_: &Metadata) -> Option<Stamp> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_file_is_hashed_again_unless_it_has_been_unchanged_for_a_while() {
        let repo = Fixture::with(&[("a.txt", "one\n")]);
        let worktree = repo.worktree();
        let fresh = worktree.root().join("a.txt").metadata().unwrap();
        let first = blob_id(&worktree, b"one\n", &fresh);
        assert_ne!(blob_id(&worktree, b"two\n", &fresh), first, "it was just written");
        let old = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let (mut content, old) = (std::fs::read(old).unwrap(), std::fs::metadata(old).unwrap());
        let first = blob_id(&worktree, &content, &old);
        assert_eq!(first, worktree.blob_id(&content));
        content[0] ^= 1;
        assert_eq!(
            blob_id(&worktree, &content, &old),
            first,
            "only a test says that an unchanged file has other bytes"
        );
        content.push(b'x');
        assert_ne!(blob_id(&worktree, &content, &old), first, "it grew while it was read");
    }
}
