//! One person's memory, across repositories: files in a directory of their own, which they can read and edit.
//!
//! The layout and the formats are those of the personal memory that the project began with (macrodata), so that a directory of
//! one program serves the other. Small files are part of every conversation ([`StateFile`]); journal entries and entities are
//! found by a search. Nothing here is ever written into a repository.

mod context;
mod day_files;
mod directory;
mod entities;
mod error;
mod file_kind;
mod files;
mod firing;
mod identity;
mod inbox;
mod journal;
mod journal_lines;
pub mod layout;
mod limits;
mod lines;
mod paths;
mod read_budget;
mod reminder;
mod reminder_kind;
mod schedule;
mod search;
mod settings;
mod setup;
mod signals;
mod state;
mod timestamp;

pub use context::{PersonalContext, PersonalPaths, StateTexts};
pub use directory::Personal;
pub use error::PersonalError;
pub use firing::{Claim, Firing, FiringError, Firings, Maker, Makers};
pub use identity::{STATE_FILES, StateFile, StateText};
pub use journal::Logged;
pub use journal_lines::{EntryMetadata, JournalEntry};
pub use limits::MOST_TIMEOUT_SECONDS;
pub use lines::{ImportableLines, MOST_IMPORTED_LINES, importable_lines};
pub use read_budget::{BadLine, BadLines};
pub use reminder::{Action, CatchUp, NewReminder, Reminder, ReminderExtras, Reminders, ScheduleView};
pub use reminder_kind::ReminderKind;
pub use schedule::{Schedule, time, zone};
pub use search::{FoundItem, ItemType, SearchOptions};
pub use settings::{
    DaemonSettings, GitSettings, ImportableSettings, PersonalSettings, SearchChoice, importable_settings,
};
pub use setup::{QUESTIONS, Setup};
pub use signals::{Signal, SignalContext, SignalSummary};

#[cfg(test)]
mod tests;
