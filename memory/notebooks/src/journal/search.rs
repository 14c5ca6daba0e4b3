//! Search on two dimensions: the context of the work, and the content of entries.
//!
//! Each dimension has a score from 0 to 1, that of [`TextIndex::scores`]. An older entry needs a better match: see [`required`].

use std::collections::HashMap;
use std::path::Path;

use muninn_base::image::{DerivedImage, ImageFormat};
use muninn_repo_tools::{ChainError, CommitChain, ObjectId};
use muninn_text::embed::StaticVectors;
use muninn_text::lexical::{Tokenizer, has_terms_of};
use muninn_text::text_index::TextIndex;
use muninn_text::texts::TextsBuilder;
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::log::{Log, LogEntry, timestamp};
use super::section::SectionFile;

/// Scores are exact to a ten-thousandth.
const STEPS: f32 = 10_000.0;
/// The fewest of the best entries whose texts are compared with the query.
const LEAST_COMPARED: usize = 50;
/// The part of an entry that is searched, in bytes.
const MOST_TEXT: usize = 20_000;
/// The most bytes of texts in the index, which needs some times as much memory. An index that is full is made anew with
/// the newest entries, half as large; of the others, the first line is searched.
const MOST_INDEXED: usize = 32 << 20;
const DAY: f64 = 86_400.0;
const IMAGE: ImageFormat = ImageFormat { prefix: "journal-search-", magic: b"muninn journal search 6\n" };
const _: () = assert!(has_terms_of(3), "raise the version of the image, too");

#[derive(Debug, Clone, PartialEq)]
pub struct SearchSettings {
    /// The most results.
    pub max_results: usize,
    /// The score that a new entry needs, from 0 to 1.
    pub default_salience_threshold: f32,
    /// The days after which the salience of an entry is half as large.
    pub half_life_days: f64,
    /// The least salience, above 0.
    pub minimum_salience: f64,
    pub context_weight: f32,
    pub content_weight: f32,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            max_results: 20,
            default_salience_threshold: 0.5,
            half_life_days: 30.0,
            minimum_salience: 0.1,
            context_weight: 0.5,
            content_weight: 0.5,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundEntry {
    /// Its name.
    pub id: String,
    /// Its text.
    pub content: String,
    /// How well its context matches, from 0 to 1.
    pub work_context_score: f32,
    /// How well its text matches, from 0 to 1.
    pub content_score: f32,
    /// Both, weighted.
    pub combined_score: f32,
    /// Its time, RFC 3339.
    pub timestamp: String,
}

/// The score that an entry of an age needs: `threshold ^ ((1 + salience) / 2)`, where the salience is `0.5 ^ (age /
/// half-life)`, at least the minimum. A new entry needs the threshold; an old one more, up to its square root.
///
/// The decay is the one of the journal's specification; there, entries below the threshold of salience are dropped, however
/// well they match.
pub(super) fn required(age_days: f64, threshold: f32, settings: &SearchSettings) -> f32 {
    let salience = 0.5f64.powf(age_days.max(0.0) / settings.half_life_days.max(f64::MIN_POSITIVE));
    #[expect(clippy::cast_possible_truncation, reason = "a share from 0 to 1")]
    let salience = salience.clamp(settings.minimum_salience.clamp(0.0, 1.0), 1.0) as f32;
    threshold.clamp(0.0, 1.0).powf((1.0 + salience) / 2.0)
}

/// An index over the entries of a log, in its order.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SearchIndex {
    tip: Option<ObjectId>,
    contexts: TextIndex<()>,
    contents: TextIndex<IndexedEntry>,
}

#[derive(Serialize, Deserialize)]
struct IndexedEntry {
    commit: ObjectId,
    /// The bytes of its text in the index; 0 if only its headline is searched.
    bytes: usize,
}

/// The index of the search, once it was used.
pub(super) struct Search {
    pub(crate) index: Option<SearchIndex>,
    pub(crate) image: DerivedImage,
}

impl Search {
    /// The search of a journal, with its image in a directory.
    pub(super) fn new(git_dir: &Path, state: &Path) -> Search {
        Search { index: None, image: DerivedImage::new(&IMAGE, state, git_dir) }
    }
}

