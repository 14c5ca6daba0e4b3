//! Finds items by a part of their id. Every command and door that takes an id uses [`find`].
//!
//! ```
//! use muninn_base::ids::{IdError, find};
//!
//! let records = [("01ARZ3NDEK", "invoices are in cents"), ("01ARZ3TSV4", "refills are lazy")];
//! assert_eq!(find("record", "tsv", records), Ok("refills are lazy"));
//! assert!(matches!(find("record", "01ar", records), Err(IdError::Ambiguous { .. })));
//! ```

use std::collections::BTreeMap;

use thiserror::Error;

/// Maximum number of candidates in an error.
const MAX_LISTED: usize = 8;

/// Why a part of an id does not identify one item.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// No id contains the part.
    #[error("no {noun} has an id that contains `{part}`")]
    Unknown {
        /// The kind of item, for example `record`.
        noun: &'static str,
        /// The given part.
        part: String,
    },
    /// Several ids contain the part.
    #[error("{count} {noun}s have an id that contains `{part}`: {}{}", candidates.join(", "), if *count > candidates.len() { ", ..." } else { "" })]
    Ambiguous {
        /// The kind of item, for example `record`.
        noun: &'static str,
        /// The given part.
        part: String,
        /// The first eight of the sorted ids.
        candidates: Vec<String>,
        /// The number of ids.
        count: usize,
    },
}

/// Finds the item whose id equals `part`, or otherwise the only item whose id contains it. Case and surrounding white
/// space are ignored. `noun` names the items in errors.
///
/// # Errors
/// [`IdError`] if no id, or more than one, contains `part`.
pub fn find<'a, T>(
    noun: &'static str,
    part: &str,
    items: impl IntoIterator<Item = (&'a str, T)>,
) -> Result<T, IdError> {
    let wanted = part.trim().to_ascii_lowercase();
    let mut found = BTreeMap::new();
    for (id, item) in items {
        let id_lower = id.to_ascii_lowercase();
        if id_lower == wanted {
            return Ok(item);
        }
        if !wanted.is_empty() && id_lower.contains(&wanted) {
            found.insert(id, item);
        }
    }
    let part = part.to_owned();
    if found.len() > 1 {
        let candidates = found.keys().take(MAX_LISTED).map(|id| (*id).to_owned()).collect();
        let count = found.len();
        return Err(IdError::Ambiguous { noun, part, candidates, count });
    }
    found.into_values().next().ok_or(IdError::Unknown { noun, part })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 3] = ["01AAXB", "01AAYB", "01AAXBZ"];

    fn find_id<'a>(part: &str, ids: &[&'a str]) -> Result<&'a str, IdError> {
        find("record", part, ids.iter().map(|id| (*id, *id)))
    }

    #[test]
    fn unambiguous_part_identifies_one_id() {
        for (part, id) in
            [("01aay", "01AAYB"), ("yb", "01AAYB"), ("ay", "01AAYB"), ("BZ", "01AAXBZ"), (" z ", "01AAXBZ")]
        {
            assert_eq!(find_id(part, &IDS), Ok(id), "{part}");
        }
        assert_eq!(find_id("01aaxb", &IDS), Ok("01AAXB"), "a whole id is unambiguous");
        assert_eq!(find_id("ay", &["01AAYB", "01AAYB"]), Ok("01AAYB"));
    }

    #[test]
    fn unknown_and_ambiguous_parts_are_errors_with_candidates() {
        for part in ["", "  ", "Q"] {
            let (noun, part) = ("record", part.to_owned());
            assert_eq!(find_id(&part, &IDS), Err(IdError::Unknown { noun, part: part.clone() }));
        }
        let error = find_id("Q", &IDS).unwrap_err();
        assert_eq!(error.to_string(), "no record has an id that contains `Q`");
        let error = find_id("aax", &IDS).unwrap_err();
        assert_eq!(error.to_string(), "2 records have an id that contains `aax`: 01AAXB, 01AAXBZ");
        let many: Vec<String> = (0..20).map(|number| format!("X{number:02}")).collect();
        let error = find_id("x", &many.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_err().to_string();
        assert!(error.starts_with("20 records") && error.ends_with("X07, ..."), "{error}");
    }
}
