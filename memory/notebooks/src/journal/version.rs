use std::fmt;

use muninn_repo_tools::ObjectId;
use serde::Serialize;

/// The version of a section: the id of its file; of a strict journal, the newest commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// There is no section yet, or no entry.
    New,
    Of(ObjectId),
}

impl Version {
    /// Reads a version as it is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "new" => Some(Self::New),
            digits => ObjectId::from_hex(digits).map(Self::Of),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new"),
            Self::Of(id) => write!(f, "{id}"),
        }
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
