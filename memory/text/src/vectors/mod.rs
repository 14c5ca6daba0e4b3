//! Vectors in memory, which measure similarity in addition to words: signs for all of them, bytes for as many as fit.

mod index;
mod scan;
mod small;

pub use index::{MOST_BYTES_HELD, VectorIndex, cosines};
pub use small::bytes;
