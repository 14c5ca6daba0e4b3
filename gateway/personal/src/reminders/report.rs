//! The reminders as `muninn daemon status` shows them: with what became of each last.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use muninn_config::PersonalConfig;
use muninn_notebooks::personal::{Firing, FiringError};
use serde::Serialize;

use super::{ENDING, FiringAction, Reminders, Waiting, action_of, longest_run};

/// The firings that are shown of reminders that are over.
const MOST_OVER: usize = 10;

/// A reminder with what became of it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReminderStatus {
    /// The name.
    pub id: String,
    /// What it is for; empty if it is over.
    pub description: String,
    /// Its newest firing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastFiring>,
    /// Its next time, in its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Why it is never due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The reminders as they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReminderReport {
    /// Those that can be read, and the newest that are over.
    pub reminders: Vec<ReminderStatus>,
    /// The files that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Why none fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}

/// A firing that is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastFiring {
    /// When it was due.
    pub due: String,
    /// What became of it.
    pub result: String,
    /// How long that took; `None` while it is under way, or if it never ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
}

impl LastFiring {
    /// `longest`: the time after which a firing without a result has been killed.
    fn of(firing: &Firing, longest: Duration, now: Timestamp) -> LastFiring {
        let longest = SignedDuration::try_from(longest).unwrap_or(SignedDuration::MAX);
        let open = if now.duration_since(firing.claimed) > longest { "started, result unknown" } else { "running" };
        LastFiring {
            due: firing.due.to_string(),
            result: firing.result.clone().unwrap_or_else(|| open.to_owned()),
            seconds: firing.finished.map(|end| end.duration_since(firing.claimed).as_secs()),
        }
    }
}

impl Reminders {
    /// The reminders with what became of them last. Those that are over, the newest ten, come at the end.
    pub fn report(&self, config: &PersonalConfig) -> Result<ReminderReport, FiringError> {
        let now = self.clock.now();
        let found = self.personal.reminders()?;
        let makers = self.firings().makers(self.personal.root(), &found.reminders)?;
        let mut firings = self.firings().list(self.personal.root())?;
        let mut statuses: Vec<_> = found
            .reminders
            .iter()
            .map(|reminder| {
                let last = firings.iter().find(|firing| firing.id == reminder.id);
                let maker = makers.get(&reminder.id);
                let longest = match maker.map(|maker| action_of(reminder, *maker, config)) {
                    Some((FiringAction::Agent(agent), _)) => longest_run(reminder, &agent),
                    _ => ENDING,
                };
                let mut view = reminder.view(now);
                if maker.is_none() {
                    view.next.clear();
                    view.problem = Some(Waiting(reminder.id.clone()).to_string());
                }
                ReminderStatus {
                    id: reminder.id.clone(),
                    description: view.description,
                    last: last.map(|firing| LastFiring::of(firing, longest, now)),
                    next: match (view.next.into_iter().next(), last) {
                        (None, None) if view.problem.is_none() => {
                            Some("now: nothing has looked since it was due".to_owned())
                        }
                        (next, _) => next,
                    },
                    problem: view.problem,
                }
            })
            .collect();
        firings.retain(|firing| found.reminders.iter().all(|reminder| reminder.id != firing.id));
        statuses.extend(firings.iter().take(MOST_OVER).map(|firing| ReminderStatus {
            id: firing.id.clone(),
            description: String::new(),
            last: Some(LastFiring::of(firing, ENDING, now)),
            next: None,
            problem: None,
        }));
        Ok(ReminderReport {
            reminders: statuses,
            problems: found.problems,
            paused: self.paused().map(|paused| paused.to_string()),
        })
    }
}
