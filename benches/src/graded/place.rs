//! Places of a repository, as receipts and packs name them.

use std::ops::RangeInclusive;

/// A file, or lines of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Relative to the root of the tree.
    pub path: String,
    /// Counted from 1; `None` for a file without lines.
    pub lines: Option<RangeInclusive<usize>>,
}

impl Place {
    /// Reads `path:first-last`, or a path alone.
    pub fn parse(source: &str) -> Self {
        let with_lines = || {
            let (path, lines) = source.rsplit_once(':')?;
            let (first, last) = lines.split_once('-')?;
            Some((path, first.parse().ok()?..=last.parse().ok()?))
        };
        match with_lines() {
            Some((path, lines)) => Self { path: path.to_owned(), lines: Some(lines) },
            None => Self { path: source.to_owned(), lines: None },
        }
    }
}

/// Whether two ranges share at least half of the lines of the shorter one.
pub fn overlap_by_half(a: &RangeInclusive<usize>, b: &RangeInclusive<usize>) -> bool {
    let length = |first: usize, last: usize| (last + 1).saturating_sub(first);
    let shared = length(*a.start().max(b.start()), *a.end().min(b.end()));
    shared * 2 >= length(*a.start(), *a.end()).min(length(*b.start(), *b.end())) && shared > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_has_lines_where_its_source_names_them() {
        let lines = |source: &str| Place::parse(source).lines;
        assert_eq!(Place::parse("a:b c.rs:3-9").path, "a:b c.rs");
        assert_eq!(lines("a:b c.rs:3-9"), Some(3..=9));
        assert_eq!(Place::parse("doc/a:b-c.md").path, "doc/a:b-c.md");
        assert_eq!(lines("doc/a:b-c.md"), None);
    }

    #[test]
    fn half_of_the_shorter_range_is_an_overlap() {
        assert!(overlap_by_half(&(10..=19), &(1..=100)));
        assert!(overlap_by_half(&(10..=19), &(15..=40)));
        assert!(!overlap_by_half(&(10..=19), &(16..=40)));
        assert!(overlap_by_half(&(7..=7), &(7..=7)));
        assert!(!overlap_by_half(&(7..=7), &(8..=8)));
        assert!(!overlap_by_half(&(8..=8), &(3..=5)));
    }
}
