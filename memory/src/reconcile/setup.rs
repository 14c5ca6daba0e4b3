//! What git is told of the files of records, and which of them are there from the beginning.
//!
//! Git takes a file that appears while another goes for that one renamed, and a folder that empties for one that moved;
//! what others do to the old name it then does to the new one. So that it never takes a session for main, nor puts
//! tomorrow's sessions where yesterday's went, the files of the team are there before any session is, and the folder of
//! sessions never empties.

use crate::records::{CONFLICTS, MAIN};

use super::{PRUNED, RECONCILED, SESSIONS_ARCHIVE};

/// In the folder of sessions, whether there are any or not.
pub(super) const KEEPER: &str = ".gitkeep";

/// Files that are there from the beginning, by their path below the root, and their text.
pub const SETUP: [(&str, &str); 8] = [
    (
        ".muninn/.gitignore",
        "# Derived from the code; rebuilt when it is missing.\ncache/\n# Of a write that was cut short.\n*.tmp\n",
    ),
    // Lines of records are never changed, so of two versions of a file each line is as good as in the other.
    (
        ".muninn/.gitattributes",
        "memory/*.jsonl merge=union\nmemory/archive/pruned.jsonl merge=union\n\
         memory/sessions/archive/sessions.jsonl merge=union\n",
    ),
    (MAIN, ""),
    (CONFLICTS, ""),
    (RECONCILED, ""),
    (PRUNED, ""),
    (SESSIONS_ARCHIVE, ""),
    (".muninn/memory/sessions/.gitkeep", ""),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::SESSIONS;

    #[test]
    fn the_keeper_is_in_the_folder_of_sessions() {
        assert!(SETUP.iter().any(|(path, _)| *path == format!("{SESSIONS}/{KEEPER}")));
    }
}
