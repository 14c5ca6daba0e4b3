/// Options of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReconcileOptions {
    /// Keep the records of segments in an archive.
    pub archive: bool,
    /// Report without writing.
    pub dry_run: bool,
    /// Run although the default branch is not checked out.
    pub here: bool,
    /// Prune main to at most this many bytes.
    pub max_main_bytes: Option<u64>,
}
