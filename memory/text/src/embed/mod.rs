//! Text embedding: vectors that are near each other if the texts have similar meanings.
//!
//! Three embedders implement one trait. [`StaticVectors`] is compiled in, needs no download and takes microseconds: it
//! sums trained word vectors. [`minilm`] loads a small transformer, which is better and a thousand times slower; its weights
//! must be downloaded once. The third embedder calls a backend. It is in the gateway, because only the gateway uses HTTP.
//!
//! The scores of a weak embedder can be combined with other scores, but its ranks cannot: its second result can be much
//! worse than its first, and only the scores show the difference.

mod embedder;
mod error;
mod load;
mod minilm;
mod minilm_files;
mod pieces;
mod similarity;
mod static_file;
mod static_vectors;

pub use embedder::{Embedder, normalise};
pub use error::{EmbedError, LoadError};
pub use load::minilm;
pub use minilm_files::{MINILM_FILES, MINILM_ID};
pub use similarity::{STATIC_ID, dot};
pub use static_vectors::StaticVectors;
