//! all-MiniLM-L6-v2 (Apache-2.0), the better embedder: six layers of BERT, run by candle on the processor.
//!
//! The embedder returns the same vectors as the reference implementation; a test compares 100 texts. It reads at most
//! 256 tokens of a text, and its vector is the normalised mean of the last layer's rows. It embeds tens of texts per
//! second on a core, so it is suitable for indexing in the background and for single questions.

mod batches;
mod bert;
mod weights;

pub(super) use batches::MiniLm;
