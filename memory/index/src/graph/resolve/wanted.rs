/// Maximum number of files of an import. A namespace of a thousand files is no evidence for any of them.
pub(crate) const MAX_TARGETS: usize = 64;

/// An import to resolve.
pub(crate) struct Wanted<'a> {
    /// The importing file.
    pub(crate) from: &'a str,
    pub(crate) path: &'a str,
    /// The imported names; `*` for all names.
    pub(crate) names: Vec<&'a str>,
}
