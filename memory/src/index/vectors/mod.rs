//! Vectors of chunks: what a question is like, beside what words it has.
//!
//! The lexical index does not wait for them. Once it stands, [`Vectors::fill`] reads the files of a snapshot again, has
//! an [`crate::embed::Embedder`] make a vector of each chunk, and keeps them in a [`VectorStore`] by blob, so that no
//! content is embedded twice by the same embedder, on whatever branch. In memory they are a [`VectorIndex`]: signs for
//! all, bytes for as many as fit. Vectors know blobs and no paths; [`ByBlob`] says which chunks of a snapshot they are,
//! so a snapshot and its vectors need not be of the same moment.

mod by_blob;
mod extension;
mod fill;
mod held;
mod index;
mod lane;
mod scan;
mod small;
mod store;
mod text;

pub use by_blob::ByBlob;
pub use fill::Filled;
pub use index::{MOST_BYTES_HELD, VectorIndex};
pub use lane::{Near, Vectors};
pub use small::{bytes, cosine};
pub use store::{BlockKey, Rows, VectorStore};
