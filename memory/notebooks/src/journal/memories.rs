//! Entries and overviews as memories, which recall searches beside records and knowledge.

use std::path::Path;
use std::time::SystemTime;

use muninn_base::stamp::Stamp;
use muninn_base::{Links, read_regular_text};
use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, ObjectId};
use muninn_team::memories::{LoadedMemories, Memory, MemoryKind};
use muninn_team::records::NoteUse;
use muninn_text::markdown::sections;
use muninn_text::redact::redact;

use super::entry::{Entry, shown};
use super::log::{LogEntry, timestamp};
use super::section::SectionFile;
use super::{REFERENCE, conflict};
use crate::wiki::PagePath;

/// The most bytes of the file of a ref.
const MOST_REF: u64 = 4096;
/// The newest entries that are recalled; a search finds older ones too.
const MOST_ENTRIES: usize = 20_000;
/// The part of an entry, or of a section of an overview, that is recalled, in bytes.
const MOST_TEXT: usize = 20_000;
/// The most bytes of overviews that are read, and of commits, and the most bytes of each that is kept: together a load needs
/// less than 100 MB. A journal of a thousand sections and twenty thousand entries has 20 MB.
const MOST_READ: usize = 64 << 20;
const MOST_KEPT: usize = 16 << 20;
/// The part of a text in which secrets are looked for: one that begins in the recalled part ends in it.
const MOST_REDACTED: usize = MOST_TEXT + 8_000;
/// The part of an overview that is recalled, and of a context or a name, in bytes.
const MOST_OVERVIEW: usize = 256 << 10;
const MOST_TITLE: usize = 500;
/// The prefix of sources.
const SOURCE: &str = "journal:";
/// The largest list of tables that is read, in bytes; git merges tables so that there are few.
const MOST_TABLES: u64 = 1 << 20;

/// Loads the overviews and the newest entries of a journal. A journal that cannot be read is reported and skipped.
pub fn load(git_dir: &Path) -> LoadedMemories {
    let mut loaded = LoadedMemories::default();
    // Before the commits: a commit that is made meanwhile is read again.
    loaded.stamps.extend(stamp(git_dir));
    if let Err(error) = read(git_dir, &mut loaded) {
        loaded.notes.push(format!("journal skipped: {error}"));
    }
    loaded
}

/// The state of the ref; `None` if the repository has none of the files that refs are in.
pub fn stamp(git_dir: &Path) -> Option<Stamp> {
    // The names of tables are never used twice. A repository with tables has no other refs.
    if let Ok(tables) = read_regular_text(&git_dir.join("reftable/tables.list"), Links::Follow, MOST_TABLES) {
        return Some(Stamp {
            path: format!("{SOURCE}{}", blake3::hash(tables.as_bytes()).to_hex()),
            size: tables.len() as u64,
            modified: SystemTime::UNIX_EPOCH,
        });
    }
    if let Ok(content) = read_regular_text(&git_dir.join(REFERENCE), Links::Follow, MOST_REF) {
        return Some(Stamp {
            path: format!("{SOURCE}{}", content.trim_end()),
            size: 0,
            modified: SystemTime::UNIX_EPOCH,
        });
    }
    let packed = std::fs::metadata(git_dir.join("packed-refs")).ok()?;
    Some(Stamp { path: SOURCE.to_owned(), size: packed.len(), modified: packed.modified().ok()? })
}

fn read(git_dir: &Path, loaded: &mut LoadedMemories) -> Result<(), ChainError> {
    let chain = CommitChain::open(git_dir, REFERENCE)?;
    let Some(tip) = chain.tip()? else { return Ok(()) };
    if let Err(error) = overviews(&chain, tip, loaded) {
        loaded.notes.push(format!("overviews of the journal skipped: {error}"));
    }
    let mut room = Room::new();
    for commit in chain.history(Some(tip)).take(MOST_ENTRIES) {
        let commit = commit?;
        let Some(entry) = entry(&commit) else { continue };
        if !room.has(commit.message.len(), entry.text.len()) {
            loaded.notes.push("the journal is too large: older entries are not recalled".to_owned());
            break;
        }
        loaded.items.push(entry);
    }
    Ok(())
}

/// The bytes that are left of [`MOST_READ`] and [`MOST_KEPT`].
struct Room {
    read: usize,
    kept: usize,
}

impl Room {
    fn new() -> Self {
        Self { read: MOST_READ, kept: MOST_KEPT }
    }

    /// Takes some bytes. Returns whether there was room for them.
    fn has(&mut self, read: usize, kept: usize) -> bool {
        let is_small = read <= self.read && kept <= self.kept;
        self.read = self.read.saturating_sub(read);
        self.kept = self.kept.saturating_sub(kept);
        is_small
    }
}

fn overviews(chain: &CommitChain, tip: ObjectId, loaded: &mut LoadedMemories) -> Result<(), ChainError> {
    let mut room = Room::new();
    for (file, blob) in chain.files(tip)? {
        let beside = file.strip_suffix(conflict::EXTENSION);
        let section = match beside {
            Some(section) => PagePath::new(section).ok().filter(|path| path.as_str() == section),
            None => PagePath::of_file(&file).filter(|section| section.file() == file),
        };
        let Some(section) = section else { continue };
        let Some(cost) = chain.file_cost(blob)? else { continue };
        let cost = usize::try_from(cost).unwrap_or(usize::MAX);
        if !room.has(cost, cost.min(MOST_OVERVIEW)) {
            loaded.notes.push("the journal is too large: not all overviews are recalled".to_owned());
            break;
        }
        let Some(text) = chain.text(blob) else { continue };
        let text = match beside {
            Some(_) => conflict::parts(&text).1.to_owned(),
            None => SectionFile::parse(&text).overview,
        };
        loaded.items.extend(overview(&section, &text));
    }
    Ok(())
}

/// The parts of an overview, by its headings.
fn overview(section: &PagePath, text: &str) -> Vec<Memory> {
    let text = redact(beginning(text, MOST_OVERVIEW));
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
    let title = redact(beginning(&entry.work_context, MOST_TITLE));
    let title = shown(beginning(&title, MOST_TITLE));
    Some(Memory {
        date: Some(timestamp(listed.seconds).into()),
        author: Some(redact(&shown(beginning(&commit.author.name, MOST_TITLE))).into_owned()),
        session: entry.session.as_deref().map(|session| redact(session).into_owned()),
        task: entry.task.as_deref().map(|task| redact(task).into_owned()),
        ..memory(&entry.section, listed.name(), &title, &redact(beginning(&text, MOST_REDACTED)))
    })
}

fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
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
        text: beginning(text, MOST_TEXT).to_owned(),
        related: String::new(),
        answers: Vec::new(),
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
        uses: NoteUse::default(),
        cites: Vec::new(),
    }
}
