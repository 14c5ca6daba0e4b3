use std::path::Path;
use std::time::{Duration, Instant};

use muninn_base::Supervisor;
use muninn_base::image::{DerivedImage, ImageFormat};
use muninn_text::lexical::{Tokenizer, has_terms_of};
use muninn_watch::WatchedFolder;

use super::super::paths::INDEX;
use super::index::Index;

/// The index that is kept.
const IMAGE: ImageFormat = ImageFormat { prefix: "muninn-search-", magic: b"muninn personal search 4\n" };

const _: () = assert!(has_terms_of(3), "raise the version of the image, too");

/// The index, once it was used.
pub(crate) struct Search {
    pub(crate) index: Option<Index>,
    pub(crate) image: DerivedImage,
    /// It remembers the stems of words.
    pub(crate) tokenizer: Tokenizer,
    pub(crate) watched: Option<WatchedFolder>,
    /// When all files were looked at, and how long that holds where nothing reports a change.
    pub(crate) looked: Option<(Instant, Duration)>,
    /// The owner of threads.
    pub(crate) owner: Option<Supervisor>,
    /// When the index was built or searched last.
    pub(crate) used: Option<Instant>,
}

impl Search {
    /// The search of a directory that was not used yet.
    pub(crate) fn new(root: &Path) -> Search {
        Search {
            index: None,
            image: DerivedImage::new(&IMAGE, &root.join(INDEX), root),
            tokenizer: Tokenizer::default(),
            watched: None,
            looked: None,
            owner: None,
            used: None,
        }
    }
}
