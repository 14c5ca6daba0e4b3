//! The search over journal entries and entities, by words and by likeness.
//!
//! A look at the files finds the changed ones: entries that were appended are read, other changed files are read anew. New texts
//! go into a small part of the index, which joins the large one when it has grown; texts of replaced files are passed over until
//! then. Files that are always loaded are not searched.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use muninn_repo_tools::Supervisor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directory::{INDEX, JOURNAL, Personal};
use super::error::PersonalError;
use super::journal::{parse, timestamp};
use crate::embed::StaticVectors;
use crate::image::{self, ImageFormat};
use crate::index::lexical::Tokenizer;
use crate::index::{TextQuery, TextScore, Texts, TextsBuilder};
use crate::markdown::sections;
use crate::private_file;
use crate::redact::redact;
use crate::watch::WatchedFolder;

/// The texts of the part of the index that is made anew with each change.
const MOST_NEWEST: usize = 500;
/// The new texts after which the index is kept for the next process.
const READ_FOR_IMAGE: usize = 100;
/// The part of a file that is searched, in bytes.
const MOST_FILE: usize = 4 << 20;
/// The least score of a result.
const LEAST_SCORE: f32 = 0.1;
/// The files from which the directory is watched. Fewer are looked at in a millisecond.
const MANY: usize = 500;
/// The bytes below which all files are read in a few milliseconds.
const SMALL: u64 = 200_000;
/// A file that was changed so short a time ago can change again without a new time.
const JUST_NOW: Duration = Duration::from_secs(2);
/// The index that is kept.
const IMAGE: ImageFormat = ImageFormat {
    prefix: "muninn-search-",
    magic: b"muninn personal search 1\n",
};

/// What a text is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
#[schemars(with = "String")]
pub enum ItemType {
    /// A journal entry.
    Journal,
    /// A person.
    Person,
    /// A project.
    Project,
    /// Another entity: the name of its folder.
    Other(String),
}

impl ItemType {
    /// The type of the entities in a folder.
    pub(super) fn of_folder(folder: &str) -> ItemType {
        match folder {
            "people" => ItemType::Person,
            "projects" => ItemType::Project,
            other => ItemType::Other(other.to_owned()),
        }
    }
}

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
    /// Only texts from this time on: see [`time`].
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

/// The index, once it was used.
#[derive(Default)]
pub(super) struct Search {
    index: Option<Index>,
    vectors: Option<StaticVectors>,
    /// It remembers the stems of words.
    tokenizer: Tokenizer,
    watched: Option<WatchedFolder>,
    /// The new texts since the index was kept.
    unsaved: usize,
}

#[derive(Default, Serialize, Deserialize)]
struct Index {
    files: Vec<IndexedFile>,
    old: Part,
    newest: Part,
}

/// A file that was read.
#[derive(Clone, Serialize, Deserialize)]
struct IndexedFile {
    name: String,
    kind: ItemType,
    /// Its size and time; `None` if they do not tell whether it has changed.
    stamp: Option<(u64, SystemTime)>,
    /// The bytes that were read, and their hash.
    read: usize,
    hash: [u8; 32],
    /// Whether its texts are passed over: it was removed, or read anew under another number.
    is_gone: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct Part {
    documents: Vec<Document>,
    texts: Texts,
}

/// The place of a text.
#[derive(Clone, Serialize, Deserialize)]
struct Document {
    /// The number of its file.
    file: u32,
    /// The bytes of it.
    start: usize,
    end: usize,
    /// The time, in seconds.
    seconds: i64,
}

/// A file of the directory.
struct Listed {
    name: String,
    kind: ItemType,
    size: u64,
    modified: SystemTime,
}

impl Personal {
    /// Watches the directory, if it has many files, in threads of this owner.
    pub fn watch(&self, supervisor: &Supervisor) {
        let watched = WatchedFolder::new(self.root(), &self.path(INDEX), Some(supervisor));
        self.searched().watched = Some(watched);
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
        let (Some(index), Some(vectors)) = (&search.index, &search.vectors) else {
            return Ok(Vec::new());
        };
        let since = options.since.map(Timestamp::as_second);
        let is_wanted = |document: &Document, file: &IndexedFile| {
            let is_of_kind = options.kind.as_ref().is_none_or(|kind| file.kind == *kind);
            !file.is_gone && is_of_kind && since.is_none_or(|since| document.seconds >= since)
        };
        let best = index.best(query, vectors, options.limit, is_wanted);
        let found = best.into_iter().filter_map(|(document, score)| {
            let file = index.files.get(document.file as usize)?;
            found_item(self.root(), file, document, score)
        });
        Ok(found.collect())
    }

