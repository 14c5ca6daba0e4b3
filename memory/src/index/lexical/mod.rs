//! Words and their statistics.
//!
//! Code and prose share one vocabulary of terms, so that "how is the ledger replayed" meets `LedgerReplay`: every word
//! is split into its parts and each part stemmed, and a compound identifier is a term of its own besides.

mod arena;
mod bm25;
mod inverted;
mod stop;
mod tokens;

pub use arena::Arena;
pub(crate) use arena::bytes;
pub use bm25::{Bm25, Bm25Builder, idf, saturation};
pub use inverted::{DocId, Inverted, InvertedBuilder, Keep};
pub use stop::is_stop_word;
pub use tokens::{Tokenizer, Word, counted, words};
