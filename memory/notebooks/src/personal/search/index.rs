//! The index of the texts: which files were read, and the places of their texts.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use muninn_text::embed::StaticVectors;
use muninn_text::lexical::Tokenizer;
use muninn_text::markdown::sections;
use muninn_text::redact::redact;
use muninn_text::text_index::TextIndex;
use muninn_text::texts::{TextScore, TextsBuilder};
use serde::{Deserialize, Serialize};

use super::super::files;
use super::super::journal_lines::parse;
use super::super::read_budget::ReadBudget;
use super::ItemType;

/// The part of a file that is searched, in bytes.
pub(super) const MOST_FILE: u64 = 4 << 20;
/// The most sections of people, projects and the like that are searched, and bytes of them: 5,000 files with 40 sections each.
/// Files that come later by their names are left out.
const MOST_SECTIONS: usize = 200_000;
const MOST_SECTION_BYTES: usize = 32 << 20;
/// The least score of a result.
const LEAST_SCORE: f32 = 0.1;
/// A file that was changed so short a time ago can change again without a new time.
const JUST_NOW: Duration = Duration::from_secs(2);

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Index {
    /// The files by their numbers. A file that was removed or replaced is absent, and its texts are passed over.
    pub(super) files: BTreeMap<u64, IndexedFile>,
    /// The number of the last file. None is used twice, because texts of an absent file still have its number.
    last: u64,
    texts: TextIndex<Document>,
}

/// A file that was read.
#[derive(Serialize, Deserialize)]
pub(super) struct IndexedFile {
    pub(super) name: String,
    pub(super) kind: ItemType,
    /// Its size and time; `None` if they do not tell whether it has changed.
    stamp: Option<(u64, SystemTime)>,
    /// The bytes that were read, and their hash.
    read: usize,
    hash: [u8; 32],
}

/// The place of a text.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    /// The number of its file.
    pub(super) file: u64,
    /// The bytes of it.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The time, in seconds.
    pub(super) seconds: i64,
}

/// A file of the directory.
pub(super) struct Listed {
    name: String,
    kind: ItemType,
    pub(super) size: u64,
    modified: SystemTime,
}

impl Listed {
    pub(super) fn of(name: String, kind: ItemType, metadata: &fs::Metadata) -> Listed {
        Listed { name, kind, size: metadata.len(), modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH) }
    }

    /// The stamp, unless the file can change again without another one.
    fn stamp(&self, now: SystemTime) -> Option<(u64, SystemTime)> {
        let age = now.duration_since(self.modified).unwrap_or_default();
        (age >= JUST_NOW).then_some((self.size, self.modified))
    }
}

/// Texts to be added, with their places.
struct NewTexts {
    documents: Vec<Document>,
    texts: Vec<String>,
    /// The lines of journals that may still be read; the next look goes on from there.
    budget: ReadBudget,
    /// The sections of entities that may still be added.
    sections: ReadBudget,
}

impl Index {
    /// The index of the files as they are now, and the number of new texts in it.
    pub(super) fn refreshed(
        mut self,
        root: &Path,
        listed: &[Listed],
        (vectors, tokenizer): (&StaticVectors, &mut Tokenizer),
    ) -> (Index, usize) {
        // Before the files are read.
        let now = SystemTime::from(muninn_base::Clock::system().now());
        let files = self.files.iter();
        let mut known: HashMap<String, u64> = files.map(|(number, file)| (file.name.clone(), *number)).collect();
        let mut new = NewTexts {
            documents: Vec::new(),
            texts: Vec::new(),
            budget: ReadBudget::default(),
            sections: self.sections_left(),
        };
        for file in listed {
            let before = known.remove(&file.name);
            let before = before.filter(|number| self.files[number].kind == file.kind);
            if before.is_some_and(|number| self.files[&number].stamp == Some((file.size, file.modified))) {
                continue;
            }
            let Ok(bytes) = files::read_start(root, &file.name, MOST_FILE) else {
                // It was removed, or cannot be read: what is known of it no longer holds.
                if let Some(number) = before {
                    self.files.remove(&number);
                }
                continue;
            };
            self.take(before, file, &bytes, now, &mut new);
        }
        self.files.retain(|_, file| !known.contains_key(&file.name));
        let count = new.documents.len();
        if count > 0 {
            let mut builder = TextsBuilder::default();
            new.texts.iter().for_each(|text| builder.add(tokenizer, vectors, text));
            self.texts.add(new.documents, &builder.finish(), |document| self.files.contains_key(&document.file));
        }
        (self, count)
    }

    /// The sections of entities that may be added to those that are there.
    fn sections_left(&self) -> ReadBudget {
        let is_section = |document: &&Document| {
            let file = self.files.get(&document.file);
            file.is_some_and(|file| file.kind != ItemType::Journal)
        };
        let none = ReadBudget { texts: MOST_SECTIONS, bytes: MOST_SECTION_BYTES };
        self.texts.keys().iter().filter(is_section).fold(none, |left, section| ReadBudget {
            texts: left.texts.saturating_sub(1),
            bytes: left.bytes.saturating_sub(section.end - section.start),
        })
    }

