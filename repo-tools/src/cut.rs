//! The limits that shortened a result. Every result that leaves something out names its limits.

use serde::Serialize;

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The maximum number of results.
    Matches,
    /// The maximum number of results in one file.
    MatchesPerFile,
    /// The maximum number of files.
    Files,
    /// The maximum number of bytes.
    Bytes,
    /// The maximum number of tokens.
    Tokens,
    /// The deadline.
    Time,
    /// The maximum number of lines.
    Lines,
    /// The maximum depth.
    Depth,
    /// The end of a shallow clone's history.
    Shallow,
    /// The maximum size or effort of an ignore file; its directory counts as ignored.
    IgnoreFile,
}

/// The set of limits that were reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cuts(Vec<Cut>);

impl Cuts {
    /// Adds a limit.
    pub fn add(&mut self, cut: Cut) {
        if let Err(at) = self.0.binary_search(&cut) {
            self.0.insert(at, cut);
        }
    }

    /// Adds all limits of another set.
    pub fn extend(&mut self, others: &Self) {
        others.iter().for_each(|cut| self.add(cut));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Cut> {
        self.0.iter().copied()
    }

    /// Returns whether no limit was reached, so that nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a limit was reached.
    pub fn has(&self, cut: Cut) -> bool {
        self.0.contains(&cut)
    }

    /// Formats the set for a line below the results: `matches, time`.
    pub fn describe(&self) -> String {
        let words = self.0.iter().map(|cut| match cut {
            Cut::Matches => "matches",
            Cut::MatchesPerFile => "matches in a file",
            Cut::Files => "files",
            Cut::Bytes => "bytes",
            Cut::Tokens => "tokens",
            Cut::Time => "time",
            Cut::Lines => "lines",
            Cut::Depth => "depth",
            Cut::Shallow => "a shallow clone",
            Cut::IgnoreFile => "the size of an ignore file, whose directory is left out",
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Truncates a line to at most `max_bytes` between characters; the flag tells whether something was cut.
pub fn shorten(line: &str, max_bytes: usize) -> (&str, bool) {
    let end = line.floor_char_boundary(max_bytes);
    (&line[..end], end < line.len())
}
