//! Records of which no two are about the same thing, though many look alike: each part of a system with each sentence about
//! one, from `benches/pairs/unrelated.json`.
//!
//! They are the hardest of the unrelated: forty records differ only in the part and the value, and twenty-five name the
//! same part.

use anyhow::Result;
use serde::Deserialize;

#[derive(Deserialize)]
struct Table {
    parts: Vec<String>,
    /// Sentences with `{}` for the part and `@` for one of the values.
    sayings: Vec<(String, [String; 4])>,
}

impl Table {
    fn read() -> Result<Self> {
        Ok(serde_json::from_str(include_str!("../../pairs/unrelated.json"))?)
    }
}

/// A thousand of them, always the same.
///
/// # Errors
/// When the table does not parse.
pub(super) fn records() -> Result<Vec<String>> {
    let Table { parts, sayings } = Table::read()?;
    let of_saying = |(number, (saying, values)): (usize, &(String, [String; 4]))| {
        let one = |(at, part): (usize, &String)| {
            let value = &values[(at * 7 + number * 3 + at / 4) % values.len()];
            saying.replace("{}", part).replace('@', value)
        };
        parts.iter().enumerate().map(one).collect::<Vec<String>>()
    };
    Ok(sayings.iter().enumerate().flat_map(of_saying).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_thousand_distinct_records_hold_every_value() {
        let records = records().unwrap();
        assert_eq!(records.iter().collect::<HashSet<_>>().len(), 1000);
        for (_, values) in Table::read().unwrap().sayings {
            for value in values {
                assert!(records.iter().any(|record| record.contains(&value)), "{value}");
            }
        }
        assert!(records.iter().all(|record| !record.contains(['{', '@'])));
    }
}
