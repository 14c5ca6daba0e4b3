use muninn_repo_tools::ObjectId;

/// A commit without its texts.
pub(super) struct Seen {
    pub(super) id: ObjectId,
    /// The commits that it says to have been.
    pub(super) was: Vec<ObjectId>,
    pub(super) log_bytes: usize,
    /// The bytes of the author's name or address, whichever is longer.
    pub(super) author_bytes: usize,
}
