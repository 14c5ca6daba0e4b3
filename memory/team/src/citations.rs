//! Citations: places that a memory is based on, and what has become of them.
//!
//! A citation of lines holds a hash of them and not their text. Lines are compared without the whitespace around them, so
//! that code that was only indented counts as unchanged.

use muninn_base::RelPath;
use muninn_repo_tools::{ReadError, Worktree, read_text, split_lines};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Larger files are not cited by their lines, and count as changed.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// The factor of the polynomial over the hashes of lines.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A cited place with a trace of its content at that time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Citation {
    pub path: RelPath,
    /// The blob id of the file, hexadecimal; `None` if it is unknown.
    pub blob: Option<String>,
    /// The cited lines; `None` for the whole file.
    pub lines: Option<CitedLines>,
}

/// Cited lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CitedLines {
    /// The first line, from 1.
    pub first: u32,
    /// The last line.
    pub last: u32,
    /// The hash of the lines, without the whitespace around each.
    pub hash: u64,
    /// How often the file contained these lines.
    pub copies: u32,
}

/// A place as a person or an agent writes it: `path`, `path:line` or `path:first-last`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: RelPath,
    /// The first and the last line, from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
}

/// What has become of a cited place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationState {
    /// The content is the same, at the same place.
    Unchanged,
    /// The content is the same, at another place.
    Moved(Place),
    /// The content differs.
    Changed,
    /// The file does not exist or cannot be read, and its content was not found elsewhere.
    Gone,
    /// The memory does not name the file's content.
    Unknown,
}

/// Why a place cannot be cited.
#[derive(Debug, Error)]
pub enum CiteError {
    #[error("{0:?} is not a place such as src/a.rs:10-20")]
    Place(String),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{path} has {lines} lines")]
    Lines { path: RelPath, lines: usize },
    #[error("the cited lines of {0} contain no word")]
    Blank(RelPath),
}

impl Place {
    /// Reads `path`, `path:line` or `path:first-last`.
    ///
    /// # Errors
    /// [`CiteError::Place`].
    pub fn parse(written: &str) -> Result<Self, CiteError> {
        let (path, lines) = split_lines(written);
        let is_range = |(first, last): (u32, u32)| 0 < first && first <= last;
        match RelPath::new(path.trim_start_matches("./")) {
            Ok(path) if lines.is_none_or(is_range) => Ok(Self { path, lines }),
            _ => Err(CiteError::Place(written.to_owned())),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lines {
            Some((first, last)) => write!(formatter, "{}:{first}-{last}", self.path),
            None => write!(formatter, "{}", self.path),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl CitationState {
    /// The state as a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Moved(_) => "moved",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the content is not what it was.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Changed | Self::Gone)
    }
}

impl std::fmt::Display for CitationState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Moved(place) => write!(formatter, "now {place}"),
            Self::Changed => formatter.write_str("changed since"),
            state => formatter.write_str(state.name()),
        }
    }
}

impl Serialize for CitationState {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Citation {
    /// Cites a place with its current content.
    ///
    /// # Errors
    /// [`CiteError`].
    pub fn of(worktree: &Worktree, place: Place) -> Result<Self, CiteError> {
        let Place { path, lines } = place;
        let file = read_text(worktree, &path, MAX_FILE_BYTES)?;
        let blob = Some(file.blob.to_string());
        let Some((first, last)) = lines else { return Ok(Self { path, blob, lines: None }) };
        let all: Vec<&str> = file.text.lines().collect();
        let last = if last == u32::MAX { u32::try_from(all.len()).unwrap_or(last) } else { last };
        let Some(cited) = all.get(first as usize - 1..last as usize) else {
            return Err(CiteError::Lines { path, lines: all.len() });
        };
        if !cited.iter().any(|line| line.contains(char::is_alphanumeric)) {
            return Err(CiteError::Blank(path));
        }
        let hash = windows(cited, cited.len()).first().copied().unwrap_or_default();
        let copies = windows(&all, cited.len()).into_iter().filter(|other| *other == hash).count();
        let copies = u32::try_from(copies).unwrap_or(u32::MAX);
        Ok(Self { path, blob, lines: Some(CitedLines { first, last, hash, copies }) })
    }

    /// The cited place.
    pub fn place(&self) -> Place {
        Place { path: self.path.clone(), lines: self.lines.map(|lines| (lines.first, lines.last)) }
    }

    /// Compares the place with the worktree. `elsewhere` names the files that can have the content of a file that is
    /// gone.
    pub fn state(&self, worktree: &Worktree, elsewhere: &dyn Fn(&Self) -> Vec<RelPath>) -> CitationState {
        let file = match read_text(worktree, &self.path, MAX_FILE_BYTES) {
            Ok(file) => file,
            Err(ReadError::TooLarge { .. }) => return CitationState::Changed,
            Err(_) => {
                let mut others = elsewhere(self).into_iter();
                let moved = others.find_map(|path| self.found_in(worktree, path));
                return moved.map_or(CitationState::Gone, CitationState::Moved);
            }
        };
        match (&self.blob, self.lines) {
            (Some(blob), _) if file.blob.to_string() == *blob => CitationState::Unchanged,
            (_, Some(lines)) => match lines.found(&file.text) {
                Some(range) if range == (lines.first, lines.last) => CitationState::Unchanged,
                Some(range) => CitationState::Moved(Place { path: self.path.clone(), lines: Some(range) }),
                None => CitationState::Changed,
            },
            (Some(_), None) => CitationState::Changed,
            (None, None) => CitationState::Unknown,
        }
    }

    /// The content in another file.
    fn found_in(&self, worktree: &Worktree, path: RelPath) -> Option<Place> {
        let file = read_text(worktree, &path, MAX_FILE_BYTES).ok()?;
        if self.blob.as_ref().is_some_and(|blob| file.blob.to_string() == *blob) {
            return Some(Place { path, ..self.place() });
        }
        let range = self.lines?.found(&file.text)?;
        Some(Place { path, lines: Some(range) })
    }
}

impl CitedLines {
    /// The lines of a text that have this content: those at the same place, or else the nearest. `None` if there are
    /// fewer copies than before, because the cited ones may be those that are missing.
    fn found(self, text: &str) -> Option<(u32, u32)> {
        let lines: Vec<&str> = text.lines().collect();
        let length = self.last - self.first;
        let same = (1u32..).zip(windows(&lines, length as usize + 1)).filter(|(_, hash)| *hash == self.hash);
        let starts: Vec<u32> = same.map(|(first, _)| first).collect();
        let nearest = starts.iter().copied().min_by_key(|first| first.abs_diff(self.first))?;
        let is_same = nearest == self.first || starts.len() >= self.copies as usize;
        is_same.then_some((nearest, nearest + length))
    }
}

/// The hash of each run of `length` lines, in order: a polynomial over the hashes of the lines, so that each is computed
/// from the one before.
fn windows(lines: &[&str], length: usize) -> Vec<u64> {
    let hash = |line: &&str| {
        let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(line.trim().as_bytes()).as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    };
    let hashes: Vec<u64> = lines.iter().map(hash).collect();
    let leaving = (1..length).fold(1u64, |power, _| power.wrapping_mul(FACTOR));
    let mut sum = 0u64;
    let mut sums = Vec::with_capacity(hashes.len());
    for (at, hash) in hashes.iter().enumerate() {
        if let Some(left) = at.checked_sub(length) {
            sum = sum.wrapping_sub(hashes[left].wrapping_mul(leaving));
        }
        sum = sum.wrapping_mul(FACTOR).wrapping_add(*hash);
        if at + 1 >= length {
            sums.push(sum);
        }
    }
    sums
}
