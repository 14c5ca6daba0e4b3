//! Lines for `state/inbox.md`, which every session reads.

use std::io::{ErrorKind, Write as _};

use jiff::Timestamp;
use muninn_base::private_file;
use muninn_text::redact::redact;

use super::directory::Personal;
use super::error::PersonalError;
use super::paths::STATE;

/// The file, in the directory of the state.
const FILE: &str = "inbox.md";
/// The text of a new file.
pub(super) const INBOX: &str = "# Inbox\n";
/// The most bytes of the file.
const MOST_FILE: u64 = 64 << 20;
/// The most characters of a line's text. Each session pays for the whole file.
const MOST_TEXT: usize = 400;

impl Personal {
    /// Appends a line about a due time of a reminder, unless the file has one about it.
    ///
    /// # Errors
    /// [`PersonalError`]; the line is not there then, or a part of it.
    pub fn add_to_inbox(&self, id: &str, due: Timestamp, text: &str) -> Result<(), PersonalError> {
        let _lock = self.lock()?;
        let path = self.make(STATE)?.join(FILE);
        let known = match private_file::read(&path, MOST_FILE) {
            Err(error) if error.kind() == ErrorKind::NotFound => INBOX.as_bytes().to_vec(),
            known => known.map_err(PersonalError::io(&path))?,
        };
        let mark = format!("[reminder {id}, due {due:.0}]");
        if String::from_utf8_lossy(&known).contains(&mark) {
            return Ok(());
        }
        let end = if known.contains(&b'\r') { "\r\n" } else { "\n" };
        let text = redact(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut text: String = words.join(" ");
        if let Some((at, _)) = text.char_indices().nth(MOST_TEXT) {
            text.truncate(at);
            text.push('…');
        }
        let mut line = format!("- {text} {mark}{end}");
        // A list begins after an empty line.
        let last = known.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let ends = match (known.ends_with(b"\n"), last.starts_with(b"#")) {
            (true, false) => "",
            (true, true) if known.trim_ascii_end().len() + end.len() == known.len() => end,
            (true, true) => "",
            (false, _) => end,
        };
        line.insert_str(0, ends);
        let write = || {
            if path.exists() {
                // A person's editor may have the file open: what it does not know of is added, and nothing is rewritten.
                let mut file = private_file::append(&path)?;
                // The database of firings, and the removal of the reminder's file, reach the disk after it.
                file.write_all(line.as_bytes()).and_then(|()| file.sync_data())
            } else {
                private_file::replace(&path, format!("{INBOX}{line}").as_bytes())
            }
        };
        write().map_err(PersonalError::io(&path))
    }
}
