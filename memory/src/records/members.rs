//! One line of a file of records, as the members that it was written with.
//!
//! A later version writes members that this one does not know, and numbers that no `f64` holds. Both have to survive a
//! rewrite, so what is not understood stays the text that it is.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object in their order, each value as it was written.
#[derive(Debug, Clone, Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// Takes out the first member of a name, where its value is what the caller wants; another one stays.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        let value = serde_json::from_str(self.0[at].1.get()).ok()?;
        self.0.remove(at);
        Some(value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &RawValue)> {
        self.0.iter().map(|(name, value)| (name, &**value))
    }

    /// What was not taken.
    pub(super) fn rest(self) -> Vec<(String, Box<RawValue>)> {
        self.0
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        let texts = |members: &Self| -> Vec<(String, String)> {
            let owned = |(name, value): (&String, &RawValue)| (name.clone(), value.get().to_owned());
            members.iter().map(owned).collect()
        };
        texts(self) == texts(other)
    }
}

impl Eq for Members {}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(12));
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
