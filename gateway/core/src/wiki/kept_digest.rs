use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::SystemTime;

use muninn_config::DigestConfig;
use muninn_notebooks::wiki::{Digest, PagePath, Term};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Makes the digest of a wiki.
pub(crate) struct KeptDigest {
    pub(crate) settings: DigestConfig,
    /// The file of the pages in use.
    pub(crate) recents: PathBuf,
    /// The file of the terms.
    pub(crate) cloud_file: PathBuf,
    pub(crate) cloud: Mutex<Option<Arc<Cloud>>>,
    /// Held while terms are counted.
    pub(crate) counting: Mutex<()>,
    /// Whether a thread counts the terms again when pages change.
    pub(crate) in_background: AtomicBool,
    /// The thread ends when this is dropped.
    pub(crate) ends: Mutex<Option<Sender<()>>>,
    pub(crate) last: Mutex<Option<Last>>,
}

/// The last digest, and what it was made of.
pub(crate) struct Last {
    pub(crate) pages: String,
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) recents: Vec<PagePath>,
    pub(crate) digest: Arc<Digest>,
}

/// Counted terms.
#[derive(Serialize, Deserialize)]
pub(crate) struct Cloud {
    pub(crate) terms: Vec<Term>,
    /// The version of the pages that were counted.
    pub(crate) of: String,
    pub(crate) at: SystemTime,
    /// The settings that decide about terms.
    pub(crate) size: usize,
    pub(crate) stopwords_extra: Vec<String>,
}