impl SearchIndex {
    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.contents.keys().len()
    }

    /// The index up to the end of a log. Only new entries are read, if the log continues.
    pub(crate) fn extended(
        mut self,
        chain: &CommitChain,
        log: &Log,
        vectors: &StaticVectors,
    ) -> Result<SearchIndex, ChainError> {
        if self.tip == log.tip {
            return Ok(self);
        }
        let old = self.contents.old_keys();
        let is_continued = log.entries.len() >= old.len()
            && log.entries.iter().zip(old).all(|(entry, indexed)| entry.commit == indexed.commit);
        let new = log.entries.get(old.len()..).unwrap_or_default();
        let mut bytes = old.iter().map(|indexed| indexed.bytes).sum::<usize>();
        for entry in new {
            bytes += searched_bytes(chain, entry)?;
        }
        if is_continued && bytes <= MOST_INDEXED {
            self.replace_newest(chain, new, vectors)?;
        } else {
            self = SearchIndex::default();
            self.replace_newest(chain, &log.entries, vectors)?;
        }
        self.tip = log.tip;
        Ok(self)
    }

    /// Replaces the newest part of the index by these entries. Of those that are too many, the older ones are searched in
    /// their headlines only.
    fn replace_newest(
        &mut self,
        chain: &CommitChain,
        entries: &[LogEntry],
        vectors: &StaticVectors,
    ) -> Result<(), ChainError> {
        let mut indexed: Vec<IndexedEntry> =
            entries.iter().map(|entry| IndexedEntry { commit: entry.commit, bytes: 0 }).collect();
        let mut bytes = 0;
        for (indexed, entry) in indexed.iter_mut().zip(entries).rev() {
            if bytes > MOST_INDEXED / 2 {
                break;
            }
            indexed.bytes = searched_bytes(chain, entry)?;
            bytes += indexed.bytes;
        }
        let mut tokenizer = Tokenizer::new();
        let (mut context, mut content) = (TextsBuilder::default(), TextsBuilder::default());
        // A section's overview is found with its newest entry.
        let newest: HashMap<&str, ObjectId> =
            entries.iter().map(|entry| (entry.section.as_str(), entry.commit)).collect();
        for (indexed, entry) in indexed.iter().zip(entries) {
            let place = entry.section.as_str().replace('/', " ");
            let read = if indexed.bytes == 0 { None } else { Some(chain.commit(entry.commit)?) };
            let parsed = read.and_then(|commit| Entry::parse(&commit.message));
            let work_context = parsed.as_ref().map_or("", |entry| beginning(&entry.work_context));
            context.add(&mut tokenizer, vectors, &format!("{work_context} {place}"));
            match &parsed {
                Some(parsed) => {
                    let summary = beginning(parsed.summary.as_deref().unwrap_or_default());
                    let is_newest = newest.get(entry.section.as_str()) == Some(&entry.commit);
                    let overview = if is_newest { overview_at(chain, entry) } else { String::new() };
                    let text = format!("{summary}\n{place}\n{}\n{}", beginning(&parsed.text), beginning(&overview));
                    content.add(&mut tokenizer, vectors, &text);
                }
                None => content.add(&mut tokenizer, vectors, &format!("{}\n{place}", entry.headline)),
            }
        }
        self.contexts.replace_newest(vec![(); entries.len()], context.finish());
        self.contents.replace_newest(indexed, content.finish());
        Ok(())
    }

    /// The commits of the best entries with the scores of their contexts and contents, and both weighted.
    pub(crate) fn best(
        &self,
        (work_context, content): (&str, &str),
        vectors: &StaticVectors,
        settings: &SearchSettings,
        wanted: impl Fn(usize, f32) -> bool,
    ) -> Vec<(usize, [f32; 3])> {
        let context = self.contexts.query(work_context, vectors);
        let content = self.contents.query(content, vectors);
        // A query without words says nothing of its dimension.
        let [context_weight, content_weight] = match (context.is_empty(), content.is_empty()) {
            (true, _) => [0.0, 1.0],
            (_, true) => [1.0, 0.0],
            _ => [settings.context_weight.max(0.0), settings.content_weight.max(0.0)],
        };
        let sum = (context_weight + content_weight).max(f32::MIN_POSITIVE);
        let mut found = Vec::new();
        let scores = self.contexts.scores(&context).zip(self.contents.scores(&content));
        for (at, (context, content)) in scores.enumerate() {
            let combined = (context.value * context_weight + content.value * content_weight) / sum;
            // Sums of weights are not exact.
            let combined = (combined * STEPS).round() / STEPS;
            if wanted(at, combined) {
                found.push((at, [context.value, content.value, combined], content.cosine));
            }
        }
        // Of equally good entries the most similar comes first, then the newest.
        let order = |(a, first, cosine): &(usize, [f32; 3], f32), (b, second, other): &(usize, [f32; 3], f32)| {
            let by_score = second[2].total_cmp(&first[2]);
            by_score.then(other.total_cmp(cosine)).then(b.cmp(a))
        };
        let most = settings.max_results.max(LEAST_COMPARED);
        if found.len() > most {
            found.select_nth_unstable_by(most, order);
            found.truncate(most);
        }
        found.sort_unstable_by(order);
        found.into_iter().map(|(at, scores, _)| (at, scores)).collect()
    }
}

/// The bytes of an entry that are searched, at most.
fn searched_bytes(chain: &CommitChain, entry: &LogEntry) -> Result<usize, ChainError> {
    let cost = chain.commit_cost(entry.commit)?;
    Ok(usize::try_from(cost).unwrap_or(MOST_TEXT).min(MOST_TEXT))
}

/// The overview of an entry's section, as it was with the entry; empty if it cannot be read.
fn overview_at(chain: &CommitChain, entry: &LogEntry) -> String {
    let file = chain.file(entry.commit, &entry.section.file()).ok().flatten();
    file.map(|file| SectionFile::parse(&file.text).overview).unwrap_or_default()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
}

pub(crate) fn age_days(now: i64, entry: &LogEntry) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "seconds of an age")]
    let seconds = now.saturating_sub(entry.seconds) as f64;
    seconds / DAY
}

pub(crate) fn found_entry(entry: &LogEntry, text: String, [context, content, combined]: [f32; 3]) -> FoundEntry {
    FoundEntry {
        id: entry.name(),
        content: text,
        work_context_score: context,
        content_score: content,
        combined_score: combined,
        timestamp: timestamp(entry.seconds),
    }
}
