//! Reminders: one JSON file each, in the format of the program that this one continues.
//!
//! That program runs an agent for a reminder with the key `agent`. Ours never have it: what Muninn does is under the key
//! `muninn`, which it ignores. All keys of a file stay when it is written again.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use jiff::Timestamp;
use muninn_text::redact::redact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::directory::Personal;
use super::error::PersonalError;
use super::files::{self, check_folder};
use super::limits::MOST_TIMEOUT_SECONDS;
use super::paths::REMINDERS;
use super::reminder_kind::ReminderKind;
use super::schedule::{Schedule, absolute, step_beyond_range, zone};
use super::timestamp::timestamp;

/// The most bytes of a payload or a description.
const MOST_TEXT: usize = 20_000;
/// The most characters of an id.
const MOST_ID: usize = 100;
/// The most bytes of a file.
pub(super) const MOST_FILE: u64 = 1 << 20;
/// The agent of a reminder that names none.
const DEFAULT_AGENT: &str = "claude";
/// The times that a view shows.
const NEXT: usize = 3;

/// A reminder, as it is in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reminder {
    /// The name, also that of the file.
    pub id: String,
    /// Whether it recurs.
    #[serde(rename = "type")]
    pub kind: ReminderKind,
    /// A cron expression, or a time.
    pub expression: String,
    /// What it is for.
    pub description: String,
    /// The message.
    pub payload: String,
    /// The agent of the other program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it was made, RFC 3339.
    #[serde(rename = "createdAt", default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// What Muninn does with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muninn: Option<ReminderExtras>,
    /// Other keys.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// What Muninn does with a reminder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReminderExtras {
    /// The time zone, an IANA name; that of the system without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// What happens when it is due.
    pub action: Action,
    /// The agent that runs, for [`Action::Agent`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The directory that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// What happens with times that were missed.
    pub catch_up: CatchUp,
    /// The most runs in an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs_per_hour: Option<u32>,
    /// The seconds after which a run is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Whether a tool made it, which an agent called: a note for readers of the file, which may come from elsewhere. Who
    /// made it is known from [`super::Makers`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_tools: bool,
    /// Other keys.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl ReminderExtras {
    /// The name of the agent, for [`Action::Agent`].
    pub fn agent_name(&self) -> &str {
        self.agent.as_deref().unwrap_or(DEFAULT_AGENT)
    }
}

/// What happens when a reminder is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A line in `state/inbox.md`.
    #[default]
    Inbox,
    /// A notification on the desktop.
    Notify,
    /// A line for the open session.
    Session,
    /// A run of an agent.
    Agent,
}

/// What happens with times that were missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CatchUp {
    /// The newest one fires once, marked as late.
    #[default]
    Once,
    /// They do not fire.
    Skip,
}

/// A reminder that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReminder {
    /// The name.
    pub id: String,
    /// Whether it recurs.
    pub kind: ReminderKind,
    /// A cron expression, or a time.
    pub expression: String,
    /// What it is for.
    pub description: String,
    /// The message.
    pub payload: String,
    /// What Muninn does with it.
    pub extras: ReminderExtras,
}

/// The reminders of a directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reminders {
    /// Those that can be read, by their ids.
    pub reminders: Vec<Reminder>,
    /// What is wrong with the other files, which stay as they are.
    pub problems: Vec<String>,
}

