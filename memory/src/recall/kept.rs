//! What was loaded, as a file of the cache, so that a start neither reads records nor embeds them again.
//!
//! It follows the files that it was made of: their names, sizes and times stand in it, and where any of these is another,
//! by whoever's hand, all of it is made anew but the vectors of texts that are still there. Knowledge and records are in it as they were redacted.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::order::NeighbourRuns;
use crate::hits::Hits;
use crate::image::{self, ImageFormat};
use crate::index::lexical::Bm25;
use crate::memories::Memory;
use crate::records::{Home, RecordFile};
use crate::stamp::Stamp;

/// Raised whenever the shape of what is kept or the meaning of what is in it changes.
const FORM: ImageFormat = ImageFormat {
    prefix: "memory-",
    magic: b"muninn memory index 4\n",
};

/// All that is made of the files.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Store {
    /// The files of records that were asked for, there or not.
    pub(super) files: Vec<RecordFile>,
    pub(super) stamps: Vec<Stamp>,
    pub(super) notes: Vec<String>,
    pub(super) items: Vec<Memory>,
    pub(super) index: Bm25,
    pub(super) runs: NeighbourRuns,
    pub(super) mean_lengths: [f32; 2],
    pub(super) hits: Hits,
    /// Vectors by the embedder of this id, as many bytes each as it has dimensions; empty without one.
    pub(super) embedder: String,
    #[serde(with = "crate::index::lexical::bytes")]
    pub(super) vectors: Vec<u8>,
}

/// What an earlier process left, whether or not it still is as the files are.
pub(super) fn read(dir: &Path, home: &Home) -> Option<Store> {
    // One that is damaged, or of another version, is as good as none: it is written again.
    image::read(&FORM, dir, home.root()).ok().flatten()
}

/// Leaves it for the next process.
///
/// # Errors
/// What went wrong, for a note: nothing but time is lost.
pub(super) fn write(dir: &Path, home: &Home, store: &Store) -> Result<(), image::ImageError> {
    image::write(&FORM, dir, home.root(), store)
}
