use super::error::EmbedError;

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
