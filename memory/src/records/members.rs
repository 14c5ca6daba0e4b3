//! One line of a file of records, as the members that it was written with.
//!
//! A later version writes members that this one does not know, and numbers that no `f64` holds. Both have to survive a
//! rewrite, so what is not understood stays the text that it is.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
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

/// Writes members that say something: what is empty is left out.
pub(super) struct Map<M>(pub(super) M);

impl<M: SerializeMap> Map<M> {
    pub(super) fn text(&mut self, name: &str, value: &str) -> Result<(), M::Error> {
        match value {
            "" => Ok(()),
            value => self.0.serialize_entry(name, value),
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u64) -> Result<(), M::Error> {
        match value {
            0 => Ok(()),
            value => self.0.serialize_entry(name, &value),
        }
    }

    pub(super) fn list<T: Serialize>(&mut self, name: &str, values: &[T]) -> Result<(), M::Error> {
        match values {
            [] => Ok(()),
            values => self.0.serialize_entry(name, values),
        }
    }

    pub(super) fn some<T: Serialize>(&mut self, name: &str, value: &Option<T>) -> Result<(), M::Error> {
        match value {
            None => Ok(()),
            Some(value) => self.0.serialize_entry(name, value),
        }
    }
}
