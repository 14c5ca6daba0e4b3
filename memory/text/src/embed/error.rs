use thiserror::Error;

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
    /// A file of the model is invalid.
    #[error("{what} is no usable model: {reason}")]
    Unusable {
        /// The file or its kind.
        what: String,
        /// The problem.
        reason: String,
    },
}
