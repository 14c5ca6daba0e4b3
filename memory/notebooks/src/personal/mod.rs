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
mod files;
mod firing;
mod inbox;
mod journal;
pub mod layout;
mod lines;
mod reminder;
mod schedule;
mod search;
mod settings;
mod setup;
mod signals;
mod state;
#[cfg(test)]
mod tests;

pub use context::{PersonalContext, PersonalPaths, StateTexts};
pub use day_files::{BadLine, BadLines};
pub use directory::Personal;
pub use error::PersonalError;
pub use firing::{Claim, Firing, FiringError, Firings, Maker, Makers};
pub use journal::{EntryMetadata, JournalEntry, Logged};
pub use lines::{ImportableLines, MOST_IMPORTED_LINES, importable_lines};
pub use reminder::{
    Action, CatchUp, MOST_TIMEOUT_SECONDS, NewReminder, Reminder, ReminderExtras, ReminderKind, Reminders, ScheduleView,
};
pub use schedule::{Schedule, time, zone};
pub use search::{FoundItem, ItemType, SearchOptions};
pub use settings::{
    DaemonSettings, GitSettings, ImportableSettings, PersonalSettings, SearchChoice, importable_settings,
};
pub use setup::{QUESTIONS, Setup};
pub use signals::{Signal, SignalContext, SignalSummary};
pub use state::{STATE_FILES, StateFile, StateText};
