//! The context of a session: what an agent needs to know of the person.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::directory::Personal;
use super::error::PersonalError;
use super::journal_lines::JournalEntry;
use super::paths::{ENTITIES, STATE};
use super::reminder::ScheduleView;

/// The journal entries of a context.
const RECENT: usize = 5;

/// The context.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonalContext {
    /// The text of `identity.md`.
    pub identity: String,
    /// The texts of the other files that are always loaded.
    pub state: StateTexts,
    /// The newest journal entries, the newest first.
    pub recent_journal: Vec<JournalEntry>,
    /// The reminders.
    pub schedules: Vec<ScheduleView>,
    /// Whether nobody has set the directory up.
    pub is_first_run: bool,
    /// The places of the files.
    pub paths: PersonalPaths,
    /// What is to be put right: files that are too long, or cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The texts of the files that are always loaded; empty without a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StateTexts {
    /// `state/inbox.md`.
    pub inbox: String,
    /// `state/today.md`.
    pub today: String,
    /// `state/commitments.md`.
    pub commitments: String,
    /// `state/human.md`, of the program that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human: Option<String>,
    /// `state/workspace.md`, of that program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// The places of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PersonalPaths {
    /// The directory.
    pub root: PathBuf,
    /// Its files that are always loaded, but for the identity.
    pub state: PathBuf,
    /// Its entities.
    pub entities: PathBuf,
}

impl Personal {
    /// The context. What cannot be read is a note in it.
    pub fn context(&self) -> PersonalContext {
        let mut notes = Vec::new();
        let mut texts = StateTexts::default();
        let mut identity = String::new();
        let state = noted(self.state(), &mut notes);
        for file in state {
            if let Some(most) = file.exceeds {
                let (path, lines) = (file.path, file.lines);
                notes.push(format!("{path} has {lines} lines; the limit is {most}: shorten it"));
            }
            match file.name {
                "identity" => identity = file.text,
                "inbox" => texts.inbox = file.text,
                "today" => texts.today = file.text,
                "commitments" => texts.commitments = file.text,
                "human" => texts.human = Some(file.text),
                _ => texts.workspace = Some(file.text),
            }
        }
        let (schedules, problems) = noted(self.schedules(), &mut notes);
        notes.extend(problems);
        if let Some(worktree) = self.worktree_around() {
            notes.push(format!(
                "{} is in the git worktree {}: a commit there could publish it",
                self.root().display(),
                worktree.display()
            ));
        }
        PersonalContext {
            identity,
            state: texts,
            recent_journal: noted(self.recent(RECENT, None), &mut notes),
            schedules,
            is_first_run: self.is_first_run(),
            paths: PersonalPaths {
                root: self.root().to_owned(),
                state: self.path(STATE),
                entities: self.path(ENTITIES),
            },
            notes,
        }
    }
}

/// The result, or nothing and a note.
fn noted<T: Default>(result: Result<T, PersonalError>, notes: &mut Vec<String>) -> T {
    result.unwrap_or_else(|error| {
        notes.push(error.to_string());
        T::default()
    })
}
