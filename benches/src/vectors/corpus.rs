//! Texts and questions out of a directory of source code.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A comment of fewer words asks nothing.
const FEWEST_WORDS: usize = 5;
/// Larger files are mostly tables.
const MAX_BYTES: u64 = 300_000;
const SEED: u64 = 11;

/// At most `count` different texts of `lines` lines each, in a random order that is always the same, and at most `asked`
/// comments.
pub(super) fn read(root: &Path, lines: usize, count: usize, asked: usize) -> (Vec<String>, Vec<String>) {
    let mut files = Vec::new();
    walk(root, &mut files);
    files.sort();
    let mut random = fastrand::Rng::with_seed(SEED);
    random.shuffle(&mut files);
    let (mut texts, mut comments) = (HashSet::new(), HashSet::new());
    for file in files {
        if texts.len() >= count {
            break;
        }
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        texts.extend(all.chunks(lines.max(1)).map(|lines| lines.join("\n")));
        let comment = |line: &&str| line.trim().strip_prefix("///").map(|words| words.trim().to_owned());
        let comments_here = all.iter().filter_map(comment);
        comments.extend(comments_here.filter(|words| words.split(' ').count() >= FEWEST_WORDS));
    }
    (drawn(texts, count, &mut random), drawn(comments, asked, &mut random))
}

fn drawn(all: HashSet<String>, count: usize, random: &mut fastrand::Rng) -> Vec<String> {
    let mut all: Vec<String> = all.into_iter().collect();
    all.sort();
    random.shuffle(&mut all);
    all.truncate(count);
    all
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            walk(&path, files);
        } else if kind.is_file() && entry.metadata().is_ok_and(|facts| facts.len() <= MAX_BYTES) {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_texts() {
        let dir = tempfile::tempdir().unwrap();
        let text = "/// Reads what the ledger has of it.\nfn a() {}\n\n/// Short.\nfn b() {}\n";
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/a.rs"), text).unwrap();
        std::fs::write(dir.path().join("b.rs"), text).unwrap();
        std::fs::write(dir.path().join("c.bin"), [0xff, 0xfe]).unwrap();
        let (texts, questions) = read(dir.path(), 2, 10, 10);
        assert_eq!(texts.len(), 2, "the second file says nothing new");
        assert_eq!(questions, ["Reads what the ledger has of it."]);
        assert_eq!(read(dir.path(), 2, 10, 10), (texts, questions));
        assert_eq!(read(dir.path(), 2, 1, 0).0.len(), 1);
    }
}
