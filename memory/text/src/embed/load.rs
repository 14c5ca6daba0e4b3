use std::path::Path;

use muninn_base::Supervisor;

use super::embedder::Embedder;
use super::error::LoadError;
use super::minilm::MiniLm;

/// Loads all-MiniLM-L6-v2 from a directory that contains `MINILM_FILES`. The model takes about 70 MB of memory. After ten
/// minutes without use it is released by a task of the supervisor, and the next use reads it again. Its id contains a hash
/// of the weights.
///
/// # Errors
/// [`LoadError`] if a file is missing or invalid.
pub fn minilm(directory: &Path, supervisor: &Supervisor) -> Result<Box<dyn Embedder>, LoadError> {
    Ok(Box::new(MiniLm::open(directory, supervisor.clone())?))
}
