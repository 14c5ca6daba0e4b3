/// Maximum number of lines of a chunk.
pub(crate) const MAX_LINES: usize = 60;

/// A chunk of whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// First and last line, counted from 1, both included.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The line that names the chunk.
    pub(crate) title: u32,
    /// The line that names its parent.
    pub(crate) parent: Option<u32>,
    /// Defined names.
    pub(crate) names: Vec<String>,
    /// Whether it is a test, or part of a test module, in any file.
    pub(crate) test: bool,
}

/// The number of the line at an index.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}
