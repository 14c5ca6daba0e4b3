//! Looks up ids by any unambiguous part.
//!
//! ```
//! use muninn_memory::ids::{IdError, find};
//!
//! let ids = ["01ARZ3NDEK", "01ARZ3TSV4"];
//! assert_eq!(find("tsv", ids), Ok("01ARZ3TSV4"));
//! assert!(matches!(find("01ar", ids), Err(IdError::Ambiguous { .. })));
//! ```

use std::collections::BTreeSet;

use thiserror::Error;

/// Maximum number of candidates in an error.
const NAMED: usize = 8;

/// Why an id was not found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// No id contains the part.
    #[error("no id has `{0}` in it")]
    Unknown(String),
    /// Several ids contain the part.
    #[error("{count} ids have `{part}` in them: {}{}", candidates.join(", "), if *count > candidates.len() { ", ..." } else { "" })]
    Ambiguous {
        /// The given part.
        part: String,
        /// The first of the ids.
        candidates: Vec<String>,
        /// Number of candidates.
        count: usize,
    },
}

/// Returns the id that equals `part`, or else the only id that contains it, ignoring case.
///
/// # Errors
/// [`IdError`] if no id matches, or several.
pub fn find<'a>(part: &str, ids: impl IntoIterator<Item = &'a str>) -> Result<&'a str, IdError> {
    let wanted = part.trim().to_ascii_lowercase();
    let mut found = BTreeSet::new();
    for id in ids {
        let id_lower = id.to_ascii_lowercase();
        if id_lower == wanted {
            return Ok(id);
        }
        if !wanted.is_empty() && id_lower.contains(&wanted) {
            found.insert(id);
        }
    }
    let mut candidates = found.iter().copied();
    match (candidates.next(), candidates.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(IdError::Unknown(part.to_owned())),
        (Some(_), Some(_)) => Err(IdError::Ambiguous {
            part: part.to_owned(),
            candidates: found.iter().take(NAMED).map(|id| (*id).to_owned()).collect(),
            count: found.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 3] = ["01AAXB", "01AAYB", "01AAXBZ"];

    #[test]
    fn unique_part_identifies_an_id() {
        for (part, id) in [
            ("01aay", "01AAYB"),
            ("yb", "01AAYB"),
            ("ay", "01AAYB"),
            ("BZ", "01AAXBZ"),
            (" z ", "01AAXBZ"),
        ] {
            assert_eq!(find(part, IDS), Ok(id), "{part}");
        }
        assert_eq!(find("01aaxb", IDS), Ok("01AAXB"), "a whole id is no part of another");
        assert_eq!(find("ay", ["01AAYB", "01AAYB"]), Ok("01AAYB"));
    }

    #[test]
    fn ambiguous_part_lists_its_candidates() {
        for part in ["", "  ", "Q"] {
            assert_eq!(find(part, IDS), Err(IdError::Unknown(part.to_owned())));
        }
        let error = find("aax", IDS).unwrap_err();
        assert_eq!(error.to_string(), "2 ids have `aax` in them: 01AAXB, 01AAXBZ");
        let many: Vec<String> = (0..20).map(|number| format!("X{number:02}")).collect();
        let error = find("x", many.iter().map(String::as_str)).unwrap_err().to_string();
        assert!(error.starts_with("20 ids") && error.ends_with("X07, ..."), "{error}");
    }
}
