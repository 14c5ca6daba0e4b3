//! `muninn remind`: reminders, and what is due.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use muninn_base::with_causes;
use muninn_config::{env_vars, paths, presence};
use muninn_notebooks::personal::{
    self, CatchUp, FiringError, Maker, NewReminder, Personal, ReminderExtras, ReminderKind, ScheduleView,
};
use muninn_personal::follow;
use muninn_personal::reminders::{ReminderReport, ReminderSettings, ReminderStatus, Reminders, other_daemon};
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{CliError, Common, Exit, examples, is_confirmed, log, output};

/// The pause between two looks for a directory that does not exist.
pub const PAUSE: Duration = Duration::from_secs(30);

/// Have Muninn remind you, or run an agent, at a time
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn remind once dentist 2027-03-01T09:00 \"Dentist at ten\"", "A line in your inbox at that time"),
    ("muninn remind once tea +4m \"The tea is ready\" --action notify", "A notification in four minutes"),
    ("muninn remind add review \"0 9 * * 1-5\" \"Read yesterday's pull requests\"", "Every weekday at nine"),
    ("muninn remind list", "All, with their next times"),
]))]
pub(crate) struct RemindCommand {
    #[command(subcommand)]
    action: Option<Verb>,
    /// Print reminders with the action `session` when they are due, a line each, until nobody reads: for an open session
    #[arg(long)]
    follow: bool,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Verb {
    /// Make a reminder that recurs
    #[command(after_help = examples(&[
        ("muninn remind add standup \"0 10 * * 1-5\" \"Stand-up\" --zone Europe/Berlin", "In a time zone"),
        ("muninn remind add tidy \"@weekly\" \"Tidy up\" \"Summarise this week's journal\" --action agent", "Claude Code is asked"),
    ]))]
    Add {
        /// A short name; a reminder with it is replaced
        id: String,
        /// Five fields: minute, hour, day, month, weekday; or a nickname such as @daily
        #[arg(value_name = "SCHEDULE")]
        expression: String,
        #[command(flatten)]
        what: What,
    },
    /// Make a reminder for one time
    #[command(after_help = examples(&[
        ("muninn remind once call 2027-01-31T10:00 \"Call Ann\"", "At a time"),
        ("muninn remind once call +90m \"Call Ann\"", "In an hour and a half"),
    ]))]
    Once {
        /// A short name; a reminder with it is replaced
        id: String,
        /// A date, a time, or + and a duration
        #[arg(value_name = "TIME")]
        time: String,
        #[command(flatten)]
        what: What,
    },
    /// List the reminders with their next times
    #[command(after_help = examples(&[("muninn remind list --json", "As the tool list_reminders returns them")]))]
    List,
    /// Remove a reminder
    #[command(after_help = examples(&[("muninn remind rm tea", "By its name")]))]
    Rm {
        /// Its name
        id: String,
    },
    /// Say yes to reminders that came from elsewhere, or whose files were changed
    #[command(after_help = examples(&[
        ("muninn remind accept", "Shows each that waits, and asks"),
        ("muninn remind accept tea --yes", "Without a question"),
    ]))]
    Accept {
        /// Their names [default: all that wait]
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// Accept them without asking
        #[arg(long)]
        yes: bool,
    },
    /// Do what is due now, and end; for cron and the like where no daemon runs
    #[command(after_help = examples(&[("muninn remind run-due", "What is due fires once, whoever else looks")]))]
    RunDue,
}

