//! Vectors of chunks, which measure the similarity to a question in addition to its words.
//!
//! The lexical index does not wait for vectors. After the index is built, [`Vectors::fill`] reads the files of a
//! snapshot again, lets an [`muninn_text::embed::Embedder`] compute a vector for each chunk, and stores the vectors in a
//! [`VectorStore`] by blob. So the same embedder never embeds the same content twice, on any branch. In memory the
//! vectors form a `VectorIndex`: signs for all vectors, bytes for as many as fit. A vector belongs to a blob, not to
//! a path. [`ByBlob`] maps it to the chunks of a snapshot, so a snapshot and its vectors can be of different moments.

mod by_blob;
mod extension;
mod fill;
mod filled;
mod held;
mod lane;
mod store;
mod text;

pub use by_blob::ByBlob;
pub use filled::Filled;
pub use lane::{Near, Vectors};
pub use store::{BlockKey, Rows, VectorStore};
