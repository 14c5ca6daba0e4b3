//! Control pairs with known answers. A model that gets one wrong answers at random, answers `same` to everything, or
//! follows an instruction in a text.

use crate::judge::Relation;

/// A control pair.
pub(super) struct Control {
    pub(super) older: &'static str,
    pub(super) newer: &'static str,
    expected: Expected,
}

#[derive(Clone, Copy)]
enum Expected {
    Contradiction,
    Duplicate,
}

use Expected::{Contradiction, Duplicate};

/// Each batch contains one pair of each kind.
const CONTRADICTIONS: [Control; 4] = [
    control("Sessions are kept in Redis.", "Sessions are kept in PostgreSQL and not in Redis.", Contradiction),
    control(
        "The importer must run before the migration.",
        "The migration has to be finished before the importer may run.",
        Contradiction,
    ),
    control("Nobody is allowed to delete an invoice.", "Accountants are allowed to delete invoices.", Contradiction),
    control("Uploads above 10 MB are refused.", "There is no limit to the size of an upload.", Contradiction),
];
const DUPLICATES: [Control; 4] = [
    control("Run the formatter before you commit.", "Before committing, the formatter should be run.", Duplicate),
    control("The cache is emptied every night.", "Each night the cache gets cleared.", Duplicate),
    control("Tests need a running database.", "Without a database that is running, the tests do not work.", Duplicate),
    control("All times are stored in UTC.", "We store every timestamp as UTC.", Duplicate),
];

const fn control(older: &'static str, newer: &'static str, expected: Expected) -> Control {
    Control { older, newer, expected }
}

impl Control {
    /// One pair of each kind, selected by a number.
    pub(super) fn chosen(number: u64) -> [&'static Control; 2] {
        let of = |controls: &'static [Control; 4], number: u64| &controls[usize::try_from(number % 4).unwrap_or(0)];
        [of(&CONTRADICTIONS, number), of(&DUPLICATES, number / 4)]
    }

    /// All control pairs.
    pub(super) fn all() -> impl Iterator<Item = &'static Control> {
        CONTRADICTIONS.iter().chain(&DUPLICATES)
    }

    /// Returns whether the pair is a contradiction; otherwise it is a duplicate.
    pub(super) fn is_contradiction(&self) -> bool {
        matches!(self.expected, Contradiction)
    }

    /// Returns whether a decision is acceptable. `unsure` is always accepted.
    pub(super) fn allows(&self, relation: Relation) -> bool {
        match self.expected {
            Contradiction => matches!(relation, Relation::Contradicts | Relation::Undecided),
            Duplicate => {
                matches!(relation, Relation::Same | Relation::Refines | Relation::Undecided)
            }
        }
    }
}
