/// Maximum number of files of a kind per turn. An agent that reads more was searching.
pub(crate) const MAX_FILES: usize = 16;

/// Maximum confidence of a learning that no person recorded.
pub(crate) const MOST_CONFIDENCE: f64 = 0.5;