#[derive(Args)]
struct What {
    /// What it is for
    description: String,
    /// The message when it is due [default: the description]
    payload: Option<String>,
    /// What happens
    #[arg(long, value_enum, default_value_t = Action::Inbox)]
    action: Action,
    /// An IANA time zone [default: the system's]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// The agent that runs: a name in your configuration [default: claude]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Where the agent runs [default: the directory of the personal memory]
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Leave out times that passed while nothing looked, instead of making up for the last one
    #[arg(long)]
    skip_missed: bool,
    /// The most runs of the agent in an hour
    #[arg(long, value_name = "COUNT")]
    max_runs_per_hour: Option<u32>,
    /// The seconds after which a run of the agent is ended
    #[arg(long, value_name = "SECONDS")]
    timeout_seconds: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Action {
    /// A line in state/inbox.md, which each session reads
    Inbox,
    /// A notification on the desktop
    Notify,
    /// A line for an open session of Claude Code
    Session,
    /// A run of an agent
    Agent,
}

impl From<Action> for personal::Action {
    fn from(action: Action) -> personal::Action {
        match action {
            Action::Inbox => personal::Action::Inbox,
            Action::Notify => personal::Action::Notify,
            Action::Session => personal::Action::Session,
            Action::Agent => personal::Action::Agent,
        }
    }
}

/// What `list` prints.
#[derive(Serialize)]
struct Listed {
    reminders: Vec<ScheduleView>,
    problems: Vec<String>,
    /// The names of those that wait for a yes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<String>,
}

impl RemindCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let config = common.configuration(None)?;
        if self.follow && !config.personal.enabled {
            // The monitor of a plugin starts in each session.
            return Ok(ExitCode::SUCCESS);
        }
        let personal = Arc::new(super::personal::opened(&config)?);
        let state_dir = paths::state_dir()?;
        let settings = ReminderSettings::of(&config, config.listen.port(), &state_dir);
        let opened = || Reminders::open(&personal, &state_dir, Common::clock()).map(Arc::new);
        let json = self.json;
        match self.action {
            None if self.follow => {
                let unread = CancellationToken::new();
                cancel_when_unread(unread.clone());
                // The monitor of a plugin runs for users without personal memory, too.
                while !personal.root().is_dir() && !unread.is_cancelled() {
                    std::thread::sleep(PAUSE);
                }
                follow(&opened()?, &settings, &mut std::io::stdout(), &unread)?;
            }
            Some(_) if self.follow => return Err(CliError::new(Exit::Usage, "--follow stands alone")),
            None | Some(Verb::List) => {
                let (reminders, problems) = personal.schedules()?;
                let waiting = opened()?.waiting()?.into_iter().map(|reminder| reminder.id).collect();
                let listed = Listed { reminders, problems, waiting };
                output::value(json, &listed, list);
                warn_if_nothing_fires(&personal, common);
            }
            Some(Verb::Add { id, expression, what }) => {
                let new = what.reminder(id, ReminderKind::Cron, expression, &settings)?;
                let view = opened()?.remind(new, Maker::Person)?;
                output::value(json, &view, reminder);
                warn_if_nothing_fires(&personal, common);
            }
            Some(Verb::Once { id, time, what }) => {
                let new = what.reminder(id, ReminderKind::Once, time, &settings)?;
                let view = opened()?.remind(new, Maker::Person)?;
                output::value(json, &view, reminder);
                warn_if_nothing_fires(&personal, common);
            }
            Some(Verb::Rm { id }) => {
                opened()?.remove(&id)?;
                output::value(json, &json!({"id": id, "removed": true}), |_| format!("removed {id}\n"));
            }
            Some(Verb::Accept { ids, yes }) => {
                let reminders = opened()?;
                let accepted = accept(&reminders, &ids, yes)?;
                output::value(json, &accepted, |accepted| {
                    accepted.iter().map(|id| format!("accepted {id}\n")).collect()
                });
            }
            Some(Verb::RunDue) => {
                let (reminders, stopping) = (opened()?, CancellationToken::new());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let look = runtime.block_on(async {
                    // An agent is in a process group of its own, which the terminal does not interrupt.
                    tokio::spawn(cancel_on_signal(stopping.clone()));
                    reminders.run_due(&settings, &stopping).await
                });
                look.problems.iter().for_each(|problem| output::note(&format!("warning: {problem}")));
                output::value(json, &look.fired, |fired| fired.iter().map(|line| format!("{line}\n")).collect());
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Cancels the token when nobody reads the standard output any more. A monitor that outlives its session would take the
/// reminders of the next one.
fn cancel_when_unread(unread: CancellationToken) {
    #[cfg(unix)]
    std::thread::spawn(move || {
        use rustix::event::{PollFd, PollFlags, poll};

        let stdout = std::io::stdout();
        // Without events, only the end is reported.
        let mut streams = [PollFd::new(&stdout, PollFlags::empty())];
        rustix::io::retry_on_intr(|| poll(&mut streams, None)).ok();
        if streams[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            unread.cancel();
        }
    });
    #[cfg(not(unix))]
    drop(unread);
}

/// Cancels the token when the process is to end.
async fn cancel_on_signal(stopping: CancellationToken) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            stopping.cancel();
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_ok() {
        stopping.cancel();
    }
}

impl What {
    fn reminder(
        self,
        id: String,
        kind: ReminderKind,
        expression: String,
        settings: &ReminderSettings,
    ) -> Result<NewReminder, CliError> {
        let extras = ReminderExtras {
            zone: self.zone,
            action: self.action.into(),
            agent: self.agent,
            directory: self.directory.map(std::path::absolute).transpose()?,
            catch_up: if self.skip_missed { CatchUp::Skip } else { CatchUp::Once },
            max_runs_per_hour: self.max_runs_per_hour,
            timeout_seconds: self.timeout_seconds,
            ..ReminderExtras::default()
        };
        let name = extras.agent_name();
        if extras.action == personal::Action::Agent && !settings.config.agents.contains_key(name) {
            output::note(&format!(
                "warning: agent `{name}` is not enabled, so this goes to the inbox: set `enabled = true` under [personal.agents.{name}]"
            ));
        }
        Ok(NewReminder {
            id,
            kind,
            expression,
            payload: self.payload.unwrap_or_else(|| self.description.clone()),
            description: self.description,
            extras,
        })
    }
}

/// Tells the user if nothing will fire the reminders.
fn warn_if_nothing_fires(personal: &Personal, common: &Common) {
    if let Some(process) = other_daemon(personal.root()) {
        output::note(&format!(
            "note: macrodata's daemon (process {process}) fires the reminders, each as a run of its agent or not at all"
        ));
        return;
    }
    // A gateway fires them, whatever its configuration file.
    if paths::state_dir().is_ok_and(|state| presence::is_any_gateway(&state)) {
        return;
    }
    #[cfg(unix)]
    if !super::daemon::is_running(common) {
        output::note("note: nothing fires them now: `muninn daemon start`, or `muninn daemon install` for every login");
    }
    #[cfg(not(unix))]
    let _ = common;
}

/// The reminders of the user of this command, if there are any.
pub(super) fn report(common: &Common) -> Result<ReminderReport, CliError> {
    let config = common.configuration(None)?;
    let Ok(personal) = super::personal::opened(&config) else {
        return Ok(ReminderReport::default());
    };
    let state_dir = paths::state_dir()?;
    let reminders = Reminders::open(&Arc::new(personal), &state_dir, Common::clock())?;
    Ok(reminders.report(&config.personal)?)
}

/// The reminders as text.
pub(super) fn report_text(report: &ReminderReport) -> String {
    let line = |status: &ReminderStatus| {
        let about = output::sanitize_field(&status.description);
        let mut text = format!("reminder    {}  {about}\n", status.id);
        if let Some(last) = &status.last {
            let seconds = last.seconds.map(|seconds| format!(" ({seconds} s)")).unwrap_or_default();
            let due = output::local_time(&last.due);
            text.push_str(&format!("  last      {due}  {}{seconds}\n", last.result));
        }
        if let Some(next) = status.next.as_ref().or(status.problem.as_ref()) {
            text.push_str(&format!("  next      {next}\n"));
        }
        text
    };
    let mut text: String = report.reminders.iter().map(line).collect();
    for problem in &report.problems {
        text.push_str(&format!("reminder    cannot be read: {problem}\n"));
    }
    if let Some(paused) = report.paused.as_ref().filter(|_| !text.is_empty()) {
        text.push_str(&format!("reminders   none fires: {paused}\n"));
    }
    text
}

fn reminder(view: &ScheduleView) -> String {
    let next = if view.next.is_empty() {
        view.problem.clone().unwrap_or_else(|| "no next time".to_owned())
    } else {
        view.next.join(", ")
    };
    let action = serde_json::to_value(view.action).ok();
    let action = action.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let expression = view.cron_expression.as_ref().map(|words| format!(" ({words})"));
    let lines = [
        format!("{}  {}", view.id, view.description),
        format!("  {}{}, {action}", view.when, expression.unwrap_or_default()),
        format!("  next: {next}"),
    ];
    // Each is one line, so that no text can pass for another reminder or for a yes.
    lines.map(|line| format!("{}\n", output::sanitize_field(&line))).concat()
}

/// Has the user say yes to reminders that wait. Returns the names of those that were accepted.
fn accept(reminders: &Reminders, ids: &[String], yes: bool) -> Result<Vec<String>, CliError> {
    if std::env::var_os(env_vars::REMINDER).is_some() {
        return Err(CliError::new(Exit::Failure, "an agent that a reminder runs cannot accept reminders"));
    }
    let mut waiting = reminders.waiting()?;
    if let Some(id) = ids.iter().find(|id| waiting.iter().all(|reminder| reminder.id != **id)) {
        return Err(CliError::new(Exit::NotFound, format!("no reminder `{id}` waits for a yes"))
            .hint("`muninn remind list` shows those that do"));
    }
    waiting.retain(|reminder| ids.is_empty() || ids.contains(&reminder.id));
    if !yes && !waiting.is_empty() && !std::io::stdin().is_terminal() {
        return Err(CliError::new(Exit::Usage, "a person has to say yes, and there is no terminal")
            .hint("look at the files in `reminders/`, and give --yes"));
    }
    let mut accepted = Vec::new();
    for reminder in waiting {
        if !yes {
            let whole = serde_json::to_string_pretty(&reminder).unwrap_or_default();
            output::note(&output::sanitize(&whole));
            if !is_confirmed("Have it fire as it is?")? {
                continue;
            }
        }
        reminders.accept(&reminder)?;
        accepted.push(reminder.id);
    }
    Ok(accepted)
}

fn list(listed: &Listed) -> String {
    if listed.reminders.is_empty() && listed.problems.is_empty() {
        return "there are no reminders\n".to_owned();
    }
    let reminder = |view: &ScheduleView| {
        let waits = "  came from elsewhere or was changed, and waits for your yes: `muninn remind accept";
        if listed.waiting.contains(&view.id) {
            format!("{}{waits} {}`\n", reminder(view), view.id)
        } else {
            reminder(view)
        }
    };
    let problems =
        listed.problems.iter().map(|problem| format!("cannot be read: {}\n", output::sanitize_field(problem)));
    listed.reminders.iter().map(reminder).chain(problems).collect()
}

impl From<FiringError> for CliError {
    fn from(error: FiringError) -> Self {
        CliError::new(Exit::Failure, with_causes(&error))
    }
}
