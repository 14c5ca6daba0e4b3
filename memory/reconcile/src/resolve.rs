//! Resolves a conflict by a person's decision, which main keeps.

use std::str::FromStr;

use muninn_base::RelPath;
use muninn_repo_tools::Worktree;
use muninn_team::Store;
use muninn_team::learn::LearnContext;
use muninn_team::records::{Body, Origin, Record, RecordStatus, kinds};
use muninn_text::redact::redact;
use thiserror::Error;

use super::edit::edit;
use super::error::{MAX_NOTE_BYTES, MAX_TEXT_BYTES, ResolveError};
use super::open::{OpenConflict, open_among};

/// The sides of a conflict that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// The oldest record.
    Left,
    /// The newest record.
    Right,
    /// All: there is no contradiction.
    All,
    /// None of them.
    Nothing,
    /// Some of them, by their numbers from 1.
    Sides(Vec<usize>),
}

/// `keep` is none of the known words, and no list of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("keep left, right, both, none, or sides by their numbers such as 2,3")]
pub struct KeepError;

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, KeepError> {
        Ok(match text.trim().to_lowercase().as_str() {
            "left" => Self::Left,
            "right" => Self::Right,
            "both" | "all" => Self::All,
            "none" => Self::Nothing,
            numbers => {
                let number = |text: &str| text.trim().parse().ok().filter(|number| *number > 0);
                let numbers: Option<Vec<usize>> = numbers.split(',').map(number).collect();
                Self::Sides(numbers.ok_or(KeepError)?)
            }
        })
    }
}

/// A person's decision on a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// Some sides hold, and the others do not.
    Keep(Keep),
    /// The newest side replaces the others, as proposed.
    Accept,
    /// A new text replaces all sides.
    Write(String),
}

/// The session of records that people enter.
const BY_HAND: &str = "by hand";
/// The confidence of a text that a person wrote to settle a conflict.
const CONFIDENCE: f64 = 0.9;

/// Settles the open conflict that any unambiguous part of its id, or of a pair's id, names: records the decision in main,
/// and removes the pairs from the list. A record that is not kept stays in main with the decision, and is no longer
/// recalled.
///
/// # Errors
/// [`ResolveError`]; then nothing has changed.
pub fn resolve(store: &Store, id: &str, resolution: &Resolution, note: Option<&str>) -> Result<Record, ResolveError> {
    if let Some(note) = note.filter(|note| note.len() > MAX_NOTE_BYTES) {
        return Err(ResolveError::LongNote(note.len()));
    }
    edit(store, |main, withdrawn| {
        let shown = withdrawn.shown(main);
        let open = open_among(&shown);
        let conflict = OpenConflict::find(&open, id)?;
        let over = RecordStatus::of(shown).decisions_on(&conflict.id);
        let (decision, written) = decided(conflict, resolution, (note, over), store)?;
        main.extend(written);
        main.push(decision.clone());
        Ok(decision)
    })
}

/// The decision, and the record of a new text.
fn decided(
    conflict: &OpenConflict,
    resolution: &Resolution,
    (note, over): (Option<&str>, Vec<String>),
    store: &Store,
) -> Result<(Record, Option<Record>), ResolveError> {
    let sides = &conflict.sides;
    let author = store.home().worktree().and_then(Worktree::author);
    let author = author.map(|author| redact(&author).into_owned());
    let (kept, written) = match resolution {
        Resolution::Keep(keep) => (kept_sides(keep, sides.len())?, None),
        Resolution::Accept if conflict.proposal.is_none() => return Err(ResolveError::NoProposal),
        Resolution::Accept => (vec![sides.len() - 1], None),
        Resolution::Write(text) => (Vec::new(), Some(new_record(text, conflict, author.clone(), store)?)),
    };
    let side_ids = |is_kept: bool| {
        let sides = sides.iter().enumerate().filter(|(at, _)| kept.contains(at) == is_kept);
        sides.map(|(_, side)| side.id.clone()).collect::<Vec<String>>()
    };
    let keep = side_ids(true);
    let note = match resolution {
        Resolution::Accept => note.or(conflict.proposal.as_deref()),
        _ => note,
    };
    let decision = Body::Decision(kinds::Decision {
        conflict: conflict.id.clone(),
        keep: written.iter().map(|record| record.id.clone()).chain(keep).collect(),
        drop: side_ids(false),
        note: note.map(|note| redact(note).into_owned()),
        author,
        over: Some(over),
    });
    Ok((Record::new(decision, store.home().origin()?, store.clock()), written))
}

/// The positions of the sides that are kept.
fn kept_sides(keep: &Keep, sides: usize) -> Result<Vec<usize>, ResolveError> {
    Ok(match keep {
        Keep::Left => vec![0],
        Keep::Right => vec![sides - 1],
        Keep::All => (0..sides).collect(),
        Keep::Nothing => Vec::new(),
        Keep::Sides(numbers) => {
            if let Some(number) = numbers.iter().find(|number| !(1..=sides).contains(number)) {
                return Err(ResolveError::NoSide { number: *number, sides });
            }
            numbers.iter().map(|number| number - 1).collect()
        }
    })
}

/// The learning of a new text. It cites the files of all sides, and has their subject if they have one.
fn new_record(
    text: &str,
    conflict: &OpenConflict,
    author: Option<String>,
    store: &Store,
) -> Result<Record, ResolveError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ResolveError::NoText);
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(ResolveError::LongText(text.len()));
    }
    let mut files: Vec<RelPath> = Vec::new();
    for source in conflict.sides.iter().flat_map(|side| &side.origin.sources) {
        if let Ok(path) = RelPath::new(&source.path)
            && !files.contains(&path)
        {
            files.push(path);
        }
    }
    let subjects = conflict.sides.iter().map(|side| match &side.body {
        Body::Learning(kinds::Learning { subject, .. }) => subject.clone(),
        _ => None,
    });
    let mut subjects: Vec<Option<String>> = subjects.collect();
    subjects.dedup();
    let context = LearnContext {
        home: store.home(),
        clock: store.clock(),
        origin: Origin { session: Some(BY_HAND.to_owned()), ..store.home().origin()? },
        with_text: true,
    };
    let learning = Body::Learning(kinds::Learning {
        text: redact(text).into_owned(),
        subject: subjects.pop().filter(|_| subjects.is_empty()).flatten(),
        confidence: serde_json::Number::from_f64(CONFIDENCE),
        author,
    });
    let mut record = context.record(learning, &files);
    record.origin.stated = true;
    Ok(record)
}
