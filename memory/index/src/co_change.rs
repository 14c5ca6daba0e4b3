//! Files that commits changed together, and the commits' messages.
//!
//! Two flat arrays map files to commits and commits to files; co-changed files are counted per query, over a few
//! hundred numbers. A table of pairs would be hundreds of times larger and mostly unread.

use std::collections::HashMap;
use std::sync::Arc;

use muninn_text::lexical::{Bm25, Bm25Builder, DocId};

use super::Snapshot;
use super::rows::Rows;

/// Maximum number of files of a commit that counts. In a larger commit, such as a reformatting, a pair of files is weak
/// evidence.
pub(super) const MAX_FILES: usize = 30;

/// Marks a missing number.
const NONE: u32 = u32::MAX;

/// Files by the commits that changed them.
#[derive(Clone, Default)]
pub struct CoChange {
    /// The number of each changed path, under its newest name.
    numbers: HashMap<Box<str>, u32>,
    files_of_commit: Rows<u32>,
    commits_of_file: Rows<u32>,
    /// One document for each commit, in the same order.
    messages: Bm25,
}

/// Co-changes in the file numbers of one snapshot.
#[derive(Clone, Default)]
pub struct Companions {
    co_change: Arc<CoChange>,
    /// Maps snapshot files to path numbers, and back.
    number_of: Vec<u32>,
    file_of: Vec<u32>,
}

/// A file that was changed together with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Companion {
    /// The file's number in the snapshot.
    pub file: usize,
    /// Number of common commits.
    pub together: usize,
    /// Number of commits that changed it.
    pub commits: usize,
}

impl CoChange {
    /// Builds the tables from commits, each with its files and the distinct terms of its message separated by spaces.
    /// Commits with more than 30 files are skipped.
    pub fn new<'a>(commits: impl Iterator<Item = (&'a [&'a str], &'a str)>) -> Self {
        let mut numbers: HashMap<Box<str>, u32> = HashMap::new();
        let mut changes: Vec<(u32, u32)> = Vec::new();
        let mut messages = Bm25Builder::default();
        let small = commits.filter(|(paths, _)| (1..=MAX_FILES).contains(&paths.len()));
        for (commit, (paths, terms)) in (0u32..).zip(small) {
            messages.add(terms.split_ascii_whitespace().map(|term| (term, 1)));
            changes.extend(paths.iter().map(|path| match numbers.get(*path) {
                Some(number) => (commit, *number),
                None => {
                    let number = u32::try_from(numbers.len()).unwrap_or(NONE);
                    numbers.insert((*path).into(), number);
                    (commit, number)
                }
            }));
        }
        let messages = messages.finish();
        let turned: Vec<(u32, u32)> = changes.iter().map(|(commit, file)| (*file, *commit)).collect();
        Self {
            files_of_commit: Rows::new(messages.len(), &changes),
            commits_of_file: Rows::new(numbers.len(), &turned),
            numbers,
            messages,
        }
    }

    /// The terms of messages. A document's number is its commit's.
    pub fn messages(&self) -> &Bm25 {
        &self.messages
    }

    /// How many commits changed a file.
    #[cfg(test)]
    pub(super) fn commits_of(&self, path: &str) -> usize {
        let number = self.numbers.get(path);
        number.map_or(0, |number| self.commits_of_file.of(*number).len())
    }
}

impl Companions {
    /// Maps the tables to a snapshot.
    pub fn new(co_change: Arc<CoChange>, snapshot: &Snapshot) -> Self {
        let mut file_of = vec![NONE; co_change.numbers.len()];
        let mut number_of = vec![NONE; snapshot.file_numbers()];
        for (file, known) in snapshot.files() {
            if let Some(number) = co_change.numbers.get(known.facts.path.as_str()) {
                number_of[file] = *number;
                file_of[*number as usize] = u32::try_from(file).unwrap_or(NONE);
            }
        }
        Self { co_change, number_of, file_of }
    }

    /// The tables, for use with another snapshot.
    pub fn co_change(&self) -> &Arc<CoChange> {
        &self.co_change
    }

