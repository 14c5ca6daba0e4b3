//! Questions with the files that answer them, one JSON object a line.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::json_lines;

/// One question: an issue, or a few words.
#[derive(Debug, Clone, Deserialize)]
pub struct Instance {
    /// Its name; its place in the file where it has none.
    #[serde(default)]
    pub instance_id: String,
    /// `owner/name`.
    pub repo: String,
    /// The commit that the question is about.
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
    /// Whether a file of the tree is this gold file, whose path may be relative to the folder to search in.
    pub fn is_gold(&self, gold: &str, path: &str) -> bool {
        let from_root = || {
            let root = self.root.as_deref()?.trim_matches('/');
            path.strip_prefix(root)?.strip_prefix('/')
        };
        gold == path || from_root() == Some(gold)
    }
}

/// Reads the instances in a file whose id or repository contains `only`.
///
/// # Errors
/// When the file cannot be read, a line is not an instance, or there is none.
pub fn read(path: &Path, only: Option<&str>) -> Result<Vec<Instance>> {
    let mut instances: Vec<Instance> = json_lines::read(path)?;
    for (at, instance) in instances.iter_mut().enumerate() {
        if instance.instance_id.is_empty() {
            instance.instance_id = format!("{}#{}", instance.repo, at + 1);
        }
    }
    if let Some(only) = only {
        instances.retain(|one| one.instance_id.contains(only) || one.repo.contains(only));
        ensure!(!instances.is_empty(), "no instance is called like {only:?}");
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
        std::fs::write(&path, format!("{line}\n{line}\n")).unwrap();
        let read = read(&path, None).unwrap();
        assert_eq!(read[1].instance_id, "o/r#2");
        assert!(read[0].is_gold("a.py", "lib/a.py") && read[0].is_gold("lib/a.py", "lib/a.py"));
        assert!(!read[0].is_gold("a.py", "libra.py") && !read[0].is_gold("a.py", "other/a.py"));
    }
}
