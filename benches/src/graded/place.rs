//! Places of a repository, as receipts, packs and tools name them.

use std::fmt;
use std::ops::RangeInclusive;

/// A file, or lines of it, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) lines: Option<RangeInclusive<usize>>,
}

impl Place {
    pub(crate) fn parse(source: &str) -> Self {
        let with_lines = || {
            let (path, lines) = source.rsplit_once(':')?;
            let (first, last) = lines.split_once('-')?;
            Some(Self { path: path.to_owned(), lines: Some(first.parse().ok()?..=last.parse().ok()?) })
        };
        with_lines().unwrap_or_else(|| Self { path: source.to_owned(), lines: None })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lines {
            Some(lines) => write!(f, "{}:{}-{}", self.path, lines.start(), lines.end()),
            None => f.write_str(&self.path),
        }
    }
}

/// Whether two ranges share at least half of the lines of the shorter one.
pub(crate) fn overlap_by_half(a: &RangeInclusive<usize>, b: &RangeInclusive<usize>) -> bool {
    let length = |first: usize, last: usize| (last + 1).saturating_sub(first);
    let shared = length(*a.start().max(b.start()), *a.end().min(b.end()));
    shared * 2 >= length(*a.start(), *a.end()).min(length(*b.start(), *b.end())) && shared > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_shorter_range_is_an_overlap() {
        for (a, b, overlaps) in [
            (10..=19, 1..=100, true),
            (10..=19, 15..=40, true),
            (10..=19, 16..=40, false),
            (7..=7, 7..=7, true),
            (7..=7, 8..=8, false),
            (8..=8, 3..=5, false),
        ] {
            assert_eq!(overlap_by_half(&a, &b), overlaps, "{a:?} {b:?}");
        }
    }
}
