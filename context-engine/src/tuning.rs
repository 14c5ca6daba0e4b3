//! What a measurement may switch off, and what it is told.
//!
//! How much each list of candidates is worth is only seen without it. A gateway uses all of them, and the threshold.

use std::time::Duration;

use muninn_repo_tools::RelPath;

/// A set of the lists that a ranking adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lists(u16);

impl Lists {
    /// BM25 of files as a whole.
    pub(crate) const FILES: Self = Self(1);
    /// BM25 of a file's best chunk.
    pub(crate) const CHUNKS: Self = Self(1 << 1);
    /// Chunks that define what the question names.
    pub(crate) const DEFINITIONS: Self = Self(1 << 2);
    /// Words of the path.
    pub(crate) const PATHS: Self = Self(1 << 3);
    /// Paths and lines that the question spells out.
    pub(crate) const NAMED: Self = Self(1 << 4);
    /// Tests, documentation and generated files stand back.
    pub(crate) const PLACES: Self = Self(1 << 5);

    /// The headline of a long text, asked by itself.
    pub(crate) const HEADLINE: Self = Self(1 << 6);

    /// Chunks that are like a short question in meaning, where there is an embedder.
    pub(crate) const VECTORS: Self = Self(1 << 7);

    /// Files that were changed along with the best ones.
    pub(crate) const CO_CHANGE: Self = Self(1 << 8);

    /// Files that commits changed whose messages are like the question.
    pub(crate) const MESSAGES: Self = Self(1 << 9);

    /// Files that earlier sessions worked on for questions like this one.
    pub(crate) const HITS: Self = Self(1 << 10);

    /// All of them.
    pub const ALL: Self = Self((1 << 11) - 1);

    /// Each list by itself, under the name that a command line gives it.
    pub const EACH: &'static [(&'static str, Self)] = &[
        ("files", Self::FILES),
        ("chunks", Self::CHUNKS),
        ("definitions", Self::DEFINITIONS),
        ("paths", Self::PATHS),
        ("named", Self::NAMED),
        ("places", Self::PLACES),
        ("headline", Self::HEADLINE),
        ("vectors", Self::VECTORS),
        ("cochange", Self::CO_CHANGE),
        ("messages", Self::MESSAGES),
        ("hits", Self::HITS),
    ];

    /// These lists but for those of `others`.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of `others` are among these.
    #[must_use]
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// How a measurement has questions answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// The lists that take part.
    pub lists: Lists,
    /// Whether the engine decides if anything is packed at all; if not, the best there is always is.
    pub decide: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            lists: Lists::ALL,
            decide: true,
        }
    }
}

/// The files that fit a question, whether or not they fit it well enough to be packed.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// Best first; empty while there is no index.
    pub files: Vec<RankedFile>,
    /// How long it took.
    pub elapsed: Duration,
    /// What the threshold goes by, in the order of its weights; see `benches/abstain/fit.py`.
    pub features: Vec<f32>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// Where it is.
    pub path: RelPath,
    /// Comparable within one ranking only.
    pub score: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_together_are_all() {
        let rest = Lists::EACH.iter().fold(Lists::ALL, |rest, (_, list)| {
            assert!(rest.has(*list), "each is in it once");
            rest.without(*list)
        });
        assert_eq!(rest, Lists(0));
        assert!(!Lists::ALL.without(Lists::PATHS).has(Lists::PATHS));
    }
}
