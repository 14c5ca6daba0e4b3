//! Reading a file of records line by line, whatever is in it.
//!
//! These files arrive by `git pull` from anyone, and a merge that nobody resolved, or a copy that was torn, must not cost
//! the lines around it. So a line that is no record is set aside and told of, and stays in the file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::{self, BufRead, Read as _};

use super::record::Record;

/// A line that is no record, by its number from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// Which line.
    pub line: usize,
    /// Why it was set aside.
    pub reason: SkipReason,
}

/// Why a line was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// `<<<<<<<`, `=======`, `>>>>>>>` or `|||||||`: a merge that nobody resolved. What stands between them is read.
    ConflictMarker,
    /// The last line has no end: it is being written, or its writer died.
    Torn,
    /// It is not UTF-8, or no JSON object that says anything.
    Invalid(String),
    /// An earlier line has the same id and says something else.
    Duplicate(String),
    /// It is longer than a record can be.
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

/// Longer lines are no records.
pub const MAX_LINE_BYTES: usize = 64 << 10;

/// So many lines of a file are looked at for its first record.
const FIRST_LINES: usize = 64;

/// Reads a file's records in their order. `take` gets each with its line's number; `aside` gets the others.
///
/// A line that is there twice, as a merge of both sides leaves it, counts once.
///
/// # Errors
/// Those of reading.
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
            // One without an id is one of its own.
            Ok(record) if record.id.is_empty() => take(line, record),
            Ok(record) => match seen.entry(digest(&record.id)) {
                Entry::Vacant(free) => {
                    free.insert(digest(text));
                    take(line, record);
                }
                Entry::Occupied(before) if *before.get() == digest(text) => {}
                // Two models may come to two decisions on one pair.
                Entry::Occupied(_) if record.is_derived() => take(line, record),
                Entry::Occupied(_) => set_aside(SkipReason::Duplicate(record.id)),
            },
            Err(_) if matches!(read, Read::Open) => set_aside(SkipReason::Torn),
            Err(error) => set_aside(SkipReason::Invalid(error.to_string())),
        }
    }
    Ok(())
}

/// The first record of a file; `None` where none is in its first few lines.
///
/// # Errors
/// Those of reading.
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

/// Enough of a hash that no two texts share it.
pub(crate) type Digest = [u8; 16];

pub(crate) fn digest(text: &str) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    digest
}

/// Without what editors put around a line: blanks, a carriage return, the mark of a file's beginning.
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

/// How a line was read.
enum Read {
    /// There is none.
    End,
    /// To its end.
    Whole,
    /// To the file's end, which comes before the line's.
    Open,
    /// Only its beginning: it is too long.
    Cut,
}

/// Reads a line without its end, and skips the rest of one that is too long.
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
