//! Entries and overviews as memories, which recall searches beside records and knowledge.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, Links, ObjectId, read_regular_text};

use super::entry::Entry;
use super::log::{LogEntry, timestamp};
use super::section::SectionFile;
use super::{REFERENCE, conflict};
use crate::markdown::sections;
use crate::memories::{LoadedMemories, Memory, MemoryKind};
use crate::redact::redact;
use crate::stamp::Stamp;
use crate::wiki::PagePath;

/// The newest entries that are recalled; a search finds older ones too.
const MOST_ENTRIES: usize = 20_000;
/// The part of an entry, or of a section of an overview, that is recalled, in bytes.
const MOST_TEXT: usize = 20_000;
/// The prefix of sources.
const SOURCE: &str = "journal:";

/// The most bytes of the ref: an id.
const MOST_REFERENCE: u64 = 4 << 10;
/// The largest list of tables that is read, in bytes; git merges tables so that there are few.
const MOST_TABLES: u64 = 1 << 20;

/// Loads the overviews and the newest entries of a journal. A journal that cannot be read is reported and skipped.
pub(crate) fn load(git_dir: &Path) -> LoadedMemories {
    let mut loaded = LoadedMemories::default();
    // Before the commits: a commit that is made meanwhile is read again.
    loaded.stamps.extend(stamp(git_dir));
    if let Err(error) = read(git_dir, &mut loaded) {
        loaded.notes.push(format!("journal skipped: {error}"));
    }
    loaded
}

/// The state of the ref; `None` if the repository has none of the files that refs are in.
pub(crate) fn stamp(git_dir: &Path) -> Option<Stamp> {
    // The names of tables are never used twice. A repository with tables has no other refs.
    if let Ok(tables) = read_regular_text(&git_dir.join("reftable/tables.list"), Links::Follow, MOST_TABLES) {
        return Some(Stamp {
            path: format!("{SOURCE}{}", blake3::hash(tables.as_bytes()).to_hex()),
            size: tables.len() as u64,
            modified: SystemTime::UNIX_EPOCH,
        });
    }
    if let Ok(content) = read_regular_text(&git_dir.join(REFERENCE), Links::Follow, MOST_REFERENCE) {
        return Some(Stamp {
            path: format!("{SOURCE}{}", content.trim_end()),
            size: 0,
            modified: SystemTime::UNIX_EPOCH,
        });
    }
    let packed = fs::metadata(git_dir.join("packed-refs")).ok()?;
    Some(Stamp {
        path: SOURCE.to_owned(),
        size: packed.len(),
        modified: packed.modified().ok()?,
    })
}

fn read(git_dir: &Path, loaded: &mut LoadedMemories) -> Result<(), ChainError> {
    let chain = CommitChain::open(git_dir, REFERENCE)?;
    let Some(tip) = chain.tip()? else { return Ok(()) };
    overviews(&chain, tip, loaded)?;
    let mut next = Some(tip);
    for _ in 0..MOST_ENTRIES {
        let Some(id) = next else { return Ok(()) };
        let commit = chain.commit(id)?;
        next = commit.parent;
        loaded.items.extend(entry(&commit));
    }
    Ok(())
}

fn overviews(chain: &CommitChain, tip: ObjectId, loaded: &mut LoadedMemories) -> Result<(), ChainError> {
    for (file, blob) in chain.files(tip)? {
        let Some(section) = PagePath::of_file(&file) else {
            continue;
        };
        let Some(text) = chain.text(blob) else { continue };
        let mut texts = vec![SectionFile::parse(&text).overview];
        texts.extend(conflict::of(chain, Some(tip), &section)?.map(|conflict| conflict.other));
        for text in texts {
            loaded.items.extend(overview(&section, &text));
        }
    }
    Ok(())
}

/// The parts of an overview, by its headings.
fn overview(section: &PagePath, text: &str) -> Vec<Memory> {
    let text = redact(text);
    let lines: Vec<&str> = text.lines().collect();
    let parts = sections(&text, 1).into_iter();
    let memories = parts.map(|part| {
        let span = (part.first - 1) as usize..part.last as usize;
        let text = lines.get(span).unwrap_or_default().join("\n");
        memory(section, section.to_string(), &part.title, &text)
    });
    memories.collect()
}

fn entry(commit: &ChainCommit) -> Option<Memory> {
    let entry = Entry::parse(&commit.message)?;
    let summary = entry.summary.iter().map(|summary| format!("{summary}\n\n"));
    let text = summary.chain([entry.text.clone()]).collect::<String>();
    let listed = LogEntry::of(commit)?;
    let title = redact(&entry.work_context);
    Some(Memory {
        date: Some(timestamp(listed.seconds).into()),
        author: Some(redact(&commit.author.name).into_owned()),
        session: entry.session.as_deref().map(|session| redact(session).into_owned()),
        task: entry.task.as_deref().map(|task| redact(task).into_owned()),
        ..memory(&entry.section, listed.name(), &title, &redact(&text))
    })
}

fn memory(section: &PagePath, name: String, title: &str, text: &str) -> Memory {
    let own = section.to_string();
    Memory {
        kind: MemoryKind::Journal,
        source: format!("{SOURCE}{name}"),
        path: format!("{SOURCE}{section}"),
        title: match title {
            "" => own,
            title if title == own => own,
            title => format!("{title} ({section})"),
        },
        text: text[..text.floor_char_boundary(MOST_TEXT)].to_owned(),
        related: String::new(),
        first_line: 0,
        date: None,
        author: None,
        confidence: None,
        applies_to: Vec::new(),
        record_type: None,
        session: None,
        branch: None,
        task: None,
        contested: None,
        superseded: None,
        cites: Vec::new(),
    }
}
