//! Answering before the index is ready, from paths and from a limited text search for the question's words.
//!
//! All steps are limited by the deadline. If the walk takes too long, the files are listed from git's index. Each word
//! has its own search, so that a common word does not use up the limits of the other words. In a large file, only the
//! lines around the matches are read.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use muninn_base::{RelPath, Until};
use muninn_index::cache::nanos;
use muninn_index::{FileFacts, FileRole, Snapshot, digest, file_role};
use muninn_repo_tools::{
    GrepLimits, GrepPattern, GrepQuery, WalkLimits, Worktree, grep_many, read_text, walk_at, walk_until,
};
use muninn_text::lexical::Tokenizer;
use muninn_text::redact;

use crate::question::Question;
use crate::rank::{FileCounts, FileStatistics, Statistics};

const MAX_WORDS: usize = 12;
/// Maximum number of indexed files.
const MAX_FILES: usize = 12;
/// Maximum number of matches for each word. A word with more matches is little evidence.
const MAX_MATCHES: usize = 400;
const MAX_MATCHES_PER_FILE: usize = 10;
/// Maximum size of a file that is indexed completely, in bytes. In a larger file, only the lines around the matches are
/// indexed.
const WHOLE: usize = 32 << 10;
/// Number of indexed lines before and after a match in a large file.
const AROUND: usize = 30;

/// A small index of the best files, with the frequencies of the question's words in all searched files. The files are
/// selected by these words, so the frequencies within the sample would be too high.
pub(crate) struct Sample {
    pub(crate) snapshot: Snapshot,
    pub(crate) statistics: SearchStatistics,
}

/// The number of files with each term.
pub(crate) struct SearchStatistics {
    files: usize,
    frequency: HashMap<String, u32>,
}

impl Statistics for SearchStatistics {
    fn frequency(&self, term: &str) -> u32 {
        self.frequency.get(term).copied().unwrap_or(0)
    }

    fn documents(&self) -> usize {
        self.files.max(1)
    }
}

impl FileStatistics for SearchStatistics {
    /// The search does not tell code from prose.
    fn files_with(&self, term: &str) -> FileCounts {
        let files = self.frequency(term);
        FileCounts { code: files, prose: files }
    }

    fn files(&self) -> FileCounts {
        let files = u32::try_from(self.files).unwrap_or(u32::MAX);
        FileCounts { code: files, prose: files }
    }
}

/// Walks and searches for at most three fifths of the remaining time, then indexes the best files.
pub(crate) fn sample(worktree: &Worktree, question: &Question, max_file_bytes: u64, deadline: Instant) -> Sample {
    let left = deadline.saturating_duration_since(Instant::now());
    let search_until = Instant::now() + left.mul_f32(0.6);
    let limits = WalkLimits { max_file_bytes, ..WalkLimits::default() };
    let mut files = files(worktree, &limits, left.mul_f32(0.3));
    // Source files whose paths match the question are searched first, because the time can end before all files are
    // searched.
    files.sort_by_cached_key(|path| (Reverse(path_hits(path, question)), file_role(path) != FileRole::Source));
    let found = search(worktree, question, &files, max_file_bytes, search_until);

    let mut ranked: Vec<(f32, &RelPath)> =
        files.iter().map(|path| (found.score(path, question), path)).filter(|(score, _)| *score > 0.0).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let best: Vec<&RelPath> = ranked.into_iter().take(MAX_FILES).map(|(_, path)| path).collect();
    // Git's index may list files that are ignored or missing.
    let existing = walk_at(worktree, &limits, &best.iter().map(|path| (*path).clone()).collect());
    let existing: HashSet<&RelPath> = existing.files.iter().map(|entry| &entry.path).collect();

    let mut tokenizer = Tokenizer::new();
    let stop = deadline - (left.mul_f32(0.15)).min(Duration::from_millis(50));
    let mut documents = Vec::new();
    for path in best.into_iter().filter(|path| existing.contains(path)) {
        if Instant::now() >= stop {
            break;
        }
        let Ok(file) = read_text(worktree, path, max_file_bytes) else {
            continue;
        };
        let facts = FileFacts { path: path.clone(), size: file.size, modified: nanos(file.modified), blob: file.blob };
        let text = excerpt(&file.text, found.lines.get(path).map_or(&[], Vec::as_slice));
        documents.push((facts, digest(&mut tokenizer, path, &redact(&text))));
    }
    let snapshot = Snapshot::of_files(&mut tokenizer, documents);
    Sample { snapshot, statistics: found.statistics(question, &files) }
}

