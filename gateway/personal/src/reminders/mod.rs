//! What happens when a reminder is due: a line in the inbox, a notification, a line for an open session, or a run of an agent.
//!
//! Due times are claimed in the database of `Firings` before anything is done, so any number of processes may look for them.

mod agent;
mod agent_error;
mod due;
mod look;
mod other_daemon;
mod report;

pub use agent::{has_reminder, is_prompt};
pub(super) use due::{Due, ENDING, FiringAction, Waiting, action_of, longest_run, timeout, words};
pub use due::{ReminderSettings, Reminders};
pub use look::LookReport;
pub(super) use look::Part;
pub use other_daemon::other_daemon;
pub use report::{LastFiring, ReminderReport, ReminderStatus};