    /// [`Self::search`] for a caller who must not wait: `None` while the index is built or used, or is not built yet and that
    /// takes long.
    pub fn search_now(&self, query: &str, options: &SearchOptions) -> Option<Result<Vec<FoundItem>, PersonalError>> {
        let search = match self.search.try_lock() {
            Ok(search) => search,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if search.index.is_none() && !self.is_small() {
            return None;
        }
        Some(self.find(search, query, options))
    }

    /// Whether an index is built in a few milliseconds, from the files or from the image.
    fn is_small(&self) -> bool {
        let listed = self.listed().unwrap_or_default();
        listed.iter().map(|file| file.size).sum::<u64>() < SMALL
    }

    /// Brings the index up to date.
    fn refresh(&self, search: &mut Search) -> Result<(), PersonalError> {
        let is_current = search.watched.as_mut().is_some_and(WatchedFolder::saw_no_change);
        if is_current && search.index.is_some() {
            return Ok(());
        }
        if search.vectors.is_none() {
            search.vectors = Some(StaticVectors::shipped()?);
        }
        let (Some(vectors), tokenizer) = (&search.vectors, &mut search.tokenizer) else {
            return Ok(());
        };
        let listed = self.listed()?;
        let before = search.index.take().unwrap_or_else(|| self.restored());
        let (index, new) = before.refreshed(self.root(), &listed, (vectors, tokenizer));
        search.unsaved += new;
        if search.unsaved >= READ_FOR_IMAGE {
            search.unsaved = 0;
            self.keep(&index);
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

    fn restored(&self) -> Index {
        let kept = image::read(&IMAGE, &self.path(INDEX), self.root()).ok().flatten();
        kept.unwrap_or_default()
    }

    /// Keeps the index for the next process, which reads all files if this fails.
    fn keep(&self, index: &Index) {
        let directory = self.path(INDEX);
        if private_file::dir(&directory).is_ok() {
            image::write(&IMAGE, &directory, self.root(), index).ok();
        }
    }

    fn searched(&self) -> MutexGuard<'_, Search> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listed {
    fn of(name: String, kind: ItemType, metadata: &fs::Metadata) -> Listed {
        Listed {
            name,
            kind,
            size: metadata.len(),
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }

    /// The stamp, unless the file can change again without another one.
    fn stamp(&self, now: SystemTime) -> Option<(u64, SystemTime)> {
        let age = now.duration_since(self.modified).unwrap_or_default();
        (age >= JUST_NOW).then_some((self.size, self.modified))
    }
}

/// Texts to be added, with their places.
#[derive(Default)]
struct NewTexts {
    documents: Vec<Document>,
    texts: Vec<String>,
}

impl Index {
    /// The index of the files as they are now, and the number of new texts in it.
    fn refreshed(
        mut self,
        root: &Path,
        listed: &[Listed],
        (vectors, tokenizer): (&StaticVectors, &mut Tokenizer),
    ) -> (Index, usize) {
        // Before the files are read.
        let now = SystemTime::from(crate::Clock::system().now());
        let current = self.files.iter().enumerate().filter(|(_, file)| !file.is_gone);
        let mut known: HashMap<String, usize> = current.map(|(at, file)| (file.name.clone(), at)).collect();
        let mut new = NewTexts::default();
        for file in listed {
            let before = known.remove(&file.name);
            let before = before.filter(|at| self.files[*at].kind == file.kind);
            if before.is_some_and(|at| self.files[at].stamp == Some((file.size, file.modified))) {
                continue;
            }
            let Ok(bytes) = fs::read(root.join(&file.name)) else {
                // It was removed, or cannot be read: what is known of it no longer holds.
                before.into_iter().for_each(|at| self.files[at].is_gone = true);
                continue;
            };
            self.take(before, file, &bytes[..bytes.len().min(MOST_FILE)], now, &mut new);
        }
        known.into_values().for_each(|at| self.files[at].is_gone = true);
        let count = new.documents.len();
        if count > 0 {
            let mut builder = TextsBuilder::default();
            new.texts.iter().for_each(|text| builder.add(tokenizer, vectors, text));
            let part = Part {
                documents: new.documents,
                texts: builder.finish(),
            };
            let joined = Part::joined(&[&self.newest, &part], &self.files);
            self.newest = joined;
        }
        if self.newest.documents.len() > MOST_NEWEST {
            self.merge();
        }
        (self, count)
    }

    /// Takes a file's content in: the end of a journal that has grown, or all of it.
    fn take(&mut self, before: Option<usize>, file: &Listed, bytes: &[u8], now: SystemTime, new: &mut NewTexts) {
        let is_continued = |known: &IndexedFile| {
            let is_same = bytes
                .get(..known.read)
                .is_some_and(|read| *blake3::hash(read).as_bytes() == known.hash);
            is_same && (file.kind == ItemType::Journal || known.read == bytes.len())
        };
        let at = before.filter(|at| is_continued(&self.files[*at]));
        if let (None, Some(at)) = (at, before) {
            self.files[at].is_gone = true;
        }
        let at = at.unwrap_or_else(|| {
            self.files.push(IndexedFile {
                name: file.name.clone(),
                kind: file.kind.clone(),
                stamp: None,
                read: 0,
                hash: *blake3::hash(b"").as_bytes(),
                is_gone: false,
            });
            self.files.len() - 1
        });
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let known = &mut self.files[at];
        let read = match file.kind {
            ItemType::Journal => new.journal(number, bytes, known.read),
            _ => {
                if known.read != bytes.len() {
                    new.entity(number, &file.name, bytes, file.modified);
                }
                bytes.len()
            }
        };
        // A line that is being written is read next time.
        known.stamp = file
            .stamp(now)
            .filter(|_| read == bytes.len() || bytes.len() >= MOST_FILE);
        known.hash = *blake3::hash(&bytes[..read]).as_bytes();
        known.read = read;
    }

    /// Joins both parts, and forgets files that are gone.
    fn merge(&mut self) {
        let mut joined = Part::joined(&[&self.old, &self.newest], &self.files);
        let mut numbers = HashMap::new();
        let mut files = Vec::new();
        for (number, file) in (0u32..).zip(&self.files).filter(|(_, file)| !file.is_gone) {
            numbers.insert(number, u32::try_from(files.len()).unwrap_or(u32::MAX));
            files.push(file.clone());
        }
        for document in &mut joined.documents {
            document.file = numbers.get(&document.file).copied().unwrap_or(u32::MAX);
        }
        *self = Index {
            files,
            old: joined,
            newest: Part::default(),
        };
    }

    /// The best places with their scores.
    fn best(
        &self,
        query: &str,
        vectors: &StaticVectors,
        limit: usize,
        wanted: impl Fn(&Document, &IndexedFile) -> bool,
    ) -> Vec<(&Document, f32)> {
        let query = TextQuery::of(query, vectors, &[&self.old.texts, &self.newest.texts]);
        let mut found = Vec::new();
        for part in [&self.old, &self.newest] {
            for (document, score) in part.documents.iter().zip(query.scores(&part.texts)) {
                let file = self.files.get(document.file as usize);
                if score.value >= LEAST_SCORE && file.is_some_and(|file| wanted(document, file)) {
                    found.push((document, score));
                }
            }
        }
        type Scored<'a> = (&'a Document, TextScore);
        let order = |(a, first): &Scored<'_>, (b, second): &Scored<'_>| {
            let by_score = second.value.total_cmp(&first.value);
            let by_likeness = || second.cosine.total_cmp(&first.cosine);
            by_score.then_with(by_likeness).then(b.seconds.cmp(&a.seconds))
        };
        if found.len() > limit {
            found.select_nth_unstable_by(limit, order);
            found.truncate(limit);
        }
        found.sort_unstable_by(order);
        found
            .into_iter()
            .map(|(document, score)| (document, score.value))
            .collect()
    }
}

impl Part {
    /// The texts of both parts whose files are there.
    fn joined(parts: &[&Part; 2], files: &[IndexedFile]) -> Part {
        let is_there = |document: &Document| files.get(document.file as usize).is_some_and(|file| !file.is_gone);
        let keep = parts.map(|part| part.documents.iter().map(is_there).collect::<Vec<bool>>());
        let documents = parts.iter().flat_map(|part| &part.documents);
        Part {
            documents: documents.filter(|document| is_there(document)).cloned().collect(),
            texts: Texts::merged(&[(&parts[0].texts, Some(&keep[0])), (&parts[1].texts, Some(&keep[1]))]),
        }
    }
}

impl NewTexts {
    fn add(&mut self, (file, seconds): (u32, i64), (start, end): (usize, usize), text: String) {
        self.documents.push(Document {
            file,
            start,
            end,
            seconds,
        });
        self.texts.push(text);
    }

    /// Adds the entries of a journal from a byte on. Returns the end of the last whole line.
    fn journal(&mut self, file: u32, bytes: &[u8], from: usize) -> usize {
        let mut start = from.min(bytes.len());
        while start < bytes.len() {
            let rest = &bytes[start..];
            let length = memchr::memchr(b'\n', rest);
            let end = start + length.unwrap_or(rest.len());
            let entry = std::str::from_utf8(&bytes[start..end])
                .ok()
                .and_then(|line| parse(line).ok());
            if let Some(entry) = &entry {
                let seconds = entry.timestamp.parse().map_or(0, Timestamp::as_second);
                self.add(
                    (file, seconds),
                    (start, end),
                    format!("{} {}", entry.topic, entry.content),
                );
            }
            match length {
                Some(_) => start = end + 1,
                // An editor leaves a last line without an end; a writer is not done with one.
                None if entry.is_some() => return end,
                None => break,
            }
        }
        start
    }

    /// Adds the sections of an entity's file.
    fn entity(&mut self, file: u32, name: &str, bytes: &[u8], modified: SystemTime) {
        let text = String::from_utf8_lossy(bytes);
        let seconds = Timestamp::try_from(modified).map_or(0, Timestamp::as_second);
        let entity = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
        let entity = entity.replace(['-', '_'], " ");
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1));
        for section in sections(&text, 1) {
            let start = starts.get(section.first as usize - 1).copied().unwrap_or(bytes.len());
            let end = starts.get(section.last as usize).copied().unwrap_or(bytes.len());
            let content = String::from_utf8_lossy(&bytes[start..end.max(start)]);
            self.add(
                (file, seconds),
                (start, end),
                redact(&format!("{entity}\n{content}")).into_owned(),
            );
        }
    }
}

/// A found text, read from its file; `None` if it is no longer there.
fn found_item(root: &Path, file: &IndexedFile, document: &Document, score: f32) -> Option<FoundItem> {
    let bytes = fs::read(root.join(&file.name)).ok()?;
    let text = String::from_utf8_lossy(bytes.get(document.start..document.end)?);
    let (content, section, at) = match file.kind {
        ItemType::Journal => {
            let entry = parse(&text).ok()?;
            (format!("[{}] {}", entry.topic, entry.content), None, entry.timestamp)
        }
        _ => {
            let heading = text.lines().next().unwrap_or_default();
            let title = heading
                .starts_with('#')
                .then(|| heading.trim_start_matches('#').trim().to_owned());
            let at = Timestamp::from_second(document.seconds).ok()?;
            (redact(text.trim()).into_owned(), title, timestamp(at))
        }
    };
    Some(FoundItem {
        kind: file.kind.clone(),
        content,
        source: file.name.clone(),
        section,
        timestamp: at,
        score,
    })
}

/// A date or a time: of a date without a time its beginning, of a time without a zone that in the zone of the system.
///
/// # Errors
/// [`PersonalError::Time`].
pub fn time(text: &str, zone: &TimeZone) -> Result<Timestamp, PersonalError> {
    let text = text.trim();
    let civil = || {
        text.parse::<DateTime>()
            .or_else(|_| text.parse::<Date>().map(DateTime::from))
    };
    let zoned = || civil().ok()?.to_zoned(zone.clone()).ok();
    let at = text.parse().ok().or_else(|| Some(zoned()?.timestamp()));
    at.ok_or_else(|| PersonalError::Time(text.to_owned()))
}
