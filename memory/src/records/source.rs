//! What a record rests on.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::members::{Members, Unknown};

/// A file that a record rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Where it is.
    pub path: String,
    /// Its content then, as git names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// What this version does not know.
    #[serde(flatten)]
    unknown: Unknown,
}

impl Source {
    /// A file, and its content as git names it.
    #[must_use]
    pub fn new(path: String, blob: Option<String>) -> Self {
        Self {
            path,
            blob,
            unknown: Unknown::default(),
        }
    }
}

/// What is known of a source.
#[derive(Deserialize)]
struct Known {
    path: String,
    blob: Option<String>,
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let Known { path, blob } = members.take().map_err(de::Error::custom)?;
        Ok(Self {
            path,
            blob,
            unknown: members.rest(),
        })
    }
}
