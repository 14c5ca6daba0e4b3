//! The loaded memories as a file of the cache, so that a new process neither reads the records nor embeds their texts
//! again.
//!
//! The file contains the names, sizes and times of its source files. If any of them differs, everything is rebuilt
//! except the vectors of texts that still exist. Knowledge and records are stored redacted.

use muninn_base::image::ImageFormat;
use muninn_base::stamp::Stamp;
use muninn_team::memories::Memory;
use muninn_text::hits::Hits;
use muninn_text::lexical::{Bm25, has_terms_of};
use serde::{Deserialize, Serialize};

use super::MemorySources;
use super::order::NeighbourRuns;

/// Increased whenever the format or the meaning of the stored data changes.
pub(super) const FORM: ImageFormat = ImageFormat { prefix: "memory-", magic: b"muninn memory index 14\n" };
const _: () = assert!(has_terms_of(3), "raise the version of the image, too");

/// The data that is built from the files.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Store {
    /// The requested sources, including missing ones.
    pub(super) sources: MemorySources,
    pub(super) stamps: Vec<Stamp>,
    pub(super) notes: Vec<String>,
    pub(super) items: Vec<Memory>,
    pub(super) index: Bm25,
    pub(super) runs: NeighbourRuns,
    pub(super) mean_lengths: [f32; 2],
    pub(super) hits: Hits,
    /// Vectors of `embedding::texts` by the embedder with this id, one byte per dimension; empty without an embedder.
    pub(super) embedder: String,
    #[serde(with = "muninn_text::lexical::bytes")]
    pub(super) vectors: Vec<u8>,
    /// Number of vectors that are not made yet.
    pub(super) unembedded: usize,
}
