//! Texts as vectors, near each other where they mean alike.
//!
//! Three makers stand behind one trait. [`StaticVectors`] is compiled in, needs no download and costs microseconds: a sum
//! of trained word vectors. [`minilm`] opens a small transformer, better and a thousand times slower, whose weights the
//! user fetches once; it is compiled in by the feature of that name. The third asks a backend, and lives in the gateway, which alone knows HTTP.
//!
//! A weak embedder belongs in a fusion of scores, never of ranks: what it puts second may be nowhere near what it puts
//! first, and only its scores say so.

#[cfg(feature = "minilm")]
mod minilm;
mod pieces;
mod static_file;
mod static_vectors;

pub use static_vectors::StaticVectors;

use std::path::Path;

use thiserror::Error;

/// Makes vectors of texts. May be called from any thread; what it costs depends on the maker, see there.
pub trait Embedder: Send + Sync {
    /// Names model and version, in letters, digits and `-._`. Vectors of two ids never mix: their numbers have nothing to
    /// do with each other.
    fn id(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// One vector for each text, in the order of the texts, each with [`Embedder::dimensions`] numbers and of unit length,
    /// so that a dot product is a cosine. A text in which the model knows no word may get the zero vector instead, which
    /// is like nothing.
    ///
    /// # Errors
    /// [`EmbedError`] where the model did not run; then there is no vector for any of the texts.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a question that somebody waits for. A remote maker answers or fails within tens of milliseconds.
    ///
    /// # Errors
    /// Those of [`Embedder::embed`].
    fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(self.embed(&[question])?.pop().unwrap_or_default())
    }

    /// Why the last call failed; `None` after a success.
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
        /// What it said.
        reason: String,
    },
    /// What came back is not what was asked for: too few vectors, or of another length.
    #[error("the embedder {embedder} gave {found} where {expected} was due")]
    Shape {
        /// The embedder's id.
        embedder: String,
        /// What was asked for.
        expected: String,
        /// What came.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// The model needs code that this build does not have.
    #[error("{directory} cannot be opened: MiniLM is not compiled in; build with `--features minilm`")]
    NotCompiledIn {
        /// The model's directory.
        directory: std::path::PathBuf,
    },
    /// A file of the model is not what it should be.
    #[error("{what} is no usable model: {reason}")]
    Unusable {
        /// The file, or what it is.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The files of a directory that [`minilm`] opens.
pub const MINILM_FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

/// Whether [`minilm`] is compiled in.
pub const HAS_MINILM: bool = cfg!(feature = "minilm");

/// Loads all-MiniLM-L6-v2 from a directory that holds [`MINILM_FILES`]: some 100 MB of memory. Its id carries a hash of the
/// weights.
///
/// # Errors
/// [`LoadError`] where a file is missing or not what it should be, and always where it is not compiled in.
pub fn minilm(directory: &Path) -> Result<Box<dyn Embedder>, LoadError> {
    #[cfg(feature = "minilm")]
    return Ok(Box::new(minilm::MiniLm::open(directory)?));
    #[cfg(not(feature = "minilm"))]
    Err(LoadError::NotCompiledIn {
        directory: directory.to_owned(),
    })
}

/// Brings a vector to unit length; one without any length, or with a number that is none, becomes zero.
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
