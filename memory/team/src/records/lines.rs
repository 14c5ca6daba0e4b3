//! Reads a file of records line by line, whatever it holds.
//!
//! These files come from other people by `git pull`. An unresolved merge or an incomplete copy must not affect the
//! lines around it: an invalid line is skipped and reported, and stays in the file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::{self, BufRead, Read as _};

use super::record::Record;

/// A line that is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// The line number, from 1.
    pub line: usize,
    pub reason: SkipReason,
}

/// Why a line was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// `<<<<<<<`, `=======`, `>>>>>>>` or `|||||||`: an unresolved merge. The lines between the markers are read.
    ConflictMarker,
    /// The last line has no newline: it is being written, or its writer was killed.
    Torn,
    /// Not UTF-8, or not a JSON object with members.
    Invalid(String),
    /// An earlier line has the same id and other content.
    Duplicate(String),
    /// Longer than [`MAX_LINE_BYTES`].
    TooLong,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConflictMarker => formatter.write_str("a conflict marker of git"),
            Self::Torn => formatter.write_str("a torn line"),
            Self::Invalid(why) => write!(formatter, "no record: {why}"),
            Self::Duplicate(id) => write!(formatter, "a second record of the id {id}, which says something else"),
            Self::TooLong => write!(formatter, "longer than {MAX_LINE_BYTES} bytes"),
        }
    }
}

/// The longest line that is read as a record.
pub const MAX_LINE_BYTES: usize = 64 << 10;

/// Number of lines that are searched for the first record of a file.
const FIRST_LINES: usize = 64;

/// Reads a file's records in order. `take` gets each record with its line number; `aside` gets the skipped lines.
///
/// A line that occurs twice, as after a merge that kept both sides, is returned once.
pub fn read(
    mut file: impl BufRead,
    mut take: impl FnMut(usize, Record),
    mut aside: impl FnMut(SkippedLine),
) -> io::Result<()> {
    let mut seen: HashMap<Digest, Digest> = HashMap::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        let read = next_line(&mut file, &mut bytes)?;
        let mut set_aside = |reason| aside(SkippedLine { line, reason });
        let text = match (&read, std::str::from_utf8(&bytes)) {
            (Read::End, _) => break,
            (Read::Cut, _) => {
                set_aside(SkipReason::TooLong);
                continue;
            }
            (Read::Open, Err(_)) => {
                set_aside(SkipReason::Torn);
                continue;
            }
            (_, Err(error)) => {
                set_aside(SkipReason::Invalid(error.to_string()));
                continue;
            }
            (_, Ok(text)) => bare(text),
        };
        if text.is_empty() {
            continue;
        }
        if is_conflict_marker(text) {
            set_aside(SkipReason::ConflictMarker);
            continue;
        }
        match Record::parse(text) {
            // Records without an id are never duplicates.
            Ok(record) if record.id.is_empty() => take(line, record),
            Ok(record) => match seen.entry(digest(&record.id)) {
                Entry::Vacant(free) => {
                    free.insert(digest(text));
                    take(line, record);
                }
                Entry::Occupied(before) if *before.get() == digest(text) => {}
                // Two models can write two decisions on one pair.
                Entry::Occupied(_) if record.is_derived() => take(line, record),
                Entry::Occupied(_) => set_aside(SkipReason::Duplicate(record.id)),
            },
            Err(_) if matches!(read, Read::Open) => set_aside(SkipReason::Torn),
            Err(error) => set_aside(SkipReason::Invalid(error.to_string())),
        }
    }
    Ok(())
}

/// Returns the first record of a file; `None` if its first lines hold none.
pub fn first(mut file: impl BufRead) -> io::Result<Option<Record>> {
    let mut bytes = Vec::new();
    for _ in 0..FIRST_LINES {
        if let Read::End = next_line(&mut file, &mut bytes)? {
            break;
        }
        let record = std::str::from_utf8(&bytes).ok().map(|text| Record::parse(bare(text)));
        if let Some(Ok(record)) = record {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// The first 16 bytes of a BLAKE3 hash.
pub type Digest = [u8; 16];

pub fn digest(text: &str) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    digest
}

/// Strips what editors add to a line: blanks, a carriage return, a byte order mark.
fn bare(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

fn is_conflict_marker(line: &str) -> bool {
    let marks = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    marks.iter().any(|mark| {
        let rest = line.strip_prefix(mark);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// The result of reading a line.
enum Read {
    /// No more lines.
    End,
    /// A line with its newline.
    Whole,
    /// A last line without a newline.
    Open,
    /// The beginning of a line that is too long.
    Cut,
}

/// Reads a line without its newline. The rest of a line that is too long is skipped.
fn next_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Read> {
    line.clear();
    let most = MAX_LINE_BYTES as u64 + 1;
    if file.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(Read::End);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Read::Whole);
    }
    if line.len() <= MAX_LINE_BYTES {
        return Ok(Read::Open);
    }
    file.skip_until(b'\n')?;
    Ok(Read::Cut)
}
