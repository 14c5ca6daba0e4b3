//! Data sets in two halves, one for tuning and one that is held out, and the repositories that they ask about.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::harness::at;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Split {
    /// The half for tuning.
    Tune,
    /// The half that is held out.
    Held,
    /// All.
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Half {
    Tune,
    Held,
}

impl Split {
    pub(crate) fn halves(self) -> &'static [Half] {
        match self {
            Self::Tune => &[Half::Tune],
            Self::Held => &[Half::Held],
            Self::Both => &[Half::Tune, Half::Held],
        }
    }
}

/// A file of the data set in `benches/abstain/`.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("abstain").join(name)
}

/// The repositories with the commits at which they are asked about.
pub(crate) fn repositories() -> Result<BTreeMap<String, String>> {
    let path = file("repositories.json");
    let text = fs::read(&path).with_context(at(&path))?;
    serde_json::from_slice(&text).with_context(at(&path))
}
