//! The search of the journal beside `git log --grep`, on the commit messages of real repositories.
//!
//! Each message is an entry; its directory is the context. A query is a paraphrase of one message, with the directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use muninn_notebooks::journal::{EntryRef, Journal, SearchSettings};
use muninn_notebooks::wiki::PagePath;
use muninn_tests::git;
use serde::{Deserialize, Serialize};

use super::import::{Imported, import};
use super::journal;
use crate::command_line::progress;
use crate::json_lines;

/// Results that count.
const BEST: usize = 5;
/// Every so many commits are asked for by their own summary, if it has so many words.
const EVERY: usize = 20;
const LEAST_WORDS: usize = 3;
/// Between two commits in the output of `git log`, and between their parts.
const COMMIT: char = '\u{1e}';
const PART: char = '\u{1f}';
/// Words that say nothing.
const STOP: [&str; 24] = [
    "the", "and", "for", "that", "was", "with", "from", "are", "its", "not", "has", "one", "any", "only", "than",
    "instead", "must", "they", "were", "which", "what", "may", "each", "every",
];

/// A query.
#[derive(Debug, Clone, Deserialize)]
struct Pair {
    repository: String,
    commit: String,
    context: String,
    content: String,
}

/// The shares of the queries whose commit is among the first five results.
#[derive(Debug, Clone, Serialize)]
pub struct Quality {
    /// Queries.
    pub queries: usize,
    /// `journal_search` with its default threshold.
    pub journal: f64,
    /// The same without a threshold.
    pub journal_all: f64,
    /// `git log -i --grep` in the directory: commits with all words of the query, the newest first.
    pub grep_all: f64,
    /// The same: commits with any of the words.
    pub grep_any: f64,
    /// Commits whose own summary and directory are a query.
    pub exact_queries: usize,
    /// The share of them that are the first result, at any age.
    pub exact_first: f64,
}

/// Counts of found commits.
#[derive(Default)]
struct Found {
    queries: usize,
    hits: [usize; 4],
    /// Exact queries, and those of them whose entry came first.
    exact: [usize; 2],
}

pub(super) fn quality(pairs: &Path, repositories: &Path) -> Result<Quality> {
    let pairs: Vec<Pair> = json_lines::read(pairs)?;
    let mut by_repository: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    for pair in pairs {
        by_repository.entry(pair.repository.clone()).or_default().push(pair);
    }
    let mut found = Found::default();
    for (name, pairs) in &by_repository {
        progress(name);
        let clone = clone_of(repositories, name);
        let subject = Subject::of(&clone).with_context(|| clone.display().to_string())?;
        for pair in pairs {
            subject.ask(pair, &mut found)?;
        }
        subject.ask_exactly(&mut found)?;
    }
    let share = |at: usize| {
        let hits = found.hits.get(at).copied().unwrap_or_default();
        rounded_share(hits, found.queries)
    };
    Ok(Quality {
        queries: found.queries,
        journal: share(0),
        journal_all: share(1),
        grep_all: share(2),
        grep_any: share(3),
        exact_queries: found.exact[0],
        exact_first: rounded_share(found.exact[1], found.exact[0]),
    })
}

fn rounded_share(part: usize, all: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of queries")]
    let share = part as f64 / all.max(1) as f64;
    (share * 1e3).round() / 1e3
}

/// The clone of `owner/name`.
fn clone_of(repositories: &Path, name: &str) -> PathBuf {
    let dir = repositories.join(name.replace('/', "+"));
    let inner = dir.join("repo");
    if inner.is_dir() { inner } else { dir }
}

/// A repository, and a journal of its commit messages.
struct Subject {
    clone: PathBuf,
    journal: Journal,
    /// The directory and the summary of each commit.
    commits: BTreeMap<String, (String, String)>,
    /// Holds the journal.
    _dir: tempfile::TempDir,
}

