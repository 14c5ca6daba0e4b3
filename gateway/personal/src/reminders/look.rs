use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use muninn_base::Clock;
use muninn_config::{AgentConfig, PersonalConfig};
use muninn_notebooks::personal::{
    Action, CatchUp, Claim, FiringError, Firings, Maker, Makers, NewReminder, Personal, PersonalError, Reminder,
    ReminderKind, ScheduleView, SignalContext,
};
use muninn_text::redact;
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::due::{Due, FiringAction, ReminderSettings, Reminders, Waiting, action_of, longest_run, words};
use super::other_daemon::other_daemon;

/// The time after which nobody else is waited for: a session takes its reminders within it, else they go to the inbox.
const SESSION_GRACE: Duration = Duration::from_secs(60);

/// The age of a claim from which any process may write its line to the inbox.
const ABANDONED: SignedDuration = SignedDuration::from_mins(1);

/// The shortest time between two looks for lines that were not written.
const RECOVERY: Duration = Duration::from_secs(20);

/// A look at the reminders.
#[derive(Debug, Default)]
pub struct LookReport {
    /// What fired.
    pub fired: Vec<String>,
    /// When the next one is due.
    pub next: Option<Timestamp>,
    /// Reminders that cannot be read, and why nothing fires.
    pub problems: Vec<String>,
}

/// Why no reminder fires.
#[derive(Debug, thiserror::Error)]
pub enum Paused {
    #[error("macrodata's daemon (process {0}) fires the reminders")]
    OtherDaemon(i32),
    #[error("`daemon.enabled` in macrodata.json is false")]
    Disabled,
    #[error(transparent)]
    Settings(PersonalError),
}

/// Which reminders a process acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All; those for a session only if none took them.
    All,
    /// Those for a session.
    Session,
}

impl Reminders {
    /// Opens the database in the state directory.
    pub fn open(personal: &Arc<Personal>, state_dir: &Path, clock: Clock) -> Result<Reminders, FiringError> {
        Ok(Reminders {
            personal: Arc::clone(personal),
            firings: Mutex::new(Firings::open(state_dir)?),
            recovered: Mutex::default(),
            state_dir: state_dir.to_owned(),
            clock,
        })
    }

    /// Makes a reminder, or replaces the one with this id.
    ///
    /// # Errors
    /// [`FiringError`]; nothing is written then.
    pub fn remind(&self, new: NewReminder, maker: Maker) -> Result<ScheduleView, FiringError> {
        self.firings().remind(&self.personal, new, maker)
    }

    /// The reminders that wait for the user's yes.
    pub fn waiting(&self) -> Result<Vec<Reminder>, FiringError> {
        let mut reminders = self.personal.reminders()?.reminders;
        let makers = self.firings().makers(self.personal.root(), &reminders)?;
        reminders.retain(|reminder| !makers.contains_key(&reminder.id));
        Ok(reminders)
    }

    /// Notes the user's yes to a reminder in this form.
    pub fn accept(&self, reminder: &Reminder) -> Result<(), FiringError> {
        self.firings().note_maker(self.personal.root(), reminder, Maker::Person)
    }

    /// Removes a reminder.
    pub fn remove(&self, id: &str) -> Result<(), FiringError> {
        self.personal.remove_reminder(id)?;
        self.firings().forget_maker(self.personal.root(), id)
    }

    /// Acts on all reminders that are due, and waits for the agents that run for them.
    pub async fn run_due(self: &Arc<Self>, settings: &ReminderSettings, stopping: &CancellationToken) -> LookReport {
        let mut runs = JoinSet::new();
        let mut look = self.look(Part::All, settings, (&mut runs, stopping), &mut |_| false);
        while let Some(ended) = runs.join_next().await {
            ended.iter().for_each(|line| self.signal(line, settings));
            look.fired.extend(ended);
        }
        look
    }

    /// Logs that a reminder fired and what came of it, if the user wants such events logged.
    pub(crate) fn signal(&self, line: &str, settings: &ReminderSettings) {
        if !settings.config.signals {
            return;
        }
        let context = SignalContext { trigger: Some(line.to_owned()), ..SignalContext::default() };
        let days = settings.config.signals_days;
        if let Err(error) = self.personal.log_signal("reminder_fired", Some(context), None, days) {
            tracing::debug!("an event is not logged: {error}");
        }
    }

