//! Answering before there is an index: from paths, and from a bounded search for the question's words.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use muninn_memory::cache::nanos;
use muninn_memory::lexical::Tokenizer;
use muninn_memory::redact;
use muninn_repo_tools::{
    FileEntry, GrepLimits, GrepPattern, GrepQuery, RelPath, Until, WalkLimits, Worktree, grep, read_text, walk_until,
};

use crate::question::Question;
use crate::rank::Statistics;
use muninn_memory::derived::{FileFacts, Snapshot, digest};
use muninn_memory::derived::{Place, place};

const MAX_WORDS: usize = 12;
/// So many files are taken apart.
const MAX_FILES: usize = 12;
const MAX_SEARCHED: usize = 5_000;
const MAX_MATCHES: usize = 3_000;
const MAX_MATCHES_PER_FILE: usize = 30;

/// The few files that look best, indexed by themselves, and how common the question's words are among all that were
/// searched: in a sample chosen by those words, every word would seem common.
pub(crate) struct Sampled {
    pub(crate) snapshot: Snapshot,
    pub(crate) statistics: Searched,
}

/// How many files each term was found in.
pub(crate) struct Searched {
    files: usize,
    frequency: HashMap<String, u32>,
}

impl Statistics for Searched {
    fn frequency(&self, term: &str) -> u32 {
        self.frequency.get(term).copied().unwrap_or(0)
    }

    fn documents(&self) -> usize {
        self.files.max(1)
    }
}

/// Walks and searches for at most three fifths of the time that is left, and indexes what looks best.
pub(crate) fn sample(worktree: &Worktree, question: &Question, max_file_bytes: u64, deadline: Instant) -> Sampled {
    let left = deadline.saturating_duration_since(Instant::now());
    let search_until = Instant::now() + left.mul_f32(0.6);
    let limits = WalkLimits {
        max_file_bytes,
        ..WalkLimits::default()
    };
    let walked = walk_until(worktree, &limits, Some(&Until::within(left.mul_f32(0.3))));
    let mut files = walked.files;
    // Where the time does not suffice for all, sources that the question may name come first.
    files.sort_by_cached_key(|entry| {
        (
            std::cmp::Reverse(path_hits(&entry.path, question)),
            place(&entry.path) != Place::Source,
        )
    });
    let found = search(worktree, question, &files, max_file_bytes, search_until);

    let mut ranked: Vec<(usize, &FileEntry)> = files
        .iter()
        .map(|entry| {
            let words = found.words.get(&entry.path).map_or(0, HashSet::len);
            let demoted = usize::from(place(&entry.path) != Place::Source);
            (
                (2 * words + 2 * path_hits(&entry.path, question)).saturating_sub(demoted),
                entry,
            )
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
    let mut tokenizer = Tokenizer::new();
    let stop = deadline - (left.mul_f32(0.15)).min(Duration::from_millis(50));
    let mut taken = Vec::new();
    for (_, entry) in ranked.into_iter().take(MAX_FILES) {
        if Instant::now() >= stop {
            break;
        }
        let Ok(file) = read_text(worktree, &entry.path, max_file_bytes) else {
            continue;
        };
        let facts = FileFacts {
            path: entry.path.clone(),
            size: file.size,
            modified: nanos(file.modified),
            blob: file.blob,
        };
        taken.push((facts, digest(&mut tokenizer, &entry.path, &redact(&file.text))));
    }
    let snapshot = Snapshot::of_files(&mut tokenizer, taken);
    Sampled {
        snapshot,
        statistics: found.statistics(question, &files),
    }
}

/// Which concepts were seen in which file, and in how many files the search looked.
struct Found {
    words: HashMap<RelPath, HashSet<usize>>,
    searched: usize,
}

impl Found {
    /// Frequencies by term. A word that was found only in a path counts as well.
    fn statistics(&self, question: &Question, files: &[FileEntry]) -> Searched {
        let mut frequency = HashMap::new();
        for (number, concept) in question.concepts.iter().enumerate() {
            let in_text = self.words.values().filter(|words| words.contains(&number)).count();
            let in_paths = files
                .iter()
                .filter(|entry| lower(&entry.path).contains(&concept.word))
                .count();
            let count = u32::try_from(in_text.max(in_paths)).unwrap_or(u32::MAX);
            for term in concept.parts.iter().chain([&concept.whole]) {
                frequency.insert(term.clone(), count);
            }
        }
        Searched {
            files: self.searched,
            frequency,
        }
    }
}

fn search(
    worktree: &Worktree,
    question: &Question,
    files: &[FileEntry],
    max_file_bytes: u64,
    deadline: Instant,
) -> Found {
    // Stems, so that "replayed" finds `replay`; an identifier is looked for as it is written.
    let needle = |number: usize| {
        let concept = &question.concepts[number];
        if concept.parts.is_empty() && concept.word.starts_with(&concept.whole) {
            &concept.whole
        } else {
            &concept.word
        }
    };
    let mut numbers: Vec<usize> = (0..question.concepts.len())
        .filter(|number| needle(*number).len() > 2)
        .collect();
    numbers.sort_by_key(|number| {
        let concept = &question.concepts[*number];
        (!concept.identifier, std::cmp::Reverse(concept.word.len()))
    });
    numbers.truncate(MAX_WORDS);
    let words = numbers.iter().map(|number| needle(*number).clone()).collect();
    let query = GrepQuery {
        case_sensitive: false,
        limits: GrepLimits {
            max_files: MAX_SEARCHED,
            max_matches: MAX_MATCHES,
            max_matches_per_file: MAX_MATCHES_PER_FILE,
            max_file_bytes,
            until: deadline.into(),
            ..GrepLimits::default()
        },
        ..GrepQuery::new(GrepPattern::Literals(words))
    };
    let mut found = Found {
        words: HashMap::new(),
        searched: files.len(),
    };
    let Ok(result) = grep(worktree, &query, Some(files)) else {
        return found;
    };
    found.searched = result.searched;
    for hit in result.matches {
        let line = hit.text.to_lowercase();
        let words = found.words.entry(hit.path).or_default();
        words.extend(numbers.iter().filter(|number| line.contains(needle(**number).as_str())));
    }
    found
}

/// How many of the question's words, and paths, a path holds.
fn path_hits(path: &RelPath, question: &Question) -> usize {
    let lower = lower(path);
    let words = question
        .concepts
        .iter()
        .filter(|concept| concept.word.len() > 2 && lower.contains(&concept.word))
        .count();
    let named = question
        .paths
        .iter()
        .filter(|named| lower.ends_with(&named.path))
        .count();
    words + 3 * named
}

fn lower(path: &RelPath) -> String {
    path.as_str().to_lowercase()
}