/// Returns the files that a walk finds within `time`. If the walk is incomplete, the tracked files are added.
fn files(worktree: &Worktree, limits: &WalkLimits, time: Duration) -> Vec<RelPath> {
    let walked = walk_until(worktree, limits, Some(&Until::within(time)));
    let mut files: Vec<RelPath> = walked.files.into_iter().map(|entry| entry.path).collect();
    if walked.cut {
        files.extend(worktree.tracked());
        files.sort_unstable();
        files.dedup();
    }
    files
}

/// The matches of the question's concepts.
#[derive(Default)]
struct SearchHits {
    /// The matching concepts of each file.
    words: HashMap<RelPath, HashSet<usize>>,
    /// The matching lines of each file, counted from 1.
    lines: HashMap<RelPath, Vec<u64>>,
    /// The number of searched files for each concept.
    searched: HashMap<usize, usize>,
    /// The highest number in `searched`.
    most_searched: usize,
}

impl SearchHits {
    /// Scores a file by the rarity of the concepts in its text, and by the matches of its path.
    fn score(&self, path: &RelPath, question: &Question) -> f32 {
        let seen = self.words.get(path).into_iter().flatten();
        let in_text: f32 = seen.map(|number| self.rarity(*number)).sum();
        let demoted = if file_role(path) == FileRole::Source { 1.0 } else { 0.6 };
        demoted * (in_text + number(path_hits(path, question)))
    }

    /// Returns the rarity of a concept. The value is near 0 if almost every file contains the concept.
    fn rarity(&self, concept: usize) -> f32 {
        (number(self.most_searched + 1) / number(self.files_with(concept) + 1)).ln_1p()
    }

    /// Estimates the number of files with a concept, from the share of searched files that have it.
    fn files_with(&self, concept: usize) -> usize {
        let found = self.words.values().filter(|words| words.contains(&concept)).count();
        match self.searched.get(&concept) {
            Some(&searched) if searched > 0 => (found * self.most_searched).div_ceil(searched),
            _ => found,
        }
    }

    /// Returns the frequencies by term. A match in a path counts like a match in the text.
    fn statistics(&self, question: &Question, files: &[RelPath]) -> SearchStatistics {
        let mut frequency = HashMap::new();
        for (number, concept) in question.concepts.iter().enumerate() {
            let in_paths = files.iter().filter(|path| lower(path).contains(&concept.word)).count();
            let count = u32::try_from(self.files_with(number).max(in_paths)).unwrap_or(u32::MAX);
            for term in concept.parts.iter().chain([&concept.whole]) {
                frequency.insert(term.clone(), count);
            }
        }
        SearchStatistics { files: self.most_searched, frequency }
    }
}