    /// Claims what is due and acts on it. Agents run in the background. `tell`: tells a session, if there is one.
    pub(crate) fn look(
        self: &Arc<Self>,
        part: Part,
        settings: &ReminderSettings,
        (runs, stopping): (&mut JoinSet<String>, &CancellationToken),
        tell: &mut dyn FnMut(&str) -> bool,
    ) -> LookReport {
        let mut look = LookReport::default();
        if !settings.config.enabled {
            return look;
        }
        let reminders = match self.personal.reminders() {
            Ok(reminders) => reminders,
            Err(error) => {
                look.problems.push(error.to_string());
                return look;
            }
        };
        if let Some(paused) = self.paused() {
            self.pass(&reminders.reminders, &paused);
            look.problems.push(paused.to_string());
            return look;
        }
        look.problems = reminders.problems;
        let makers = self.firings().makers(self.personal.root(), &reminders.reminders);
        let makers = match makers {
            Ok(makers) => makers,
            Err(error) => {
                look.problems.push(error.to_string());
                return look;
            }
        };
        if part == Part::All && self.may_recover() {
            match self.recover(&makers) {
                Ok(problems) => look.problems.extend(problems),
                Err(error) => look.problems.push(error.to_string()),
            }
        }
        for reminder in reminders.reminders {
            let Some(maker) = makers.get(&reminder.id) else {
                look.problems.push(Waiting(reminder.id).to_string());
                continue;
            };
            let is_for_session = reminder.action() == Action::Session;
            if part == Part::Session && !is_for_session {
                continue;
            }
            let grace = match part {
                Part::All if is_for_session => SESSION_GRACE,
                _ => Duration::ZERO,
            };
            match self.claim(&reminder, *maker, &settings.config, grace) {
                Ok(Some((due, FiringAction::Session))) if tell(&self.message(&due)) => {
                    let told = self.finish(&due.claim, Some(&due.reminder), "told a session");
                    look.fired.push(told);
                }
                Ok(Some((due, FiringAction::Session | FiringAction::Inbox))) => {
                    look.fired.push(self.add_to_inbox(&due));
                }
                Ok(Some((due, action))) => {
                    let this = Arc::clone(self);
                    let (settings, stopping) = (settings.clone(), stopping.clone());
                    runs.spawn(async move {
                        match action {
                            FiringAction::Agent(agent) => this.run_agent(&due, &agent, &settings, &stopping).await,
                            _ => this.notify(&due, &stopping).await,
                        }
                    });
                }
                Ok(None) => {}
                Err(error) => look.problems.push(format!("{}: {error}", reminder.id)),
            }
            let next = self.firings().next(self.personal.root(), &reminder);
            let next = next.and_then(|next| next.checked_add(grace).ok());
            look.next = [look.next, next].into_iter().flatten().min();
        }
        look.fired.iter().for_each(|line| self.signal(line, settings));
        look
    }

    /// Accounts for the times of macrodata's reminders that its daemon fires, so that they are not made up for when it ends. It
    /// does not fire those that Muninn wrote.
    fn pass(&self, reminders: &[Reminder], paused: &Paused) {
        if !matches!(paused, Paused::OtherDaemon(_)) {
            return;
        }
        for reminder in reminders.iter().filter(|reminder| reminder.muninn.is_none()) {
            let passed = self.firings().pass(self.personal.root(), reminder, self.clock.now());
            if let Err(error) = passed {
                tracing::warn!("reminder {}: {error}", reminder.id);
            }
        }
    }

    /// Why no reminder fires.
    pub(crate) fn paused(&self) -> Option<Paused> {
        if let Some(process) = other_daemon(self.personal.root()) {
            return Some(Paused::OtherDaemon(process));
        }
        match self.personal.settings() {
            Ok(settings) => (!settings.daemon.enabled).then_some(Paused::Disabled),
            Err(error) => Some(Paused::Settings(error)),
        }
    }

    /// Claims a reminder's due time, if there is one and its runs allow it.
    fn claim(
        &self,
        reminder: &Reminder,
        maker: Maker,
        config: &PersonalConfig,
        grace: Duration,
    ) -> Result<Option<(Due, FiringAction)>, FiringError> {
        let now = self.clock.now();
        let (action, note) = action_of(reminder, maker, config);
        if let FiringAction::Agent(agent) = &action
            && !self.may_run(reminder, agent, now)?
        {
            return Ok(None);
        }
        let Some(claim) = self.firings().claim(self.personal.root(), reminder, now, grace)? else {
            return Ok(None);
        };
        let extras = reminder.muninn.as_ref();
        let is_too_late = claim.is_late
            && reminder.kind == ReminderKind::Once
            && extras.is_some_and(|extras| extras.catch_up == CatchUp::Skip);
        let (action, note) =
            if is_too_late { (FiringAction::Inbox, Some("it was missed".to_owned())) } else { (action, note) };
        let due = Due { reminder: reminder.clone(), claim, note };
        Ok(Some((due, action)))
    }

    /// Whether no run of it is under way, and an hour has not seen too many. Otherwise its due time is claimed later.
    fn may_run(&self, reminder: &Reminder, agent: &AgentConfig, now: Timestamp) -> Result<bool, FiringError> {
        let extras = reminder.muninn.as_ref();
        let most = extras.and_then(|extras| extras.max_runs_per_hour);
        let (root, firings) = (self.personal.root(), self.firings());
        let since = |time: SignedDuration| now.checked_sub(time).unwrap_or(now);
        let (runs, _) = firings.claims_since(root, &reminder.id, since(SignedDuration::from_hours(1)))?;
        let longest = SignedDuration::try_from(longest_run(reminder, agent)).unwrap_or(SignedDuration::MAX);
        let (_, is_running) = firings.claims_since(root, &reminder.id, since(longest))?;
        Ok(!is_running && runs < most.unwrap_or(agent.max_runs_per_hour))
    }

