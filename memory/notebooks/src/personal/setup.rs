//! The first run: three questions, and the files that their answers make.

use std::io::{ErrorKind, Write as _};

use muninn_base::private_file;
use muninn_text::redact::redact;

use super::directory::Personal;
use super::error::PersonalError;
use super::inbox::INBOX;
use super::paths::{ENTITIES, JOURNAL, STATE};

/// The questions of the first run.
pub const QUESTIONS: [&str; 3] = [
    "What should I call you?",
    "Any particular way you'd like me to work with you?",
    "What are you working on right now?",
];

/// The answers; an empty one is left open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// The person's name.
    pub name: String,
    /// How they want to work with agents.
    pub style: String,
    /// What they are working on.
    pub work: String,
}

impl Personal {
    /// Creates the directory, and those of its files that do not exist. Returns the paths of the new ones, below the directory.
    pub fn set_up(&self, setup: &Setup) -> Result<Vec<&'static str>, PersonalError> {
        private_file::dir(self.root()).map_err(PersonalError::io(self.root()))?;
        let _lock = self.lock()?;
        for folder in [STATE, JOURNAL, &format!("{ENTITIES}/people"), &format!("{ENTITIES}/projects")] {
            self.make(folder)?;
        }
        // An open question leaves no text behind, which each conversation would carry.
        let answered = |before: &str, text: &str| match text.trim() {
            "" => String::new(),
            text => format!("{before}{}\n", redact(text)),
        };
        let name = answered("\nName: ", &setup.name);
        let style = answered("\n## How to work with me\n\n", &setup.style);
        let identity = format!("# Identity\n{name}{style}");
        let today = format!("# Today\n{}", answered("\n", &setup.work));
        let files = [
            ("identity.md", &*identity),
            ("state/inbox.md", INBOX),
            ("state/today.md", &today),
            ("state/commitments.md", "# Commitments\n"),
        ];
        let mut made = Vec::new();
        for (name, text) in files {
            let path = self.path(name);
            // The shipped variant of macrodata has its identity elsewhere.
            if name == "identity.md" && !self.is_first_run() {
                continue;
            }
            let write = || {
                let mut file = private_file::create_new(&path)?;
                file.write_all(text.as_bytes())?;
                file.sync_all()
            };
            match write() {
                Ok(()) => made.push(name),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(PersonalError::io(path)(error)),
            }
        }
        Ok(made)
    }
}
