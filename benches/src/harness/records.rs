//! Records made of the lines of a tree, the same for the same tree, drawn with a fixed seed.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use fastrand::Rng;
use serde_json::json;

use super::files_below;

const SEED: u64 = 0x6d65_6d6f;
pub(crate) const SESSION: usize = 40;

/// The files of a tree, each with its lines of prose or code.
pub(crate) struct Lines(Vec<(String, Vec<String>)>);

impl Lines {
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for path in files_below(root)? {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let skipped = |folder: &str| folder.starts_with('.') || folder == "target";
            let is_source = [".rs", ".md", ".py"].iter().any(|end| name.ends_with(end));
            if !is_source || name.rsplit('/').skip(1).any(skipped) {
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let lines = text.lines().map(str::trim).filter(|line| (20..200).contains(&line.len()));
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            if !lines.is_empty() {
                files.push((name, lines));
            }
        }
        if files.is_empty() {
            return Err(io::Error::other("no sources in the tree"));
        }
        Ok(Self(files))
    }

    /// Writes `count` records of one to three lines each.
    pub(crate) fn write(&self, path: &Path, count: usize) -> io::Result<()> {
        let mut rng = Rng::with_seed(SEED);
        let mut out = BufWriter::new(fs::File::create(path)?);
        for number in 0..count {
            let (file, lines) = &self.0[rng.usize(..self.0.len())];
            let drawn = rng.usize(1..=3);
            let text: Vec<&str> = (0..drawn).map(|_| lines[rng.usize(..lines.len())].as_str()).collect();
            let (day, minute) = (number / 1440 % 28 + 1, number % 1440);
            let record = json!({
                "id": format!("01{number:024}"),
                "ts": format!("2026-01-{day:02}T{:02}:{:02}:00Z", minute / 60, minute % 60),
                "type": "learning",
                "text": text.join(" "),
                "subject": file,
                "confidence": 0.8,
                "session": session(number),
            });
            writeln!(out, "{record}")?;
        }
        out.flush()
    }
}

pub(crate) fn session(number: usize) -> String {
    format!("{:08x}", number / SESSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_tree_gives_the_same_records() {
        let dir = tempfile::tempdir().unwrap();
        let text = "// this line is long enough to be drawn\nfn a_function_of_some_length() {}\n";
        fs::write(dir.path().join("a.rs"), text).unwrap();
        let lines = Lines::read(dir.path()).unwrap();
        let written = ["one.jsonl", "two.jsonl"].map(|name| {
            let path = dir.path().join(name);
            lines.write(&path, 100).unwrap();
            fs::read_to_string(path).unwrap()
        });
        assert_eq!(written[0], written[1]);
        assert_eq!(written[0].lines().count(), 100);
    }
}