    /// Whether lines that were not written may be looked for: a failed write can be a change that leads to the next look.
    fn may_recover(&self) -> bool {
        let mut recovered = self.recovered.lock();
        let may = recovered.is_none_or(|at| at.elapsed() >= RECOVERY);
        if may {
            *recovered = Some(Instant::now());
        }
        may
    }

    /// Writes the lines of claims whose process was killed, or could not write, before they were in the inbox. Returns the
    /// problems with those that still cannot be written.
    fn recover(&self, makers: &Makers) -> Result<Vec<String>, FiringError> {
        let mut problems = Vec::new();
        let before = self.clock.now().checked_sub(ABANDONED).unwrap_or(Timestamp::MIN);
        let open = self.firings().open_claims(self.personal.root())?;
        for firing in open.into_iter().filter(|firing| firing.claimed < before) {
            let reminder = self.personal.reminder(&firing.id).ok();
            let claim = Claim { id: firing.id, due: firing.due, is_late: true, missed: firing.missed };
            let text = match (firing.inbox, &reminder) {
                (Some(text), _) => text,
                // Its file may have been replaced since.
                (None, Some(reminder)) if reminder.action() == Action::Inbox && makers.contains_key(&reminder.id) => {
                    self.line(reminder, &claim)
                }
                // Nobody knows what a session or an agent did with it.
                _ => continue,
            };
            match self.personal.add_to_inbox(&claim.id, claim.due, &text) {
                Ok(()) => drop(self.finish(&claim, reminder.as_ref(), "in the inbox")),
                Err(error) => problems.push(format!("{}: {error}", claim.id)),
            }
        }
        Ok(problems)
    }

    /// Writes a line to the inbox. Returns what was done.
    pub(crate) fn add_to_inbox(&self, due: &Due) -> String {
        let note = due.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        let text = format!("{}{note}", self.line(&due.reminder, &due.claim));
        let noted = self.firings().note_inbox_line(self.personal.root(), &due.claim, &redact(&text));
        if let Err(error) = noted {
            tracing::error!("reminder {}: {error}", due.claim.id);
        }
        let claim = &due.claim;
        match self.personal.add_to_inbox(&claim.id, claim.due, &text) {
            Ok(()) => self.finish(claim, Some(&due.reminder), &format!("in the inbox{note}")),
            // The claim stays open, and a later look tries again.
            Err(error) => {
                tracing::error!("reminder {}: {error}", claim.id);
                format!("{}: {error}", claim.id)
            }
        }
    }

    /// Notes what became of a claim. A single time that is over goes with its file.
    pub(crate) fn finish(&self, claim: &Claim, reminder: Option<&Reminder>, result: &str) -> String {
        let finished = self.firings().finish(self.personal.root(), claim, result, self.clock.now());
        if let Err(error) = finished {
            tracing::error!("reminder {}: {error}", claim.id);
        }
        if let Some(reminder) = reminder.filter(|reminder| is_over(reminder, claim)) {
            match self.personal.remove_unchanged(reminder) {
                Ok(()) | Err(PersonalError::NoReminder(_)) => {}
                Err(error) => tracing::error!("reminder {}: {error}", claim.id),
            }
        }
        tracing::info!("reminder {}: {result}", claim.id);
        format!("{}: {result}", claim.id)
    }

    /// The words of a due reminder.
    pub(crate) fn line(&self, reminder: &Reminder, claim: &Claim) -> String {
        format!("{} {}", self.when(reminder, claim), words(reminder))
    }

    /// When it was due, in its own time zone.
    pub(crate) fn when(&self, reminder: &Reminder, claim: &Claim) -> String {
        let zone = reminder.schedule().map(|schedule| schedule.zone().clone());
        let local = claim.due.to_zoned(zone.unwrap_or(jiff::tz::TimeZone::UTC));
        let mut text = local.strftime("%Y-%m-%d %H:%M").to_string();
        if claim.is_late {
            let late = self.clock.now().duration_since(claim.due);
            let minutes = late.as_mins();
            text.push_str(&match minutes {
                ..120 => format!(", {minutes} minutes late"),
                120..2_880 => format!(", {} hours late", minutes / 60),
                _ => format!(", {} days late", minutes / 1_440),
            });
        }
        if claim.missed > 0 {
            text.push_str(&format!(", {} earlier times missed", claim.missed));
        }
        text
    }

    pub(crate) fn personal(&self) -> &Arc<Personal> {
        &self.personal
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn firings(&self) -> MutexGuard<'_, Firings> {
        self.firings.lock()
    }
}

/// Whether a reminder has no other time than the claimed one.
fn is_over(reminder: &Reminder, claim: &Claim) -> bool {
    let before = claim.due.checked_sub(SignedDuration::from_secs(1)).unwrap_or(claim.due);
    let time = reminder.schedule().ok().and_then(|schedule| schedule.after(before));
    reminder.kind == ReminderKind::Once && time == Some(claim.due)
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
