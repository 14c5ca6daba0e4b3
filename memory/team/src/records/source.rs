//! The sources of a record.

use muninn_base::RelPath;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::members::{Members, Unknown};
use crate::citations::{Citation, CitedLines};

/// A file, or lines of it, that a record is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    pub path: String,
    /// The blob id of its content at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// The lines; `None` for the whole file.
    #[serde(flatten)]
    lines: Option<SourceLines>,
    /// Unknown members.
    #[serde(flatten)]
    unknown: Unknown,
}

/// Cited lines as members of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SourceLines {
    first_line: u32,
    last_line: u32,
    /// Their hash, 16 hexadecimal digits.
    lines_hash: String,
    /// How often the file contained them.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    copies: u32,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_one(copies: &u32) -> bool {
    *copies == 1
}

impl Source {
    /// Creates a source of a whole file from a path and a blob id.
    pub fn new(path: String, blob: Option<String>) -> Self {
        Self { path, blob, lines: None, unknown: Unknown::default() }
    }

    /// The place as a citation; `None` if the path can be in no worktree.
    pub fn citation(&self) -> Option<Citation> {
        let lines = self.lines.as_ref().and_then(|lines| {
            let is_range = 0 < lines.first_line && lines.first_line <= lines.last_line;
            let hash = u64::from_str_radix(&lines.lines_hash, 16).ok().filter(|_| is_range)?;
            Some(CitedLines { first: lines.first_line, last: lines.last_line, hash, copies: lines.copies })
        });
        Some(Citation { path: RelPath::new(&self.path).ok()?, blob: self.blob.clone(), lines })
    }
}

impl From<Citation> for Source {
    fn from(citation: Citation) -> Self {
        let lines = citation.lines.map(|lines| SourceLines {
            first_line: lines.first,
            last_line: lines.last,
            lines_hash: format!("{:016x}", lines.hash),
            copies: lines.copies,
        });
        Self { lines, ..Self::new(citation.path.to_string(), citation.blob) }
    }
}

/// The known members of a source.
#[derive(Deserialize)]
struct Known {
    path: String,
    blob: Option<String>,
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let Known { path, blob } = members.take().map_err(de::Error::custom)?;
        Ok(Self { path, blob, lines: members.take().ok(), unknown: members.rest() })
    }
}
