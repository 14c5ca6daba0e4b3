//! Ids as people give them: any part that only one id has.
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

/// So many candidates are named in an error.
const NAMED: usize = 8;

/// Why no id was found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// No id has this part.
    #[error("no id has `{0}` in it")]
    Unknown(String),
    /// Several ids have it.
    #[error("{count} ids have `{part}` in them: {}{}", candidates.join(", "), if *count > candidates.len() { ", ..." } else { "" })]
    Ambiguous {
        /// What was given.
        part: String,
        /// The first of the ids.
        candidates: Vec<String>,
        /// How many there are.
        count: usize,
    },
}

/// The one of these ids that `part` is, or else the only one that has it at its beginning, its end or in between. Upper
/// and lower case are the same.
///
/// # Errors
/// [`IdError`] where there is none, or more than one.
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
    fn any_part_that_one_id_has_names_it() {
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
    fn what_several_have_or_none_is_said_with_its_candidates() {
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
