//! The digest of a wiki, with its terms and its pages in use, which are kept in the state directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::SystemTime;

use muninn_base::{Clock, Supervisor, private_file};
use muninn_config::DigestConfig;
use muninn_notebooks::wiki::{Digest, PagePath, Pages, Recents, cloud};
use muninn_text::redact;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Wiki;
use super::kept_digest::{Cloud, KeptDigest, Last};

impl KeptDigest {
    pub(super) fn new(state: &Path, settings: &DigestConfig) -> KeptDigest {
        // Earlier versions chose the terms by other rules.
        for earlier in ["cloud.json", "terms.json"] {
            std::fs::remove_file(state.join(earlier)).ok();
        }
        KeptDigest {
            settings: settings.clone(),
            recents: state.join("recents.json"),
            cloud_file: state.join("frequent-terms.json"),
            cloud: Mutex::default(),
            counting: Mutex::default(),
            in_background: AtomicBool::new(false),
            ends: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// The digest of pages below a folder.
    pub(super) fn of(&self, pages: &Pages, root: &Path) -> Arc<Digest> {
        let cloud = self.cloud_for(pages, root);
        let recents = self.load_recents().existing(pages);
        let mut last = self.last.lock();
        if let Some(last) = &*last
            && last.pages == pages.version()
            && Arc::ptr_eq(&last.cloud, &cloud)
            && last.recents == recents
        {
            return Arc::clone(&last.digest);
        }
        let digest = Digest::of(pages, cloud.terms.clone(), recents.clone(), self.settings.max_render_bytes);
        let digest = Arc::new(digest);
        *last = Some(Last { pages: pages.version().to_owned(), cloud, recents, digest: Arc::clone(&digest) });
        digest
    }

    /// The terms. They are counted here if they never were, or, without a thread that does it, if the pages have changed
    /// and the last counting is long enough ago.
    fn cloud_for(&self, pages: &Pages, root: &Path) -> Arc<Cloud> {
        let is_usable = |cloud: &Cloud| {
            let age = || now().duration_since(cloud.at).unwrap_or_default();
            cloud.of == pages.version()
                || self.in_background.load(Ordering::Relaxed)
                || age() < self.settings.cloud_refresh
        };
        match self.known_cloud().filter(|cloud| is_usable(cloud)) {
            Some(cloud) => cloud,
            None => self.count(pages, root),
        }
    }

    /// The terms that were counted last, by this process or an earlier one.
    fn known_cloud(&self) -> Option<Arc<Cloud>> {
        let mut known = self.cloud.lock();
        if known.is_none() {
            let stored = logged(self.load_cloud());
            let settings = (self.settings.cloud_size, &self.settings.stopwords_extra);
            let stored = stored.filter(|cloud| (cloud.size, &cloud.stopwords_extra) == settings);
            *known = stored.map(Arc::new);
        }
        known.clone()
    }

    /// Counts the terms, if no other thread just did. Pages that cannot be read do not count.
    fn count(&self, pages: &Pages, root: &Path) -> Arc<Cloud> {
        let _counting = self.counting.lock();
        if let Some(cloud) = self.known_cloud().filter(|cloud| cloud.of == pages.version()) {
            return cloud;
        }
        let (size, extra) = (self.settings.cloud_size, &self.settings.stopwords_extra);
        let version = pages.version().to_owned();
        let pages: Vec<_> = pages.iter().collect();
        let cloud = Arc::new(Cloud {
            // The terms get into prompts.
            terms: cloud(&pages, |page| page.body(root).ok().map(|body| redact(&body).into_owned()), size, extra),
            of: version,
            at: now(),
            size,
            stopwords_extra: extra.clone(),
        });
        *self.cloud.lock() = Some(Arc::clone(&cloud));
        self.store(&self.cloud_file, || &*cloud);
        cloud
    }

    fn load_recents(&self) -> Recents {
        let used = logged(self.load_used());
        Recents::new(self.settings.recents_size, used.unwrap_or_default())
    }

    fn load_used(&self) -> Result<Option<Vec<PagePath>>, Damaged> {
        load(&self.recents, "the pages in use are forgotten")
    }

    fn load_cloud(&self) -> Result<Option<Cloud>, Damaged> {
        load(&self.cloud_file, "the terms are counted again")
    }

    /// The files of the state directory that are damaged.
    pub(super) fn damages(&self) -> Vec<String> {
        let found = [self.load_used().err(), self.load_cloud().err()];
        found.into_iter().flatten().map(|damaged| damaged.to_string()).collect()
    }

    /// Notes the use of pages, at once and for all processes.
    pub(super) fn note_use(&self, note: impl FnOnce(&mut Recents)) {
        self.store(&self.recents, || {
            let mut recents = self.load_recents();
            note(&mut recents);
            recents.iter().cloned().collect::<Vec<_>>()
        });
    }

    /// Writes a file of the state directory, under its lock. A wiki works without.
    fn store<T: Serialize>(&self, file: &Path, value: impl FnOnce() -> T) {
        let write = || -> std::io::Result<()> {
            private_file::dir(file.parent().unwrap_or(file))?;
            let _lock = private_file::lock(&file.with_extension("lock"))?;
            private_file::replace(file, &serde_json::to_vec(&value())?)
        };
        if let Err(error) = write() {
            tracing::debug!("{}: {error}", file.display());
        }
    }
}

/// Counts the terms of a wiki now and again after each pause, if its pages have changed, until it is dropped.
pub(super) fn count_in_background(wiki: &Arc<Wiki>, supervisor: &Supervisor) {
    let (ends, ended) = channel();
    let (weak, pause) = (Arc::downgrade(wiki), wiki.digest.settings.cloud_refresh);
    let started = supervisor.keep_owned("wiki-terms", move || {
        loop {
            let Some(wiki) = weak.upgrade() else { return };
            wiki.digest.count(&wiki.pages(), wiki.folder.root());
            drop(wiki);
            if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    match started {
        Ok(_) => {
            *wiki.digest.ends.lock() = Some(ends);
            wiki.digest.in_background.store(true, Ordering::Relaxed);
        }
        Err(error) => tracing::debug!("{error}; terms are counted when they are needed"),
    }
}

/// A file of the state directory cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}; {loss}", file.display())]
struct Damaged {
    file: PathBuf,
    source: serde_json::Error,
    /// What follows.
    loss: &'static str,
}

/// The value of a file of the state directory; `None` if there is none.
fn load<T: DeserializeOwned>(file: &Path, loss: &'static str) -> Result<Option<T>, Damaged> {
    let Ok(text) = private_file::read_whole(file) else {
        return Ok(None);
    };
    let value = serde_json::from_slice(&text);
    value.map_err(|source| Damaged { file: file.to_owned(), source, loss })
}

/// A value, or nothing after a warning in the log.
fn logged<T>(loaded: Result<Option<T>, Damaged>) -> Option<T> {
    loaded.unwrap_or_else(|damaged| {
        tracing::warn!("{damaged}");
        None
    })
}

fn now() -> SystemTime {
    Clock::system().now().into()
}
