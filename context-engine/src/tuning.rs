//! Switches and result types for measurements.
//!
//! The value of a ranking list is measured by disabling the list. The gateway uses all lists and the threshold.

use std::time::Duration;

use muninn_base::RelPath;

/// A set of ranking lists. A ranking adds the scores of its lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lists(u16);

impl Lists {
    /// BM25 of whole files.
    pub(crate) const FILES: Self = Self(1);
    /// BM25 of a file's best chunk.
    pub(crate) const CHUNKS: Self = Self(1 << 1);
    /// Chunks that define a name in the question.
    pub(crate) const DEFINITIONS: Self = Self(1 << 2);
    /// Words of the path.
    pub(crate) const PATHS: Self = Self(1 << 3);
    /// Paths and lines that the question names.
    pub(crate) const NAMED: Self = Self(1 << 4);
    /// Lower weights for tests, documentation and generated files.
    pub(crate) const PLACES: Self = Self(1 << 5);

    /// A separate score for the headline of a long text.
    pub(crate) const HEADLINE: Self = Self(1 << 6);

    /// Chunks with vectors similar to a short question.
    pub(crate) const VECTORS: Self = Self(1 << 7);

    /// Files that often changed in the same commits as the best files.
    pub(crate) const CO_CHANGE: Self = Self(1 << 8);

    /// Files of commits with messages similar to the question.
    pub(crate) const MESSAGES: Self = Self(1 << 9);

    /// Files that earlier sessions used for similar questions.
    pub(crate) const HITS: Self = Self(1 << 10);

    pub const ALL: Self = Self((1 << 11) - 1);

    /// Each list with its name on a command line.
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

    /// Returns the lists that are not in `others`.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns whether the set contains all of `others`.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// The switches of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// The lists to use.
    pub lists: Lists,
    /// Whether the threshold applies. If not, the best candidates are always packed.
    pub decide: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { lists: Lists::ALL, decide: true }
    }
}

/// A ranking of files for a question, before the threshold.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// The files, best first. Empty if no index exists yet.
    pub files: Vec<RankedFile>,
    pub elapsed: Duration,
    /// The features of the decision with their names; see `benches/relevance/fit.py`.
    pub features: Vec<(&'static str, f32)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    pub path: RelPath,
    /// The score; comparable within one ranking only.
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
