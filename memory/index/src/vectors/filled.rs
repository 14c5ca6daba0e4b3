/// The result of filling, in chunks.
#[derive(Debug, Default)]
pub struct Filled {
    /// The number of chunks that were embedded.
    pub embedded: usize,
    /// The number of chunks whose vectors were read from disk.
    pub loaded: usize,
    /// The number of files whose chunks still have no vectors.
    pub left: usize,
    /// Problems that did not stop the filling.
    pub notes: Vec<String>,
}
