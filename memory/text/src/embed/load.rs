use std::path::Path;

use super::embedder::Embedder;
use super::error::LoadError;
#[cfg(feature = "minilm")]
use super::minilm::MiniLm;

/// Whether [`minilm`] is compiled in.
pub const HAS_MINILM: bool = cfg!(feature = "minilm");

/// Loads all-MiniLM-L6-v2 from a directory that contains `MINILM_FILES`. The model takes about 100 MB of memory. Its
/// id contains a hash of the weights.
///
/// # Errors
/// [`LoadError`] if a file is missing or invalid, or if the feature `minilm` is not compiled in.
pub fn minilm(directory: &Path) -> Result<Box<dyn Embedder>, LoadError> {
    #[cfg(feature = "minilm")]
    return Ok(Box::new(MiniLm::open(directory)?));
    #[cfg(not(feature = "minilm"))]
    Err(LoadError::NotCompiledIn { directory: directory.to_owned() })
}

#[cfg(all(test, not(feature = "minilm")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_minilm_says_so() {
        let problem = minilm(Path::new("/models/all-minilm-l6-v2")).unwrap_err().to_string();
        assert_eq!(
            problem,
            "/models/all-minilm-l6-v2 cannot be opened: MiniLM is not compiled in; build with `--features minilm`"
        );
    }
}
