//! Questions from a tree's documentation comments.
//!
//! The first sentence of a documentation comment resembles a question about the item, and every large tree has enough of
//! them.

use std::collections::HashSet;

use muninn_repo_tools::{DiscoverError, WalkLimits, Worktree, read_text, walk};

use std::path::Path;

const SEED: u64 = 0x0073_6361_6c65;
/// The number of words in a usable sentence.
const WORDS: std::ops::RangeInclusive<usize> = 5..=24;
/// Larger files are mostly data.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// `count` sentences, or as many as there are, always the same for the same tree.
///
/// # Errors
/// When it is no repository.
pub fn sample(root: &Path, count: usize) -> Result<Vec<String>, DiscoverError> {
    let worktree = Worktree::discover(root)?;
    let mut files = walk(&worktree, &WalkLimits::default()).files;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut seen = HashSet::new();
    let mut sample: Vec<String> = Vec::new();
    for entry in &files {
        let Ok(file) = read_text(&worktree, &entry.path, MAX_FILE_BYTES) else {
            continue;
        };
        for sentence in sentences(&file.text) {
            if !seen.insert(sentence.clone()) {
                continue;
            }
            // A reservoir: each sentence of the tree is as likely as any other.
            if sample.len() < count {
                sample.push(sentence);
            } else if let Some(place) = sample.get_mut(random.usize(..seen.len())) {
                *place = sentence;
            }
        }
    }
    random.shuffle(&mut sample);
    Ok(sample)
}

/// The first line of each documentation comment that reads like a sentence.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let words = comment(line.trim());
        if let Some(words) = words.filter(|_| !inside) {
            found.extend(sentence(words));
        }
        inside = words.is_some();
    }
    found
}

/// The text of a documentation comment on this line.
fn comment(line: &str) -> Option<&str> {
    let marks = ["///", "//!", "/**", "* ", "\"\"\"", "r\"\"\""];
    let rest = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(rest.trim().trim_end_matches("*/").trim_end_matches("\"\"\"").trim())
}

fn sentence(text: &str) -> Option<String> {
    let first = text.split_inclusive(". ").next().unwrap_or(text).trim();
    let is_word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() * 2 > word.chars().count();
    let words = first.split_whitespace().filter(is_word).count();
    let starts = first.starts_with(|c: char| c.is_alphabetic());
    (starts && WORDS.contains(&words) && first.len() < 300).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
/// Reads the header of a request. More follows.
/// It is bounded.
fn read() {}
/// See below
fn other() {}
    /** Writes all of the rows to disk. */
def load():
    \"\"\"Loads the table from a file on disk.\"\"\"
// Not a documentation comment at all, this one.
/// 1234 == 5678 && a[0] != b[1]
";

    #[test]
    fn the_first_sentence_of_each_comment_is_taken() {
        let expected = [
            "Reads the header of a request.",
            "Writes all of the rows to disk.",
            "Loads the table from a file on disk.",
        ];
        assert_eq!(sentences(CODE), expected);
    }

    #[test]
    fn the_sample_is_the_same_each_time() {
        let dir = tempfile::tempdir().unwrap();
        muninn_tests::git(dir.path(), &["init", "--quiet"]).unwrap();
        let word = |number: usize| ["red", "green", "blue", "white", "black"][number % 5];
        for file in 0..5 {
            let comment = |line: usize| format!("/// Paints the {} door of the {} house.\n\n", word(file), word(line));
            let text: String = (0..5).map(comment).collect();
            std::fs::write(dir.path().join(format!("{file}.rs")), text).unwrap();
        }
        let first = sample(dir.path(), 10).unwrap();
        assert_eq!(first.len(), 10);
        assert_eq!(first, sample(dir.path(), 10).unwrap());
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), 10);
        assert_eq!(sample(dir.path(), 100).unwrap().len(), 25);
    }
}
