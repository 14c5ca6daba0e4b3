//! What was left out of a result, and why: nothing is dropped without a word.

use serde::Serialize;

/// A bound that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// As many results as were asked for.
    Matches,
    /// As many results as were asked for from one file.
    MatchesPerFile,
    /// As many files as may be opened.
    Files,
    /// As many bytes of output as were asked for.
    Bytes,
    /// As many tokens as were asked for.
    Tokens,
    /// The end of the time.
    Time,
    /// As many lines as were asked for.
    Lines,
    /// As deep as was asked for.
    Depth,
    /// History ends here because the clone is shallow.
    Shallow,
}

/// The bounds that were reached, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cuts(Vec<Cut>);

impl Cuts {
    /// Notes a bound.
    pub fn add(&mut self, cut: Cut) {
        if let Err(at) = self.0.binary_search(&cut) {
            self.0.insert(at, cut);
        }
    }

    /// Notes all bounds of another result.
    pub fn extend(&mut self, others: &Self) {
        for cut in &others.0 {
            self.add(*cut);
        }
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this bound was reached.
    pub fn has(&self, cut: Cut) -> bool {
        self.0.contains(&cut)
    }

    /// In words, for a line below the results: `matches, time`.
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
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// At most this many bytes of a line, cut between characters; whether something was cut.
pub(crate) fn shorten(line: &str, max_bytes: usize) -> (&str, bool) {
    let end = line.floor_char_boundary(max_bytes);
    (&line[..end], end < line.len())
}
