//! What a record rests on.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::members::Members;

/// A file that a record rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: String,
    /// Its content then, as git names it.
    pub blob: Option<String>,
    /// What this version does not know.
    unknown: Members,
}

impl Source {
    /// A file, and its content as git names it.
    #[must_use]
    pub fn new(path: String, blob: Option<String>) -> Self {
        Self {
            path,
            blob,
            unknown: Members::default(),
        }
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        Ok(Self {
            path: members.take("path").ok_or_else(|| de::Error::missing_field("path"))?,
            blob: members.take("blob"),
            unknown: members,
        })
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("path", &self.path)?;
        if let Some(blob) = &self.blob {
            map.serialize_entry("blob", blob)?;
        }
        for (name, value) in self.unknown.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
