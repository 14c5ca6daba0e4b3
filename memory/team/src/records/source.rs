//! The sources of a record.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::members::{Members, Unknown};

/// A file that a record is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    pub path: String,
    /// The blob id of its content at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Unknown members.
    #[serde(flatten)]
    unknown: Unknown,
}

impl Source {
    /// Creates a source from a path and a blob id.
    pub fn new(path: String, blob: Option<String>) -> Self {
        Self { path, blob, unknown: Unknown::default() }
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
        Ok(Self { path, blob, unknown: members.rest() })
    }
}