    /// The files of the snapshot that a commit changed.
    pub fn changed_by(&self, commit: DocId) -> impl Iterator<Item = usize> {
        let files = self.co_change.files_of_commit.of(commit.0).iter();
        let known = files.filter_map(|number| self.file_of.get(*number as usize));
        known.filter(|file| **file != NONE).map(|file| *file as usize)
    }

    /// The files that were changed together with a file, unordered.
    pub fn of(&self, file: usize) -> Vec<Companion> {
        let Some(number) = self.number_of.get(file).copied().filter(|number| *number != NONE) else {
            return Vec::new();
        };
        let history = &*self.co_change;
        let mut others: Vec<u32> = history
            .commits_of_file
            .of(number)
            .iter()
            .flat_map(|commit| history.files_of_commit.of(*commit))
            .copied()
            .filter(|other| *other != number)
            .collect();
        others.sort_unstable();
        let known = others.chunk_by(|a, b| a == b).filter_map(|same| {
            let number = *same.first()?;
            let file = *self.file_of.get(number as usize)?;
            (file != NONE).then(|| Companion {
                file: file as usize,
                together: same.len(),
                commits: history.commits_of_file.of(number).len(),
            })
        });
        known.collect()
    }
}

#[cfg(test)]
mod tests {
    use muninn_base::RelPath;
    use muninn_repo_tools::BlobId;

    use super::super::{FileFacts, digest};
    use super::*;
    use muninn_text::lexical::Tokenizer;

    fn snapshot(paths: &[&str]) -> Snapshot {
        let files: Vec<_> = paths
            .iter()
            .map(|path| {
                let path = RelPath::new(path).unwrap();
                let digest = digest(&mut Tokenizer::new(), &path, "x\n");
                let facts = FileFacts { path, size: 2, modified: 1, blob: BlobId::of(b"x\n").unwrap() };
                (facts, digest)
            })
            .collect();
        Snapshot::of_files(&mut Tokenizer::new(), files)
    }

    fn found(commits: &[&[&str]], files: &[&str], of: &str) -> Vec<(String, usize, usize)> {
        let co_change = CoChange::new(commits.iter().map(|paths| (*paths, "")));
        let companions = Companions::new(Arc::new(co_change), &snapshot(files));
        let file = files.iter().position(|path| *path == of).unwrap();
        let summary = |found: Companion| (files[found.file].to_owned(), found.together, found.commits);
        companions.of(file).into_iter().map(summary).collect()
    }

    #[test]
    fn companions_are_counted() {
        let commits: &[&[&str]] = &[&["a", "b"], &["b", "gone"], &["a", "b", "c"], &["c"], &[]];
        let mut along = found(commits, &["c", "new", "b", "a"], "a");
        along.sort();
        assert_eq!(along, [("b".to_owned(), 2, 3), ("c".to_owned(), 1, 2)]);
        assert!(found(commits, &["c", "new"], "new").is_empty());
        assert!(found(commits, &["c", "gone"], "c").is_empty(), "a removed file must not be a companion");
        assert!(found(&[], &["a"], "a").is_empty());
    }

    #[test]
    fn messages_lead_to_files() {
        let commits: [(&[&str], &str); 3] = [(&[], "merge lexer"), (&["b", "gone", "a"], "fix lexer"), (&["c"], "fix")];
        let co_change = CoChange::new(commits.into_iter());
        let companions = Companions::new(Arc::new(co_change), &snapshot(&["a", "b", "c"]));
        let found = companions.co_change().messages().inverted().postings("lexer");
        let found: Vec<usize> = found.flat_map(|(commit, _)| companions.changed_by(commit)).collect();
        assert_eq!(found, [1, 0]);
    }

    #[test]
    fn a_sweeping_commit_does_not_count() {
        let many: Vec<String> = (0..=MAX_FILES).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(found(&[&many], &["f0", "f1"], "f0").is_empty());
        assert_eq!(found(&[&many[1..]], &["f1", "f2"], "f1"), [("f2".to_owned(), 1, 1)]);
    }
}
