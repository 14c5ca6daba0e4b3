//! Lexical search.
//!
//! Code and prose share one vocabulary, so that "how is the ledger replayed" matches `LedgerReplay`: every word is
//! split into parts, each part is stemmed, and a compound identifier is also a term of its own.

mod arena;
mod bm25;
mod inverted;
mod normal;
#[cfg(any(test, feature = "fixture"))]
pub mod script_texts;
mod scripts;
mod stop;
mod tokens;
mod word;

pub use arena::{Arena, bytes};
pub use bm25::{Bm25, Bm25Builder, idf, saturation};
pub use inverted::{DocId, Inverted, InvertedBuilder, Keep};
pub use normal::normalised;
pub use scripts::{is_mark, is_unspaced};
pub use stop::{is_stop_word, is_stop_word_of};
pub use tokens::{Tokenizer, content_terms, counted, has_terms_of, question_terms, runs};
pub use word::{Word, words};

#[cfg(test)]
mod token_tests;