/// A reminder as tools and commands show it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// The name.
    pub id: String,
    /// Whether it recurs.
    #[serde(rename = "type")]
    pub kind: ReminderKind,
    /// The cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron_expression: Option<String>,
    /// The single time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datetime: Option<String>,
    /// What it is for.
    pub description: String,
    /// The message.
    pub payload: String,
    /// What happens.
    pub action: Action,
    /// The words of the expression.
    pub when: String,
    /// The next times, in its zone.
    pub next: Vec<String>,
    /// Why it is never due, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Reminder {
    /// The reminder of a file from elsewhere, marked as made by a tool; `None` if it is none. `path`: its place below the
    /// directory.
    pub fn from_elsewhere(path: &str, bytes: &[u8]) -> Option<Reminder> {
        let mut reminder: Reminder = serde_json::from_slice(bytes).ok()?;
        if let Some(extras) = &mut reminder.muninn {
            extras.from_tools = true;
        }
        let is_in_place = path == format!("{REMINDERS}/{}.json", reminder.id);
        let is_short = [&reminder.description, &reminder.payload].iter().all(|text| text.len() <= MOST_TEXT);
        (is_in_place && is_short).then_some(reminder)
    }

    /// When it is due.
    ///
    /// # Errors
    /// [`PersonalError`] if its expression or its zone is not understood.
    pub fn schedule(&self) -> Result<Schedule, PersonalError> {
        let name = self.muninn.as_ref().and_then(|extras| extras.zone.as_deref());
        Schedule::parse(self.kind, &self.expression, zone(name)?)
    }

    /// The reminder with its next times after an instant.
    pub fn view(&self, now: Timestamp) -> ScheduleView {
        let schedule = self.schedule();
        let next = |schedule: &Schedule| {
            let times = std::iter::successors(schedule.after(now), |time| schedule.after(*time));
            let local = |time: Timestamp| time.to_zoned(schedule.zone().clone());
            times.take(NEXT).map(|time| local(time).strftime("%Y-%m-%d %H:%M %Z").to_string()).collect()
        };
        let (when, next, problem) = match &schedule {
            Ok(schedule) => (schedule.describe(), next(schedule), None),
            Err(error) => (String::new(), Vec::new(), Some(error.to_string())),
        };
        let expression = |kind| (self.kind == kind).then(|| self.expression.clone());
        ScheduleView {
            id: self.id.clone(),
            kind: self.kind,
            cron_expression: expression(ReminderKind::Cron),
            datetime: expression(ReminderKind::Once),
            description: redact(&self.description).into_owned(),
            payload: redact(&self.payload).into_owned(),
            action: self.action(),
            when,
            next,
            problem,
        }
    }

    /// A text that tells whether anything in the file has changed, but for its spaces and the order of its keys.
    pub fn form(&self) -> String {
        let value = serde_json::to_value(self).expect("all keys are strings");
        blake3::hash(value.to_string().as_bytes()).to_hex().to_string()
    }

    /// What happens when it is due. One of the other program runs its agent.
    pub fn action(&self) -> Action {
        match (&self.muninn, &self.agent) {
            (Some(extras), _) => extras.action,
            (None, Some(_)) => Action::Agent,
            (None, None) => Action::Inbox,
        }
    }

    /// The name of the agent, for [`Action::Agent`]. One of the other program has its own key for it.
    pub fn agent_name(&self) -> &str {
        let own = self.muninn.as_ref().and_then(|extras| extras.agent.as_deref());
        own.or(self.agent.as_deref()).unwrap_or(DEFAULT_AGENT)
    }
}

