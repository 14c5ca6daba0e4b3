use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use jiff::Timestamp;
use muninn_base::Supervisor;
use muninn_base::image::DerivedImage;
use muninn_text::embed::StaticVectors;
use muninn_text::redact::redact;
use muninn_watch::WatchedFolder;
use parking_lot::MutexGuard;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::directory::Personal;
use super::super::error::PersonalError;
use super::super::files;
use super::super::journal_lines::parse;
use super::super::paths::{INDEX, JOURNAL};
use super::super::timestamp::timestamp;
use super::index::{Document, IndexedFile, Listed, MOST_FILE};
use super::kind::ItemType;
use super::state::Search;

/// The new texts after which the index is kept for the next process.
const READ_FOR_IMAGE: usize = 100;

/// The files from which the directory is watched. Fewer are looked at in a millisecond.
const MANY: usize = 500;

/// The bytes below which all files are read in a few milliseconds.
const SMALL: u64 = 200_000;

/// The same if the index was kept: it is read, and not built.
const SMALL_KEPT: u64 = 4_000_000;

impl From<String> for ItemType {
    fn from(name: String) -> ItemType {
        match &*name {
            "journal" => ItemType::Journal,
            "person" => ItemType::Person,
            "project" => ItemType::Project,
            _ => ItemType::Other(name),
        }
    }
}

impl From<ItemType> for String {
    fn from(kind: ItemType) -> String {
        kind.to_string()
    }
}

impl fmt::Display for ItemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ItemType::Journal => "journal",
            ItemType::Person => "person",
            ItemType::Project => "project",
            ItemType::Other(name) => name,
        })
    }
}

/// What is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOptions {
    /// Only texts of this type.
    pub kind: Option<ItemType>,
    /// Only texts from this time on: see `super::time`.
    pub since: Option<Timestamp>,
    /// The most results.
    pub limit: usize,
}

/// A found text.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FoundItem {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ItemType,
    /// The text. That of a journal entry begins with its topic in brackets.
    pub content: String,
    /// The file, below the directory.
    pub source: String,
    /// The heading of the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The time of an entry, or of the last change of an entity's file.
    pub timestamp: String,
    /// How well it matches, from 0 to 1.
    pub score: f32,
}

impl Personal {
    /// Watches the directory, if it has many files, and builds indexes, in threads of this owner.
    pub fn watch(&self, supervisor: &Supervisor) {
        let watched = WatchedFolder::new(self.root(), &self.path(INDEX), Some(supervisor));
        let mut search = self.searched();
        search.watched = Some(watched);
        search.owner = Some(supervisor.clone());
    }

    /// Builds the index, or reads the kept one, in a thread of the owner that [`Self::watch`] named.
    pub fn index_in_background(self: &Arc<Self>) {
        let Some(owner) = self.searched().owner.clone() else {
            return;
        };
        let this = Arc::clone(self);
        // An error is that of the next search, too, which reports it; without a thread, a search that may wait builds it.
        owner
            .run("personal-index", move || {
                this.refresh(&mut this.searched()).ok();
            })
            .ok();
    }

    /// Gives the memory of an index back that nobody has searched for some time. The next search reads the kept one.
    pub fn release_unused(&self, time: Duration) {
        let Some(mut search) = self.search.try_lock() else { return };
        let is_used = search.used.is_some_and(|used| used.elapsed() < time);
        if is_used {
            return;
        }
        if let Some(index) = search.index.take()
            && search.image.unsaved > 0
        {
            search.image.write(&index);
        }
    }

