//! Records made up of what a tree says, and questions about them. The same for the same tree, drawn with a fixed seed.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use serde_json::{Value, json};

const SEED: u64 = 0x6d65_6d6f;
/// Records of one session.
pub(crate) const SESSION: usize = 40;
/// Words of a question.
const ASKED: usize = 6;

/// The text that records are made of.
pub struct Corpus {
    /// Where a file is in the tree, and its lines that say something.
    files: Vec<(String, Vec<String>)>,
}

impl Corpus {
    /// Reads the sources and documents of a tree.
    ///
    /// # Errors
    /// When the tree cannot be read, or has none.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut paths = Vec::new();
        collect(root, &mut paths)?;
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let lines = text.lines().map(str::trim).filter(|line| (20..200).contains(&line.len()));
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            if !lines.is_empty() {
                let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                files.push((path, lines));
            }
        }
        if files.is_empty() {
            return Err(io::Error::other("no sources in the tree"));
        }
        Ok(Self { files })
    }

    /// Writes so many records into a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path, count: usize) -> io::Result<()> {
        let mut rng = Rng::with_seed(SEED);
        let mut out = BufWriter::new(fs::File::create(path)?);
        for number in 0..count {
            let (file, text) = self.text(&mut rng);
            writeln!(out, "{}", record(number, file, &text))?;
        }
        out.flush()
    }

    /// Questions in words that stand in one place of the tree.
    pub fn questions(&self, count: usize) -> Vec<String> {
        let mut rng = Rng::with_seed(SEED + 1);
        let question = |_| {
            let (_, text) = self.text(&mut rng);
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect();
            let first = rng.usize(..words.len().saturating_sub(ASKED).max(1));
            let asked: Vec<&str> = words.into_iter().skip(first).take(ASKED).collect();
            format!("how is it with {}?", asked.join(" "))
        };
        (0..count).map(question).collect()
    }

    /// Some lines from all over a file.
    fn text<'a>(&'a self, rng: &mut Rng) -> (&'a str, String) {
        let (path, lines) = &self.files[rng.usize(..self.files.len())];
        let count = rng.usize(1..=3);
        let said: Vec<&str> = (0..count).map(|_| lines[rng.usize(..lines.len())].as_str()).collect();
        (path, said.join(" "))
    }
}

/// Adds one record to a file that has so many.
///
/// # Errors
/// When it cannot be written.
pub fn add(path: &Path, count: usize) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    writeln!(file, "{}", record(count, "added.rs", "what was not there before"))
}

fn record(number: usize, subject: &str, text: &str) -> Value {
    let (day, minute) = (number / 1440 % 28 + 1, number % 1440);
    json!({
        "id": format!("01{number:024}"),
        "ts": format!("2026-01-{day:02}T{:02}:{:02}:00Z", minute / 60, minute % 60),
        "type": "learning",
        "text": text,
        "subject": subject,
        "confidence": 0.8,
        "session": session(number),
    })
}

/// The session of a record.
pub(crate) fn session(number: usize) -> String {
    format!("{:08x}", number / SESSION)
}

fn collect(dir: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && name != "target" {
            collect(&entry.path(), paths)?;
        } else if kind.is_file() && (name.ends_with(".rs") || name.ends_with(".md") || name.ends_with(".py")) {
            paths.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_tree_gives_the_same_records() {
        let dir = tempfile::tempdir().unwrap();
        let text = "// what is said here is long enough to be told\nfn a_function_of_some_length() {}\n";
        fs::write(dir.path().join("a.rs"), text).unwrap();
        let corpus = Corpus::read(dir.path()).unwrap();
        let write = |name: &str| {
            let path = dir.path().join(name);
            corpus.write(&path, 100).unwrap();
            fs::read_to_string(path).unwrap()
        };
        let lines = write("one.jsonl");
        assert_eq!(lines, write("two.jsonl"));
        assert_eq!(lines.lines().count(), 100);
        assert!(lines.contains("\"session\":\"00000002\""));
        assert_eq!(corpus.questions(5), corpus.questions(5));
    }
}
