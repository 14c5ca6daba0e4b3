//! Git object ids.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of a git object: 20 bytes in a repository with SHA-1, and 32 bytes in one with SHA-256; printed as 40 or 64
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(gix::ObjectId);

impl ObjectId {
    /// Reads 40 or 64 hexadecimal digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        gix::ObjectId::from_hex(digits.as_bytes()).ok().map(Self)
    }

    /// Converts the 20 or 32 raw bytes of an id, for instance from a cache.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        gix::ObjectId::try_from(bytes).ok().map(Self)
    }

    /// Returns the raw bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    pub(crate) fn gix(self) -> gix::ObjectId {
        self.0
    }
}

impl From<gix::ObjectId> for ObjectId {
    fn from(id: gix::ObjectId) -> Self {
        Self(id)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_bytes())
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = ObjectId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object id of 20 or 32 bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<ObjectId, E> {
                ObjectId::from_bytes(bytes).ok_or_else(|| E::invalid_length(bytes.len(), &self))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
