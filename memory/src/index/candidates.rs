//! Which files a question about a name has to look at.

use std::collections::BTreeSet;

use muninn_repo_tools::RelPath;

use super::digest::name_term;
use super::snapshot::{Field, Snapshot};
use crate::index::lexical::{DocId, Tokenizer};

/// The files that define a name and those whose words hold it, in the order of their paths: what
/// [`muninn_repo_tools::code::Candidates::Paths`] takes in place of a search.
///
/// The words are without case and separators, so there may be files that only hold a name much like it. What has changed
/// since the snapshot is not seen.
pub fn candidates(snapshot: &Snapshot, name: &str) -> Vec<RelPath> {
    let name = name.trim().trim_end_matches("()");
    let name = name.rsplit(['.', ':', '#', '\\']).next().unwrap_or(name);
    let defining = snapshot.graph().definitions(name).map(|defined| defined.file as usize);
    let term = name_term(&mut Tokenizer::new(), name);
    let postings = snapshot.lookup(Field::Bodies, &term).into_iter();
    let holding = postings.map(|posting| snapshot.file_of(DocId(posting.number)));
    let files: BTreeSet<&RelPath> = defining
        .chain(holding)
        .map(|file| &snapshot.file(file).facts.path)
        .collect();
    files.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use muninn_repo_tools::code::{Candidates, NameQuery, callers, definition};
    use muninn_repo_tools::{BlobId, WalkLimits, read_text, walk};

    use super::*;
    use crate::fixture::Fixture;
    use crate::index::{Digest, FileFacts, digest};

    /// This crate's own sources, as a repository of their own.
    fn sources() -> (Fixture, Vec<(FileFacts, Digest)>) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/index");
        let fixture = Fixture::with(&[]);
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    fixture.write(&name, std::fs::read(&path).unwrap());
                }
            }
        }
        let worktree = fixture.worktree();
        let mut tokenizer = Tokenizer::new();
        let read = walk(&worktree, &WalkLimits::default()).files.into_iter().map(|entry| {
            let text = read_text(&worktree, &entry.path, 1 << 20).unwrap().text;
            let digest = digest(&mut tokenizer, &entry.path, &text);
            let facts = FileFacts {
                path: entry.path,
                size: entry.size,
                modified: 0,
                blob: BlobId::of(text.as_bytes()).unwrap(),
            };
            (facts, digest)
        });
        let read = read.collect();
        (fixture, read)
    }

    #[test]
    fn an_index_answers_as_a_search_does() {
        let (fixture, files) = sources();
        let worktree = fixture.worktree();
        let count = files.len();
        let snapshot = Snapshot::of_files(&mut Tokenizer::new(), files);
        for name in [
            "build",
            "Graph",
            "windows",
            "Graph::definitions",
            "stem",
            "is_test",
            "NameId",
            "absent_name",
        ] {
            let paths = candidates(&snapshot, name);
            let by_index = NameQuery {
                candidates: Candidates::Paths(&paths),
                ..NameQuery::new(name)
            };
            let by_search = NameQuery::new(name);
            let found = definition(&worktree, &by_index).unwrap().definitions;
            assert_eq!(found, definition(&worktree, &by_search).unwrap().definitions, "{name}");
            assert_eq!(found.is_empty(), name == "absent_name", "{name}");
            assert_eq!(
                callers(&worktree, &by_index).unwrap().callers,
                callers(&worktree, &by_search).unwrap().callers,
                "{name}"
            );
        }
        assert!(candidates(&snapshot, "stem").len() < count);
    }
}
