//! Ranking the files and chunks for a question.
//!
//! A file's score is the sum of three measures: BM25 of the whole file, BM25 of its best chunk, and half of BM25 over
//! the words of its path. Each is divided by the best value of any file, because their scales differ. The headline of a
//! long text is also scored by itself, with about half the weight. Paths and names in the question add to the score,
//! and so does history: files of commits with similar messages ([`messages`]), files that sessions used for similar
//! questions ([`hits`]), and files that changed together with the best ones ([`co_change`]). Sums of scores work better
//! than sums of ranks, because a rank loses the distance to the next file.

mod candidate;
mod co_change;
mod hits;
mod messages;
mod named;
mod score;
mod usefulness;
mod weights;

pub(crate) use candidate::{Candidate, FileCounts, FileStatistics, Index, PostingsCache, ScoredChunk, Statistics};
pub(super) use candidate::{ChunkScores, PART_WEIGHT};
pub(crate) use score::{MAX_FILES, Query, WordScores, rank};
pub(crate) use usefulness::rate;
pub(crate) use weights::place_of;
