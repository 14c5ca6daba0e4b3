//! Files that `muninn init` creates, and their git attributes.
//!
//! Git detects a new file as the rename of a removed one, and an emptied folder as moved, and then applies other
//! people's changes to the new path. Therefore the team's files are created before any session writes, and the folder
//! of sessions never becomes empty.

use muninn_team::records::{ATTRIBUTES, CONFLICTS, MAIN};

use super::{PRUNED, RECONCILED, SESSIONS_ARCHIVE};

/// A placeholder that keeps the folder of sessions.
pub(super) const KEEPER: &str = ".gitkeep";

/// Files that exist from the beginning: path below the root, and content.
pub const SETUP: [(&str, &str); 8] = [
    (
        ".muninn/.gitignore",
        "# Derived from the code; rebuilt when it is missing.\ncache/\n# Of a write that was cut short.\n*.tmp\n",
    ),
    // Lines are never changed, so the union of two versions is a correct merge.
    (
        ATTRIBUTES,
        "memory/** linguist-generated\nmemory/*.jsonl merge=union\nmemory/archive/pruned.jsonl merge=union\n\
         memory/sessions/archive/sessions.jsonl merge=union\n\
         journals/corrections.md merge=union\njournals/patterns.jsonl merge=union\n",
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
    use muninn_team::records::SESSIONS;

    #[test]
    fn placeholder_is_in_the_sessions_folder() {
        assert!(SETUP.iter().any(|(path, _)| *path == format!("{SESSIONS}/{KEEPER}")));
    }
}
