use std::time::{Duration, Instant};

use muninn_base::Supervisor;
use muninn_text::embed::StaticVectors;
use muninn_text::lexical::Tokenizer;
use muninn_watch::WatchedFolder;

use super::index::Index;

/// The index, once it was used.
#[derive(Default)]
pub(crate) struct Search {
    pub(crate) index: Option<Index>,
    pub(crate) vectors: Option<StaticVectors>,
    /// It remembers the stems of words.
    pub(crate) tokenizer: Tokenizer,
    pub(crate) watched: Option<WatchedFolder>,
    /// When all files were looked at, and how long that holds where nothing reports a change.
    pub(crate) looked: Option<(Instant, Duration)>,
    /// The new texts since the index was kept.
    pub(crate) unsaved: usize,
    /// The owner of threads.
    pub(crate) owner: Option<Supervisor>,
    /// When the index was built or searched last.
    pub(crate) used: Option<Instant>,
}