impl Personal {
    /// The reminders.
    ///
    /// # Errors
    /// [`PersonalError`] if the folder cannot be read.
    pub fn reminders(&self) -> Result<Reminders, PersonalError> {
        let folder = self.path(REMINDERS);
        let entries = match check_folder(&folder).and_then(|()| fs::read_dir(&folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Reminders::default()),
            entries => entries.map_err(PersonalError::io(&folder))?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
        ids.sort();
        let mut found = Reminders::default();
        for id in ids {
            match self.reminder(&id) {
                Ok(reminder) => found.reminders.push(reminder),
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        Ok(found)
    }

    /// The reminders with their next times, and what is wrong with files.
    ///
    /// # Errors
    /// [`PersonalError`] if the folder cannot be read.
    pub fn schedules(&self) -> Result<(Vec<ScheduleView>, Vec<String>), PersonalError> {
        let found = self.reminders()?;
        let views = found.reminders.iter().map(|reminder| reminder.view(self.clock.now()));
        Ok((views.collect(), found.problems))
    }

    /// The reminder with an id.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn reminder(&self, id: &str) -> Result<Reminder, PersonalError> {
        let path = self.reminder_path(id)?;
        let bytes = match files::read(self.root(), &format!("{REMINDERS}/{id}.json"), MOST_FILE) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(PersonalError::NoReminder(id.to_owned())),
            bytes => bytes.map_err(PersonalError::io(&path))?,
        };
        let damaged = |message: String| PersonalError::Damaged { path: path.clone(), message };
        let reminder: Reminder = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if reminder.id == id { Ok(reminder) } else { Err(damaged(format!("its id is `{}`", reminder.id))) }
    }

    /// A new reminder, which is not written yet. One that is never due is refused.
    pub(super) fn planned(&self, new: NewReminder) -> Result<Reminder, PersonalError> {
        self.reminder_path(&new.id)?;
        for (name, text) in [("description", &new.description), ("payload", &new.payload)] {
            if text.trim().is_empty() {
                return Err(PersonalError::Empty(name));
            }
            if text.len() > MOST_TEXT {
                let (bytes, most) = (text.len(), MOST_TEXT);
                return Err(PersonalError::TooLong { name, bytes, most });
            }
        }
        if let Some(seconds) = new.extras.timeout_seconds.filter(|seconds| *seconds > MOST_TIMEOUT_SECONDS) {
            return Err(PersonalError::Timeout(seconds));
        }
        if let Some(directory) = new.extras.directory.as_ref().filter(|directory| !directory.is_absolute()) {
            return Err(PersonalError::RelativeDirectory(directory.clone()));
        }
        let now = self.clock.now();
        let expression = match new.kind {
            ReminderKind::Once => absolute(new.expression.trim(), now)?,
            ReminderKind::Cron => new.expression.trim().to_owned(),
        };
        if new.kind == ReminderKind::Cron
            && let Some(message) = step_beyond_range(&expression)
        {
            return Err(PersonalError::Schedule { expression, message });
        }
        let reminder = Reminder {
            id: new.id,
            kind: new.kind,
            expression,
            description: redact(new.description.trim()).into_owned(),
            payload: redact(new.payload.trim()).into_owned(),
            agent: None,
            model: None,
            created_at: Some(timestamp(now)),
            muninn: Some(new.extras),
            others: Map::new(),
        };
        if reminder.schedule()?.after(now).is_none() {
            return Err(PersonalError::Schedule {
                expression: reminder.expression,
                message: match reminder.kind {
                    ReminderKind::Cron => "there is no such date".to_owned(),
                    ReminderKind::Once => "it is in the past".to_owned(),
                },
            });
        }
        Ok(reminder)
    }

    /// Writes the file of a reminder, or replaces the one with its id.
    pub(super) fn write_reminder(&self, reminder: &Reminder) -> Result<(), PersonalError> {
        let path = self.reminder_path(&reminder.id)?;
        let _lock = self.lock()?;
        self.make(REMINDERS)?;
        let text = serde_json::to_string_pretty(reminder).expect("all keys are strings");
        // Written beside and renamed: a watcher never sees a part of it.
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(".").tempfile_in(path.parent().unwrap_or(self.root()))?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_data()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(PersonalError::io(&path))
    }

    /// Removes a reminder.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn remove_reminder(&self, id: &str) -> Result<(), PersonalError> {
        let _lock = self.lock()?;
        self.remove_locked(id)
    }

    /// Removes a reminder that is over, unless it has another time by now.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn remove_unchanged(&self, reminder: &Reminder) -> Result<(), PersonalError> {
        let _lock = self.lock()?;
        if self.reminder(&reminder.id)?.expression == reminder.expression {
            self.remove_locked(&reminder.id)
        } else {
            Ok(())
        }
    }

    fn remove_locked(&self, id: &str) -> Result<(), PersonalError> {
        let path = self.reminder_path(id)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(PersonalError::NoReminder(id.to_owned())),
            removed => removed.map_err(PersonalError::io(&path)),
        }
    }

    /// The file of a reminder.
    fn reminder_path(&self, id: &str) -> Result<PathBuf, PersonalError> {
        if is_id(id) {
            Ok(self.path(REMINDERS).join(format!("{id}.json")))
        } else {
            Err(PersonalError::Id(id.chars().take(MOST_ID).collect()))
        }
    }
}

/// Whether a text can be the name of a reminder and of its file.
pub(super) fn is_id(id: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.chars().count() <= MOST_ID && !id.starts_with('.') && id.chars().all(is_allowed)
}
