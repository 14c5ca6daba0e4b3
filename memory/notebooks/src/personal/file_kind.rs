use jiff::civil::Date;
use unicode_categories::UnicodeCategories as _;
use unicode_normalization::UnicodeNormalization as _;

use super::paths::{ENTITIES, JOURNAL, REMINDERS, SIGNALS, STATE};
use super::{reminder, settings};

/// A kind of files of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Markdown: the identity, the state, and entities.
    Text,
    /// JSON lines of a day: the journal, and signals.
    Lines,
    Reminder,
    /// `macrodata.json`.
    Settings,
}

impl FileKind {
    /// The kind of the file at a path below the directory; `None` if a memory has no such file.
    pub fn of(path: &str) -> Option<FileKind> {
        let parts: Vec<&str> = path.splitn(MOST_DEPTH + 1, '/').collect();
        if parts.len() > MOST_DEPTH || !parts.iter().all(|part| is_name(part)) {
            return None;
        }
        let is_day = |name: &str| {
            let day = name.strip_suffix(".jsonl");
            day.is_some_and(|day| day.parse::<Date>().is_ok_and(|date| date.to_string() == day))
        };
        match parts[..] {
            ["identity.md"] => Some(FileKind::Text),
            [settings::FILE] => Some(FileKind::Settings),
            [STATE, name] | [ENTITIES, _, name] if name.ends_with(".md") => Some(FileKind::Text),
            [JOURNAL | SIGNALS, name] if is_day(name) => Some(FileKind::Lines),
            [REMINDERS, name] if name.strip_suffix(".json").is_some_and(reminder::is_id) => Some(FileKind::Reminder),
            _ => None,
        }
    }

    /// The most bytes of such a file. The search reads 4 MiB of a text.
    pub fn most_bytes(self) -> u64 {
        match self {
            FileKind::Text => 4 << 20,
            FileKind::Lines => 16 << 20,
            FileKind::Reminder => reminder::MOST_FILE,
            FileKind::Settings => settings::MOST_FILE,
        }
    }
}

/// The most parts of a path.
pub(crate) const MOST_DEPTH: usize = 3;

/// Whether every file system, shell and git takes a name for that of an ordinary file.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| {
        let is_invisible = c.is_other_control() || c.is_other_format() || c.is_other_private_use();
        let is_line_end = c.is_separator_line() || c.is_separator_paragraph();
        !is_invisible && !is_line_end && !SPECIAL.contains(&c)
    };
    if name.len() > MOST_NAME {
        return false;
    }
    let compared = folded(name);
    let stem = compared.split('.').next().unwrap_or_default().trim_end();
    let is_port = |name: &str| stem.strip_prefix(name).is_some_and(|number| number.len() == 1);
    let is_device = DEVICES.contains(&stem) || is_port("com") || is_port("lpt");
    !compared.is_empty()
        && !compared.starts_with(['.', ' '])
        && !compared.ends_with(['.', ' '])
        && name.chars().chain(compared.chars()).all(is_plain)
        && !is_device
}

/// The most bytes of a name of a file or a directory. Common file systems allow 255.
pub(crate) const MOST_NAME: usize = 200;

/// Characters that a file system, a shell or git gives a meaning in names. `~` makes short names such as `GIT~1`.
pub(crate) const SPECIAL: [char; 10] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|', '~'];

/// Names of devices on Windows, with any ending. An archive is to be of use on any system.
pub(crate) const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The path as the least exact file system compares it: without a difference of case, width or composition.
pub fn folded(path: &str) -> String {
    let upper: String = path.nfkc().flat_map(char::to_uppercase).collect();
    upper.to_lowercase().nfkc().collect()
}
