//! One line of a file of records as a list of JSON members.
//!
//! A later version writes members that this version does not know, and numbers that an `f64` cannot hold. Both must
//! survive a rewrite, so unknown members keep their text. `#[serde(flatten)]` cannot keep it; so a line is read as a
//! list of members, and types take the members that they know.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer, forward_to_deserialize_any};
use serde_json::Error;
use serde_json::value::RawValue;

/// The members of a JSON object in order, with the raw text of each value.
#[derive(Debug)]
pub(super) struct Members<'a>(Vec<(Name<'a>, &'a RawValue)>);

#[derive(Debug, serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Members<'a> {
    /// Deserializes a type from the first member of each of its names, and removes these members. A member of the wrong
    /// type stays, and counts as absent.
    ///
    /// # Errors
    /// If a required member is absent.
    pub(super) fn take<T: Deserialize<'a>>(&mut self) -> Result<T, Error> {
        let mut refused = Vec::new();
        loop {
            let mut taken = Vec::new();
            let offer = Offer { members: &self.0, refused: &refused, taken: &mut taken, fields: &[] };
            match (T::deserialize(offer), taken.last().copied()) {
                (Ok(value), _) => {
                    taken.sort_unstable();
                    taken.iter().rev().for_each(|at| drop(self.0.remove(*at)));
                    return Ok(value);
                }
                // The last member that was read has the wrong type, or a required member after it is absent.
                (Err(_), Some(last)) => refused.push(last),
                (Err(error), None) => return Err(error),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members that were not taken.
    pub(super) fn rest(self) -> Unknown {
        let owned = |(name, value): (Name<'_>, &RawValue)| (name.0.into_owned(), value.to_owned());
        Unknown(self.0.into_iter().map(owned).collect())
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
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

/// A deserializer of a struct from members.
struct Offer<'m, 'a> {
    members: &'m [(Name<'a>, &'a RawValue)],
    /// Positions of members of the wrong type.
    refused: &'m [usize],
    /// Positions of the members that were read, in that order.
    taken: &'m mut Vec<usize>,
    /// Fields that are still to be read.
    fields: &'static [&'static str],
}

impl<'de> Deserializer<'de> for Offer<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("members make a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Self { fields, ..self })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'a> MapAccess<'a> for Offer<'_, 'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        while let Some((field, others)) = self.fields.split_first() {
            self.fields = others;
            let named = self.members.iter().position(|(Name(name), _)| name == field);
            // An `Option` would take null as a value.
            let is_wanted = |at: &usize| !self.refused.contains(at) && self.members[*at].1.get() != "null";
            if let Some(at) = named.filter(is_wanted) {
                self.taken.push(at);
                let name: StrDeserializer<'_, Error> = field.into_deserializer();
                return seed.deserialize(name).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let at = self.taken.last().copied().unwrap_or_default();
        let value = self.members[at].1.get();
        seed.deserialize(&mut serde_json::Deserializer::from_str(value))
    }
}

/// Members that are unknown or have the wrong type, in order, with their text.
#[derive(Debug, Clone, Default)]
pub(super) struct Unknown(Vec<(String, Box<RawValue>)>);

impl Unknown {
    /// The value of the first member with a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut members = self.0.iter();
        members.find(|(key, _)| key == name).map(|(_, value)| value.get())
    }
}

impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        let text = |(name, value): &(String, Box<RawValue>)| (name.clone(), value.get().to_owned());
        self.0.iter().map(text).eq(other.0.iter().map(text))
    }
}

impl Eq for Unknown {}

impl Serialize for Unknown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