/// Searches for each of the question's words until the word's limits or the deadline are reached.
fn search(
    worktree: &Worktree,
    question: &Question,
    files: &[RelPath],
    max_file_bytes: u64,
    deadline: Instant,
) -> SearchHits {
    // A stem matches other forms of a word: "replayed" matches `replay`. An identifier is searched as written.
    let needle = |number: usize| {
        let concept = &question.concepts[number];
        if concept.parts.is_empty() && concept.word.starts_with(&concept.whole) {
            &concept.whole
        } else {
            &concept.word
        }
    };
    let mut numbers: Vec<usize> = (0..question.concepts.len()).filter(|number| needle(*number).len() > 2).collect();
    numbers.sort_by_key(|number| {
        let concept = &question.concepts[*number];
        (!concept.identifier, Reverse(concept.word.len()))
    });
    numbers.truncate(MAX_WORDS);
    let query = |number: &usize| GrepQuery {
        case_sensitive: false,
        limits: GrepLimits {
            max_files: files.len(),
            max_matches: MAX_MATCHES,
            max_matches_per_file: MAX_MATCHES_PER_FILE,
            max_file_bytes,
            ..GrepLimits::default()
        },
        ..GrepQuery::new(GrepPattern::Literals(vec![needle(*number).clone()]))
    };
    let queries: Vec<GrepQuery> = numbers.iter().map(query).collect();
    let mut found = SearchHits::default();
    let results = grep_many(worktree, &queries, Some(files), &deadline.into());
    for (number, result) in numbers.into_iter().zip(results) {
        let Ok(result) = result else { continue };
        found.most_searched = found.most_searched.max(result.searched);
        found.searched.insert(number, result.searched);
        for hit in result.matches {
            found.words.entry(hit.path.clone()).or_default().insert(number);
            found.lines.entry(hit.path).or_default().push(u64::from(hit.line));
        }
    }
    found
}

/// Blanks the lines that are far from the given lines, so that all lines keep their numbers. A small text is unchanged.
/// If no line is given, the beginning of the text is kept.
fn excerpt<'t>(text: &'t str, lines: &[u64]) -> Cow<'t, str> {
    if text.len() <= WHOLE {
        return Cow::Borrowed(text);
    }
    let lines: Vec<usize> = lines.iter().filter_map(|line| usize::try_from(*line).ok()).collect();
    let lines = if lines.is_empty() { vec![1] } else { lines };
    let (mut kept, mut bytes) = (String::with_capacity(WHOLE), 0);
    for (before, line) in text.split_inclusive('\n').enumerate() {
        let is_near = lines.iter().any(|near| (before + 1).abs_diff(*near) <= AROUND);
        if is_near && bytes + line.len() <= WHOLE {
            bytes += line.len();
            kept.push_str(line);
        } else {
            kept.push('\n');
        }
    }
    Cow::Owned(kept)
}

/// Counts the question's words in a path. A path that the question names adds three.
fn path_hits(path: &RelPath, question: &Question) -> usize {
    let lower = lower(path);
    let words =
        question.concepts.iter().filter(|concept| concept.word.len() > 2 && lower.contains(&concept.word)).count();
    let named = question.paths.iter().filter(|named| lower.ends_with(&named.path)).count();
    words + 3 * named
}

fn lower(path: &RelPath) -> String {
    path.as_str().to_lowercase()
}

#[expect(clippy::cast_precision_loss, reason = "counts of files and words are far below 2^24")]
fn number(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Repo;

    #[test]
    fn an_incomplete_walk_falls_back_to_tracked_files() {
        let repo = Repo::with(&[]);
        repo.commit("files", &[("src/a.rs", "a"), ("src/b.rs", "b"), (".env", "SECRET=1")]);
        let engine = repo.engine();
        let listed = files(engine.worktree(), &WalkLimits::default(), Duration::ZERO);
        let listed: Vec<&str> = listed.iter().map(RelPath::as_str).collect();
        assert_eq!(listed, ["src/a.rs", "src/b.rs"]);
    }

    #[test]
    fn excerpt_keeps_line_numbers_and_is_bounded() {
        let text: String = (1..=20_000).map(|line| format!("fn line_{line}() {{}}\n")).collect();
        let short = excerpt(&text, &[9_000]);
        assert_eq!(short.lines().count(), 20_000);
        assert_eq!(short.lines().nth(8_999), Some("fn line_9000() {}"));
        assert_eq!(short.lines().filter(|line| !line.is_empty()).count(), 2 * AROUND + 1);
        let all: Vec<u64> = (1..=20_000).collect();
        assert!(excerpt(&text, &all).len() <= WHOLE + 20_000);
        assert!(excerpt(&text, &[]).starts_with("fn line_1()"));
        assert_eq!(excerpt("small", &[]), "small");
    }
}