    /// The texts that match a query best, the best first; of equal ones the newest first.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<Vec<FoundItem>, PersonalError> {
        self.find(self.searched(), query, options)
    }

    fn find(
        &self,
        mut search: MutexGuard<'_, Search>,
        query: &str,
        options: &SearchOptions,
    ) -> Result<Vec<FoundItem>, PersonalError> {
        self.refresh(&mut search)?;
        search.used = Some(Instant::now());
        let Some(index) = &search.index else {
            return Ok(Vec::new());
        };
        let since = options.since.map(Timestamp::as_second);
        let is_wanted = |document: &Document, file: &IndexedFile| {
            let is_of_kind = options.kind.as_ref().is_none_or(|kind| file.kind == *kind);
            is_of_kind && since.is_none_or(|since| document.seconds >= since)
        };
        let best = index.best(query, StaticVectors::try_shared()?, options.limit, is_wanted);
        let found = best.into_iter().filter_map(|(document, score)| {
            let file = index.files.get(&document.file)?;
            found_item(self.root(), file, document, score)
        });
        Ok(found.collect())
    }

    /// [`Self::search`] for a caller who must not wait: `None` while the index is built or used. If it takes long, it is built in
    /// the background.
    pub fn search_now(
        self: &Arc<Self>,
        query: &str,
        options: &SearchOptions,
    ) -> Option<Result<Vec<FoundItem>, PersonalError>> {
        let search = self.search.try_lock()?;
        if search.index.is_none() && !self.is_small(&search.image) {
            drop(search);
            self.index_in_background();
            return None;
        }
        Some(self.find(search, query, options))
    }

    /// Whether an index is there in a few milliseconds, from the files or from the image.
    fn is_small(&self, image: &DerivedImage) -> bool {
        let listed = self.listed().unwrap_or_default();
        let bytes = listed.iter().map(|file| file.size).sum::<u64>();
        bytes < SMALL || (bytes < SMALL_KEPT && image.exists())
    }

    /// Brings the index up to date.
    fn refresh(&self, search: &mut Search) -> Result<(), PersonalError> {
        let is_recent = search.looked.is_some_and(|(at, interval)| at.elapsed() < interval);
        let is_current = search.watched.as_mut().is_some_and(WatchedFolder::saw_no_change) && is_recent;
        if is_current && search.index.is_some() {
            return Ok(());
        }
        let vectors = StaticVectors::try_shared()?;
        search.used = search.used.or(Some(Instant::now()));
        let interval = self.settings().unwrap_or_default().daemon.check_interval;
        search.looked = Some((Instant::now(), Duration::from_millis(interval)));
        let listed = self.listed()?;
        let before = search.index.take().unwrap_or_else(|| search.image.read());
        let (index, new) = before.refreshed(self.root(), &listed, (vectors, &mut search.tokenizer));
        search.image.unsaved += new;
        if search.image.unsaved >= READ_FOR_IMAGE {
            search.image.write(&index);
        }
        search.index = Some(index);
        if listed.len() >= MANY
            && let Some(watched) = &mut search.watched
        {
            watched.watch();
        }
        Ok(())
    }

    /// The files that are searched.
    fn listed(&self) -> Result<Vec<Listed>, PersonalError> {
        let mut listed = Vec::new();
        for file in self.day_files(JOURNAL)? {
            // One that was removed meanwhile is not there.
            if let Ok(metadata) = fs::symlink_metadata(&file.path)
                && metadata.is_file()
            {
                listed.push(Listed::of(file.name, ItemType::Journal, &metadata));
            }
        }
        let entities = self.entity_files()?.into_iter();
        listed.extend(entities.map(|file| Listed::of(file.name, file.kind, &file.metadata)));
        Ok(listed)
    }

    fn searched(&self) -> MutexGuard<'_, Search> {
        self.search.lock()
    }
}

/// A found text, read from its file; `None` if it is no longer there.
fn found_item(root: &Path, file: &IndexedFile, document: &Document, score: f32) -> Option<FoundItem> {
    let bytes = files::read_start(root, &file.name, MOST_FILE).ok()?;
    let text = String::from_utf8_lossy(bytes.get(document.start..document.end)?);
    let (content, section, at) = match file.kind {
        ItemType::Journal => {
            let entry = parse(&text).ok()?;
            (format!("[{}] {}", entry.topic, entry.content), None, entry.timestamp)
        }
        _ => {
            let heading = text.lines().next().unwrap_or_default();
            let title = heading.starts_with('#').then(|| heading.trim_start_matches('#').trim().to_owned());
            let at = Timestamp::from_second(document.seconds).ok()?;
            (redact(text.trim()).into_owned(), title, timestamp(at))
        }
    };
    Some(FoundItem { kind: file.kind.clone(), content, source: file.name.clone(), section, timestamp: at, score })
}

#[cfg(test)]
impl Personal {
    /// Whether all directories are watched, after some time.
    pub(crate) fn is_watched(&self, patience: Duration) -> bool {
        let search = self.searched();
        search.watched.as_ref().is_some_and(|watched| watched.wait_ready(patience))
    }

    /// When a search looked at the files last.
    pub(crate) fn last_look(&self) -> Option<Instant> {
        self.searched().looked.map(|(at, _)| at)
    }
}