impl Subject {
    fn of(clone: &Path) -> Result<Subject> {
        let format = format!("--format={COMMIT}%H{PART}%ct{PART}%B{PART}");
        let log = ["log", "--no-merges", "--reverse", "--name-only", &format];
        let log = git(clone, &log)?;
        let mut entries = Vec::new();
        let mut commits = BTreeMap::new();
        for commit in log.split(COMMIT).skip(1) {
            let parts: Vec<&str> = commit.split(PART).collect();
            let [hash, seconds, message, files] = parts[..] else {
                continue;
            };
            let seconds: i64 = seconds.parse()?;
            let summary = message.lines().next().unwrap_or_default();
            let directory = directory(files);
            commits.insert(hash.to_owned(), (directory.clone(), summary.to_owned()));
            entries.push(Imported {
                section: section(&directory),
                context: directory,
                text: message.to_owned(),
                seconds,
                session: hash.to_owned(),
            });
        }
        let dir = tempfile::tempdir()?;
        import(&dir.path().join("journal"), entries)?;
        Ok(Subject {
            clone: clone.to_owned(),
            journal: journal(&dir.path().join("journal"), &dir.path().join("state")),
            commits,
            _dir: dir,
        })
    }

    /// Asks for a pair's commit in each way.
    fn ask(&self, pair: &Pair, found: &mut Found) -> Result<()> {
        let by_default = SearchSettings { max_results: BEST, ..SearchSettings::default() };
        let words: Vec<&str> = pair.content.split_whitespace().filter(is_telling).collect();
        let results = [
            self.search(&pair.context, &pair.content, None, &by_default)?.contains(&pair.commit),
            self.search(&pair.context, &pair.content, Some(0.0), &by_default)?.contains(&pair.commit),
            self.grep(&words, &["--all-match"], &pair.context)?.contains(&pair.commit),
            self.grep(&words, &[], &pair.context)?.contains(&pair.commit),
        ];
        found.queries += 1;
        for (count, is_found) in found.hits.iter_mut().zip(results) {
            *count += usize::from(is_found);
        }
        Ok(())
    }

    /// Asks for every so many commits by their own words. Several commits can have the same.
    fn ask_exactly(&self, found: &mut Found) -> Result<()> {
        let settings = SearchSettings::default();
        let telling = |(_, summary): &&(String, String)| summary.split_whitespace().count() >= LEAST_WORDS;
        let mut telling: Vec<&(String, String)> = self.commits.values().filter(telling).collect();
        telling.sort();
        for (directory, summary) in telling.into_iter().step_by(EVERY) {
            let commits = self.search(directory, summary, None, &settings)?;
            let first = commits.first().and_then(|commit| self.commits.get(commit));
            let is_first = first.is_some_and(|(_, of_first)| of_first == summary);
            if !is_first {
                progress(&format!("not first: {summary}"));
            }
            found.exact[0] += 1;
            found.exact[1] += usize::from(is_first);
        }
        Ok(())
    }

    /// The commits of the best entries.
    fn search(
        &self,
        context: &str,
        content: &str,
        threshold: Option<f32>,
        settings: &SearchSettings,
    ) -> Result<Vec<String>> {
        let entries = self.journal.search(context, content, threshold, settings)?;
        let commit = |id: &str| -> Result<String> {
            let entry = self.journal.entry(&EntryRef::parse(id)?)?;
            entry.session.context("an entry without a commit")
        };
        entries.iter().map(|entry| commit(&entry.id)).collect()
    }

    /// The newest commits of a directory with these words.
    fn grep(&self, words: &[&str], more: &[&str], directory: &str) -> Result<Vec<String>> {
        let patterns: Vec<String> = words.iter().map(|word| format!("--grep={word}")).collect();
        let count = format!("-{BEST}");
        let mut arguments = vec!["log", "--no-merges", "-i", "-F", "--format=%H", &count];
        arguments.extend(more);
        arguments.extend(patterns.iter().map(String::as_str));
        arguments.extend(["--", directory]);
        Ok(git(&self.clone, &arguments)?.lines().map(str::to_owned).collect())
    }
}

/// The directory with the most of these files.
fn directory(files: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.lines().filter(|file| !file.is_empty()) {
        *counts.entry(file.rsplit_once('/').map_or(".", |(directory, _)| directory)).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(_, count)| **count);
    most.map_or(".", |(directory, _)| directory).to_owned()
}

/// A directory as a section.
fn section(directory: &str) -> String {
    match PagePath::new(directory) {
        Ok(path) => path.to_string(),
        Err(_) => "root".to_owned(),
    }
}

fn is_telling(word: &&str) -> bool {
    word.len() > 2 && !STOP.contains(&word.to_lowercase().as_str())
}
