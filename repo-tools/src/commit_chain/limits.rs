//! The most that is read of a chain. A ref can come from a clone or a remote, where a few kilobytes can stand for gigabytes:
//! a tree that names one subtree ten times, ten levels deep, has 10^10 files, and a compressed megabyte of zeros has one.

/// The most bytes of a commit, a tree or a file. Longest legitimate commit: a text, a context and a summary of 1 MiB each.
pub const MAX_OBJECT_BYTES: u64 = 4 << 20;
/// A larger object is not kept in the cache of the bases of deltas, so that all of them are read each time.
pub(super) const MAX_CACHED_BYTES: u64 = 64 << 10;
/// The bytes that are read in the time that one delta of a small object takes. Commits have 8 deltas each where all have nearly
/// the same message and `gc --aggressive` packed them.
pub(super) const DELTA_BYTES: u64 = 64;
/// The most bytes that decoding one object may allocate. A delta is applied to its base with two buffers of the larger size
/// and all deltas of its chain, so this is four times [`MAX_OBJECT_BYTES`].
pub(super) const MAX_ALLOCATION: u64 = 4 * MAX_OBJECT_BYTES;
/// The most deltas between an object and its base in a pack. git makes 50, and 250 at most in `gc --aggressive` of old
/// versions; each one costs time whenever the object is read.
pub(super) const MAX_DELTAS: u32 = 300;
/// The most commits that one walk reads. The search of 100,000 entries, for which the journal is made, needs 200 MB.
pub const MAX_COMMITS: usize = 120_000;
/// The most bytes of the commits that one walk reads: 1.1 KB for each of [`MAX_COMMITS`]. They are inflated in a second.
pub(super) const MAX_COMMIT_BYTES: u64 = 128 << 20;
/// The most entries of the trees of one commit, files and folders together.
pub(super) const MAX_ENTRIES: usize = 50_000;
/// The most bytes of the trees of one commit.
pub(super) const MAX_TREE_BYTES: u64 = 32 << 20;
/// The most levels of folders. A section has at most 125.
pub(super) const MAX_DEPTH: usize = 128;
/// The most bytes of a path, as in most file systems.
pub(super) const MAX_PATH_BYTES: usize = 4096;

/// A limit, as the end of "has more than".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainLimit {
    /// `MAX_DELTAS`.
    Deltas,
    /// `MAX_COMMITS`.
    Commits,
    /// `MAX_COMMIT_BYTES`.
    CommitBytes,
    /// `MAX_ENTRIES`.
    Entries,
    /// `MAX_TREE_BYTES`.
    TreeBytes,
    /// `MAX_DEPTH`.
    Depth,
    /// `MAX_PATH_BYTES`.
    PathBytes,
}

impl std::fmt::Display for ChainLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deltas => write!(f, "{MAX_DELTAS} deltas between an object and its base"),
            Self::Commits => write!(f, "{MAX_COMMITS} commits"),
            Self::CommitBytes => write!(f, "{} MiB of commits", MAX_COMMIT_BYTES >> 20),
            Self::Entries => write!(f, "{MAX_ENTRIES} files and folders"),
            Self::TreeBytes => write!(f, "{} MiB of folders", MAX_TREE_BYTES >> 20),
            Self::Depth => write!(f, "{MAX_DEPTH} levels of folders"),
            Self::PathBytes => write!(f, "{MAX_PATH_BYTES} bytes in a path"),
        }
    }
}
