use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An edit that changed a file, with what is needed to take it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    pub edit: Edit,
    /// How many of the leading keys existed before. The containers of the others were created.
    pub existing: usize,
    /// The text of the value that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// The change of the text.
    #[serde(default)]
    pub(crate) patch: Patch,
}

/// One setting of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The keys from the root of the file.
    pub keys: Vec<String>,
    /// The value, or the new element of the list.
    pub(crate) value: Value,
    /// Whether `keys` name a list that gets one more element.
    #[serde(default)]
    pub(crate) append: bool,
}

/// The one place at which two texts differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Patch {
    removed: String,
    inserted: String,
}

impl Patch {
    pub(crate) fn between(before: &str, after: &str) -> Patch {
        let ends = |a: &mut dyn Iterator<Item = (char, char)>| -> usize {
            a.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let prefix = ends(&mut before.chars().zip(after.chars()));
        let (before, after) = (&before[prefix..], &after[prefix..]);
        let suffix = ends(&mut before.chars().rev().zip(after.chars().rev()));
        Patch {
            removed: before[..before.len() - suffix].to_owned(),
            inserted: after[..after.len() - suffix].to_owned(),
        }
    }

    /// The text without the change, if the changed place can be found.
    pub(crate) fn reverse(&self, text: &str) -> Option<String> {
        let mut places = text.match_indices(&self.inserted);
        let (at, _) = places.next().filter(|_| !self.inserted.is_empty())?;
        let rest = &text[at + self.inserted.len()..];
        places.next().is_none().then(|| format!("{}{}{rest}", &text[..at], self.removed))
    }
}

/// Whether a value has everything that Muninn wrote. Its owner may have added members.
pub(crate) fn contains(value: &Value, ours: &Value) -> bool {
    match (value, ours) {
        (Value::Object(value), Value::Object(ours)) => {
            ours.iter().all(|(key, ours)| value.get(key).is_some_and(|value| contains(value, ours)))
        }
        (Value::Array(value), Value::Array(ours)) => {
            value.len() == ours.len() && value.iter().zip(ours).all(|(value, ours)| contains(value, ours))
        }
        _ => value == ours,
    }
}
