//! Questions with the files that answer them, one JSON object a line.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Why there are no instances.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// The file cannot be read.
    #[error("{0:?}")]
    Read(PathBuf, #[source] io::Error),
    /// A line is not an instance.
    #[error("{path:?}, line {line}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There is nothing to measure.
    #[error("{0:?} holds no instance")]
    Empty(PathBuf),
}

/// One question: an issue, or a few words.
#[derive(Debug, Clone, Deserialize)]
pub struct Instance {
    /// Its name; its place in the file where it has none.
    #[serde(default)]
    pub instance_id: String,
    /// `owner/name`.
    pub repo: String,
    /// What the question is asked about.
    pub base_commit: String,
    /// The folder to search in; all of the tree where there is none.
    #[serde(default)]
    pub root: Option<String>,
    /// The question.
    pub query: String,
    /// The files that answer it.
    pub gold_files: Vec<String>,
    /// The definitions among them, `Class.method` or `function`, by file.
    #[serde(default)]
    pub gold_spans: Option<BTreeMap<String, Vec<String>>>,
}

impl Instance {
    /// Whether a file of the tree is what an entry of the gold means: paths may be given from the folder to search in.
    pub fn is_gold(&self, gold: &str, path: &str) -> bool {
        let from_root = || {
            let root = self.root.as_deref()?.trim_matches('/');
            path.strip_prefix(root)?.strip_prefix('/')
        };
        gold == path || from_root() == Some(gold)
    }
}

/// Reads a file of instances.
///
/// # Errors
/// When it cannot be read, or a line is not an instance.
pub fn read(path: &Path) -> Result<Vec<Instance>, InstanceError> {
    let text = fs::read_to_string(path).map_err(|error| InstanceError::Read(path.to_owned(), error))?;
    let mut instances = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut instance: Instance = serde_json::from_str(line).map_err(|source| InstanceError::Line {
            path: path.to_owned(),
            line: at + 1,
            source,
        })?;
        if instance.instance_id.is_empty() {
            instance.instance_id = format!("{}#{}", instance.repo, at + 1);
        }
        instances.push(instance);
    }
    if instances.is_empty() {
        return Err(InstanceError::Empty(path.to_owned()));
    }
    Ok(instances)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_questions_need_no_spans_and_may_name_a_root() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("i.jsonl");
        let commit = "0".repeat(40);
        let line = format!(
            r#"{{"repo":"o/r","base_commit":"{commit}","root":"lib/","query":"q","gold_files":["a.py"],"more":1}}"#
        );
        fs::write(&path, format!("\n{line}\n")).unwrap();
        let read = read(&path).unwrap();
        assert_eq!(read[0].instance_id, "o/r#2");
        assert!(read[0].is_gold("a.py", "lib/a.py") && read[0].is_gold("lib/a.py", "lib/a.py"));
        assert!(!read[0].is_gold("a.py", "libra.py") && !read[0].is_gold("a.py", "other/a.py"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("i.jsonl");
        fs::write(&path, "{}\n").unwrap();
        assert!(matches!(read(&path), Err(InstanceError::Line { line: 1, .. })));
        fs::write(&path, "").unwrap();
        assert!(matches!(read(&path), Err(InstanceError::Empty(_))));
    }
}
