/// The most bytes of an entry, and of an overview.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Who commits.
pub(super) const COMMITTER: (&str, &str) = ("Muninn", "muninn@localhost");
