//! Questions from a tree's documentation comments: the first sentence of a comment resembles a question about its item.

use std::collections::HashSet;
use std::path::Path;

use muninn_repo_tools::{DiscoverError, WalkLimits, Worktree, read_text, walk};

const SEED: u64 = 0x0073_6361_6c65;
const WORDS: std::ops::RangeInclusive<usize> = 5..=24;
/// Larger files are mostly data.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// Draws `count` sentences, or all if there are fewer. The same tree gives the same sentences.
pub(crate) fn sample(root: &Path, count: usize) -> Result<Vec<String>, DiscoverError> {
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

    #[test]
    fn first_sentence_of_each_comment_is_taken() {
        let code = "/// Reads the header of a request. More follows.\n/// It is bounded.\nfn read() {}\n\
             /// See below\nfn other() {}\n    /** Writes all of the rows to disk. */\n// Not a documentation comment.\n\
             /// 1234 == 5678 && a[0] != b[1]\n";
        assert_eq!(sentences(code), ["Reads the header of a request.", "Writes all of the rows to disk."]);
    }

    #[test]
    fn sample_is_the_same_each_time() {
        let dir = tempfile::tempdir().unwrap();
        muninn_tests::git(dir.path(), &["init", "--quiet"]).unwrap();
        let comments =
            (0..25).map(|number| format!("/// Paints the door of house {} in red.\n\n", "n".repeat(number + 2)));
        std::fs::write(dir.path().join("a.rs"), comments.collect::<String>()).unwrap();
        let first = sample(dir.path(), 10).unwrap();
        assert_eq!(first, sample(dir.path(), 10).unwrap());
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), 10);
        assert_eq!(sample(dir.path(), 100).unwrap().len(), 25);
    }
}
