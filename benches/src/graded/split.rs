//! The prompts, and the repositories in which they are asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::command_line::at;
use crate::json_lines;

/// A repository's name that means each of them.
const ANY: &str = "*";

/// The class of a prompt, which says whether anything should be packed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// About something else.
    OffTopic,
    /// About the repository, and answered there.
    OnTopic,
    /// Carries the conversation on.
    FollowUp,
}

/// A choice of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Split {
    /// The half for tuning.
    Tune,
    /// The half that is held out.
    Held,
    /// All.
    Both,
}

/// One of the two halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// [`Split::Tune`].
    Tune,
    /// [`Split::Held`].
    Held,
}

/// A prompt of a coding agent's user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Prompt {
    /// Its class.
    pub class: Class,
    /// The repository that it is about, or `*`.
    pub repo: String,
    /// Its words.
    pub prompt: String,
}

impl Prompt {
    /// Whether the prompt is asked in a repository.
    pub fn belongs_to(&self, repo: &str) -> bool {
        self.repo == ANY || self.repo == repo
    }
}

impl Split {
    /// The halves that it has.
    pub fn halves(self) -> &'static [Half] {
        match self {
            Self::Tune => &[Half::Tune],
            Self::Held => &[Half::Held],
            Self::Both => &[Half::Tune, Half::Held],
        }
    }
}

/// Reads a half of the prompts from the benchmark's directory.
///
/// # Errors
/// When the file is not there, or a line is no prompt.
pub fn read(dir: &Path, half: Half) -> Result<Vec<Prompt>> {
    let path = dir.join(match half {
        Half::Tune => "tune.jsonl",
        Half::Held => "held.jsonl",
    });
    json_lines::read(&path)
}

/// The repositories with the commits at which they are asked about.
///
/// # Errors
/// When the file is not there, or is something else.
pub fn repositories(dir: &Path) -> Result<BTreeMap<String, String>> {
    let path = dir.join("repositories.json");
    let text = fs::read(&path).with_context(at(&path))?;
    serde_json::from_slice(&text).with_context(at(&path))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn dir() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("abstain")
    }

    #[test]
    fn each_class_has_enough_prompts_and_halves_are_disjoint() {
        let mut seen = HashSet::new();
        for half in [Half::Tune, Half::Held] {
            let prompts = read(&dir(), half).unwrap();
            for class in [Class::OffTopic, Class::OnTopic, Class::FollowUp] {
                let count = prompts.iter().filter(|prompt| prompt.class == class).count();
                assert!(count >= 100, "{count} {class:?}");
            }
            for prompt in prompts {
                assert!(seen.insert(prompt.prompt.to_lowercase()), "{:?} is there twice", prompt.prompt);
            }
        }
    }

    #[test]
    fn prompts_are_spread_evenly_over_repositories() {
        let repositories = repositories(&dir()).unwrap();
        let prompts = read(&dir(), Half::Held).unwrap();
        for repo in repositories.keys() {
            let about = prompts.iter().filter(|prompt| prompt.repo == *repo);
            assert_eq!(about.count(), 27, "{repo}");
        }
        let known = |prompt: &Prompt| match prompt.class {
            Class::OnTopic => repositories.contains_key(&prompt.repo),
            Class::OffTopic | Class::FollowUp => prompt.repo == ANY,
        };
        assert!(prompts.iter().all(known));
    }
}
