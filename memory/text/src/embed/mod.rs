//! Text embedding: vectors that are near each other if the texts have similar meanings.
//!
//! Three embedders implement one trait. [`StaticVectors`] is compiled in, needs no download and takes microseconds: it
//! sums trained word vectors. [`minilm`] loads a small transformer, which is better and a thousand times slower. Its
//! weights must be downloaded once, and it is compiled in by the feature `minilm`. The third embedder calls a backend.
//! It is in the gateway, because only the gateway uses HTTP.
//!
//! The scores of a weak embedder can be combined with other scores, but its ranks cannot: its second result can be much
//! worse than its first, and only the scores show the difference.

#[cfg(feature = "minilm")]
mod minilm;
mod pieces;
mod static_file;
mod static_vectors;

pub use static_vectors::StaticVectors;

use std::path::Path;

use thiserror::Error;

/// Computes vectors of texts. Can be called from any thread. The cost depends on the embedder.
pub trait Embedder: Send + Sync {
    /// Returns the model and version, in letters, digits and `-._`. Vectors of embedders with different ids must not be
    /// compared, because their numbers are unrelated.
    fn id(&self) -> &str;

    /// Returns the number of dimensions of a vector.
    fn dimensions(&self) -> usize;

    /// Returns one vector per text, in the order of the texts. Each vector has [`Embedder::dimensions`] numbers and
    /// unit length, so that a dot product is a cosine. A text without a known word can get the zero vector, whose
    /// cosine with every vector is 0.
    ///
    /// # Errors
    /// [`EmbedError`] if the model fails. No vector is returned then.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Returns the vector of a question that a user waits for. A remote embedder answers or fails within tens of
    /// milliseconds.
    fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(self.embed(&[question])?.pop().unwrap_or_default())
    }

    /// Returns why the last call failed; `None` after a success.
    fn problem(&self) -> Option<String> {
        None
    }
}

impl std::fmt::Debug for dyn Embedder + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

/// Why texts got no vectors.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// The model failed on these texts.
    #[error("the embedder {embedder} failed: {reason}")]
    Failed {
        /// The embedder's id.
        embedder: String,
        /// The cause.
        reason: String,
    },
    /// The model returned too few vectors, or vectors of another length.
    #[error("the embedder {embedder} gave {found} where {expected} was due")]
    Shape {
        /// The embedder's id.
        embedder: String,
        /// The expected result.
        expected: String,
        /// The returned result.
        found: String,
    },
}

/// Why a model could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A file of the model cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The model needs code that is not compiled into this binary.
    #[error("{directory} cannot be opened: MiniLM is not compiled in; build with `--features minilm`")]
    NotCompiledIn {
        /// The model's directory.
        directory: std::path::PathBuf,
    },
    /// A file of the model is invalid.
    #[error("{what} is no usable model: {reason}")]
    Unusable {
        /// The file or its kind.
        what: String,
        /// The problem.
        reason: String,
    },
}

/// The files that [`minilm`] needs in its directory.
pub const MINILM_FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

/// The beginning of the id of [`StaticVectors`].
pub const STATIC_ID: &str = "static-";
/// The beginning of the id of [`minilm`].
pub const MINILM_ID: &str = "minilm-";

/// Whether [`minilm`] is compiled in.
pub const HAS_MINILM: bool = cfg!(feature = "minilm");

/// Loads all-MiniLM-L6-v2 from a directory that contains [`MINILM_FILES`]. The model takes about 100 MB of memory. Its
/// id contains a hash of the weights.
///
/// # Errors
/// [`LoadError`] if a file is missing or invalid, or if the feature `minilm` is not compiled in.
pub fn minilm(directory: &Path) -> Result<Box<dyn Embedder>, LoadError> {
    #[cfg(feature = "minilm")]
    return Ok(Box::new(minilm::MiniLm::open(directory)?));
    #[cfg(not(feature = "minilm"))]
    Err(LoadError::NotCompiledIn { directory: directory.to_owned() })
}

/// Returns the dot product of two vectors, which is their cosine if both have unit length; 0 if one is empty.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Scales a vector to unit length. A vector of length zero, or with a number that is not finite, becomes the zero
/// vector.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        vector.iter_mut().for_each(|value| *value /= length);
    } else {
        vector.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_unit_length_or_none() {
        let table: [(&[f32], &[f32]); 4] = [
            (&[3.0, 4.0], &[0.6, 0.8]),
            (&[0.0, 0.0], &[0.0, 0.0]),
            (&[f32::NAN, 1.0], &[0.0, 0.0]),
            (&[f32::MAX, f32::MAX], &[0.0, 0.0]),
        ];
        for (given, expected) in table {
            let mut vector = given.to_vec();
            normalise(&mut vector);
            assert_eq!(vector, expected, "{given:?}");
        }
    }

    #[cfg(not(feature = "minilm"))]
    #[test]
    fn a_build_without_minilm_says_so() {
        let problem = minilm(Path::new("/models/all-minilm-l6-v2")).unwrap_err().to_string();
        assert_eq!(
            problem,
            "/models/all-minilm-l6-v2 cannot be opened: MiniLM is not compiled in; build with `--features minilm`"
        );
    }

    #[test]
    fn any_maker_fits_behind_one_pointer() {
        let maker: Box<dyn Embedder> = Box::new(StaticVectors::shipped().unwrap());
        let vectors = maker.embed(&["parse the header", ""]).unwrap();
        assert_eq!(vectors.len(), 2);
        assert!(vectors.iter().all(|vector| vector.len() == maker.dimensions()));
    }
}
