//! The identity of a statement: two records say the same if their words are equal but for a closed list of harmless
//! differences.
//!
//! The list: whitespace; one final full stop; one pair of quotes or backticks around the same span; the articles `a`, `an`
//! and `the`; and the contractions `n't`, `'re`, `'ll` and `it's`, which equal the words that they stand for. Everything
//! else counts: signs, digits, units, case, accents, order, and words that only one text has. Where nobody with judgement
//! looks, nothing else decides whether records fold: a wrong fold hides a statement, and a missed one costs a line.

mod clause;
mod same;
mod tokens;

pub use clause::main_clause;
pub use same::{Statement, refers_to_its_file};
