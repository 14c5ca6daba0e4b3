//! Questions with the files that answer them, one JSON object a line.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::harness::json_lines;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Instance {
    /// Its line in the file, if it has no name.
    #[serde(default)]
    pub(crate) instance_id: String,
    pub(crate) repo: String,
    pub(crate) base_commit: String,
    /// The folder to search in, if it is not the whole tree.
    #[serde(default)]
    pub(crate) root: Option<String>,
    pub(crate) query: String,
    pub(crate) gold_files: Vec<String>,
    /// The definitions that answer it, `Class.method` or `function`, by file.
    #[serde(default)]
    pub(crate) gold_spans: Option<BTreeMap<String, Vec<String>>>,
}

impl Instance {
    /// Whether a file of the tree is this gold file, whose path may be relative to `root`.
    pub(crate) fn is_gold(&self, gold: &str, path: &str) -> bool {
        let from_root = || path.strip_prefix(self.root.as_deref()?.trim_matches('/'))?.strip_prefix('/');
        gold == path || from_root() == Some(gold)
    }
}

/// Reads the instances in a file whose id or repository contains `only`.
pub(crate) fn read(path: &Path, only: Option<&str>) -> Result<Vec<Instance>> {
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
    fn gold_files_may_be_relative_to_the_root() {
        let line = r#"{"repo":"o/r","base_commit":"0","root":"lib/","query":"q","gold_files":["a.py"],"more":1}"#;
        let instance: Instance = serde_json::from_str(line).unwrap();
        assert!(instance.is_gold("a.py", "lib/a.py") && instance.is_gold("lib/a.py", "lib/a.py"));
        assert!(!instance.is_gold("a.py", "libra.py") && !instance.is_gold("a.py", "other/a.py"));
    }
}
