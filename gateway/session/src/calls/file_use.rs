/// How a call uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileUse {
    /// The result shows its text.
    Shown,
    /// The call writes it.
    Changed,
    /// A command line names it.
    Mentioned,
}

/// A path in a call, with its base directory if the call names one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    pub(crate) path: String,
    pub(crate) directory: Option<String>,
    pub(crate) file_use: FileUse,
}