    /// Takes a file's content in: the end of a journal that has grown, or all of it.
    fn take(&mut self, before: Option<u64>, file: &Listed, bytes: &[u8], now: SystemTime, new: &mut NewTexts) {
        let is_continued = |known: &IndexedFile| {
            let is_same = bytes.get(..known.read).is_some_and(|read| *blake3::hash(read).as_bytes() == known.hash);
            is_same && (file.kind == ItemType::Journal || known.read == bytes.len())
        };
        let known = before.and_then(|number| Some((number, self.files.remove(&number)?)));
        let (number, start) = match known.filter(|(_, known)| is_continued(known)) {
            Some((number, known)) => (number, known.read),
            None => {
                self.last += 1;
                (self.last, 0)
            }
        };
        let read = match file.kind {
            ItemType::Journal => new.journal(number, bytes, start),
            _ => {
                if start != bytes.len() {
                    new.entity(number, &file.name, bytes, file.modified);
                }
                bytes.len()
            }
        };
        let known = IndexedFile {
            name: file.name.clone(),
            kind: file.kind.clone(),
            // A line that is being written is read next time.
            stamp: file.stamp(now).filter(|_| read == bytes.len() || bytes.len() as u64 >= MOST_FILE),
            hash: *blake3::hash(&bytes[..read]).as_bytes(),
            read,
        };
        self.files.insert(number, known);
    }

    /// The best places with their scores.
    pub(super) fn best(
        &self,
        query: &str,
        vectors: &StaticVectors,
        limit: usize,
        wanted: impl Fn(&Document, &IndexedFile) -> bool,
    ) -> Vec<(&Document, f32)> {
        let query = self.texts.query(query, vectors);
        let mut found = Vec::new();
        for (document, score) in self.texts.keys().iter().zip(self.texts.scores(&query)) {
            if score.value >= LEAST_SCORE
                && let Some(file) = self.files.get(&document.file)
                && wanted(document, file)
            {
                found.push((document, score));
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
        found.into_iter().map(|(document, score)| (document, score.value)).collect()
    }
}

impl NewTexts {
    fn add(&mut self, (file, seconds): (u64, i64), (start, end): (usize, usize), text: String) {
        self.documents.push(Document { file, start, end, seconds });
        self.texts.push(text);
    }

    /// Adds the entries of a journal from a byte on. Returns the end of the last whole line.
    fn journal(&mut self, file: u64, bytes: &[u8], from: usize) -> usize {
        let mut start = from.min(bytes.len());
        while start < bytes.len() {
            let rest = &bytes[start..];
            let length = memchr::memchr(b'\n', rest);
            let end = start + length.unwrap_or(rest.len());
            if !self.budget.take(&bytes[start..end]) {
                break;
            }
            let entry = std::str::from_utf8(&bytes[start..end]).ok().and_then(|line| parse(line).ok());
            if let Some(entry) = &entry {
                let seconds = entry.timestamp.parse().map_or(0, Timestamp::as_second);
                self.add((file, seconds), (start, end), format!("{} {}", entry.topic, entry.content));
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

    /// Adds the sections of an entity's file, until the first one beyond the budget: no later one is added either, and no later
    /// file is divided.
    fn entity(&mut self, file: u64, name: &str, bytes: &[u8], modified: SystemTime) {
        if self.sections.texts == 0 {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let seconds = Timestamp::try_from(modified).map_or(0, Timestamp::as_second);
        let entity = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
        let entity = entity.replace(['-', '_'], " ");
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1));
        for section in sections(&text, 1) {
            let start = starts.get(section.first as usize - 1).copied().unwrap_or(bytes.len());
            let end = starts.get(section.last as usize).copied().unwrap_or(bytes.len());
            let content = &bytes[start..end.max(start)];
            if !self.sections.take(content) {
                self.sections.texts = 0;
                break;
            }
            let content = String::from_utf8_lossy(content);
            self.add((file, seconds), (start, end), redact(&format!("{entity}\n{content}")).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use muninn_text::texts::Texts;

    use super::*;

    #[test]
    fn sections_beyond_the_budget_are_not_added() {
        let entities = |texts, bytes| {
            let mut new = NewTexts {
                documents: Vec::new(),
                texts: Vec::new(),
                budget: ReadBudget::default(),
                sections: ReadBudget { texts, bytes },
            };
            for text in ["# a\nx\n# b\ny\n# c\nz\n", "# d"] {
                new.entity(0, "entities/people/ann.md", text.as_bytes(), SystemTime::UNIX_EPOCH);
            }
            new.documents
        };
        assert_eq!([entities(9, 99), entities(2, 99), entities(9, 15)].map(|found| found.len()), [4, 2, 2]);
        let mut index = Index::default();
        for (name, kind) in [("people/ann.md", ItemType::Person), ("journal/2026-01-01.jsonl", ItemType::Journal)] {
            let listed = Listed { name: name.to_owned(), kind, size: 0, modified: SystemTime::UNIX_EPOCH };
            let mut new = NewTexts {
                documents: Vec::new(),
                texts: Vec::new(),
                budget: ReadBudget::default(),
                sections: index.sections_left(),
            };
            index.take(None, &listed, b"# a\nx\n# b\ny\n", SystemTime::UNIX_EPOCH, &mut new);
            index.texts.add(new.documents, &Texts::default(), |_| true);
        }
        let left = index.sections_left();
        assert_eq!((left.texts, left.bytes), (MOST_SECTIONS - 2, MOST_SECTION_BYTES - 12));
    }
}
