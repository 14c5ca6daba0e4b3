//! The tools of reminders, with the names, arguments and results of macrodata.

use std::path::PathBuf;

use muninn_context_engine::tools::{Effect, Output, Parameter, ToolError};
use muninn_notebooks::personal::{Action, Firings, Maker, NewReminder, ReminderExtras, ReminderKind, ScheduleView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolSession;
use super::personal::{error, personal};
use super::personal_error::PersonalUseError;
use super::tool::{NoArguments, SessionTool, json};

/// A reminder, without its time.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct What {
    /// a short name; a reminder with it is replaced
    id: String,
    /// what it is for
    description: String,
    /// the message when it is due
    payload: String,
    /// what happens: inbox (default), notify, session or agent
    action: Option<String>,
    /// an IANA time zone; the user's if absent
    zone: Option<String>,
    /// for the action agent: its name in the user's configuration
    agent: Option<String>,
    /// for the action agent: the absolute path where it runs
    directory: Option<PathBuf>,
}

impl What {
    fn schedule(&self, session: &ToolSession, kind: ReminderKind, expression: &str) -> Result<ScheduleView, ToolError> {
        let extras = ReminderExtras {
            zone: self.zone.clone(),
            action: self.action()?,
            agent: self.agent.clone(),
            directory: self.directory.clone(),
            from_tools: true,
            ..ReminderExtras::default()
        };
        let (name, settings) = (extras.agent_name(), session.app.settings());
        let agent = settings.config.personal.agents.get(name);
        if extras.action == Action::Agent && !agent.is_some_and(|agent| agent.allow_from_tools) {
            return Err(error(PersonalUseError::Agent(name.to_owned())));
        }
        let new = NewReminder {
            id: self.id.clone(),
            kind,
            expression: expression.to_owned(),
            description: self.description.clone(),
            payload: self.payload.clone(),
            extras,
        };
        let firings = Firings::open(&session.app.state_dir).map_err(error)?;
        firings.remind(&*personal(session)?, new, Maker::Tool).map_err(error)
    }

    fn action(&self) -> Result<Action, ToolError> {
        let Some(name) = &self.action else {
            return Ok(Action::default());
        };
        let action = serde_json::from_value(name.as_str().into());
        action.map_err(|_| error(PersonalUseError::Action(name.clone())))
    }
}

/// The parameters of a reminder with its time.
const fn parameters(time: Parameter) -> [Parameter; 8] {
    [
        Parameter::described("id", &["name"]),
        time,
        Parameter::described("description", &[]),
        Parameter::document("payload", &["message", "text"]),
        Parameter::described("action", &[]),
        Parameter::described("zone", &["timezone"]),
        Parameter::described("agent", &[]),
        Parameter::described("directory", &["cwd"]),
    ]
}

fn scheduled(view: &ScheduleView) -> Output {
    let next = view.next.first().map_or("never", String::as_str);
    Output::from_text(format!("scheduled `{}`: {}; next: {next}", view.id, view.when))
}

/// Makes a reminder that recurs.
pub(super) struct ScheduleReminder;

/// The arguments of [`ScheduleReminder`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReminderArguments {
    /// five fields, such as 0 9 * * 1-5, or @daily
    cron_expression: String,
    #[serde(flatten)]
    what: What,
}

impl SessionTool for ScheduleReminder {
    type Arguments = ReminderArguments;
    type Answer = ScheduleView;

    const NAME: &'static str = "schedule_reminder";
    const HINT: &'static str = "personal reminder recurring cron schedule";
    const DESCRIPTION: &'static str = "Make a reminder for the user that recurs. When it is due, its message goes to their inbox, \
        which each session reads.";
    const PARAMETERS: &'static [Parameter] =
        &parameters(Parameter::described("cronExpression", &["cron_expression", "expression", "cron"]));
    const EFFECT: Effect = Effect::Replaces;
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &ReminderArguments) -> Result<ScheduleView, ToolError> {
        arguments.what.schedule(session, ReminderKind::Cron, &arguments.cron_expression)
    }

    fn output(_: &ReminderArguments, view: &ScheduleView) -> Output {
        scheduled(view)
    }
}

/// Makes a reminder for one time.
pub(super) struct ScheduleOnce;

/// The arguments of [`ScheduleOnce`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct OnceArguments {
    /// when, such as 2026-01-31T10:00:00
    datetime: String,
    #[serde(flatten)]
    what: What,
}

impl SessionTool for ScheduleOnce {
    type Arguments = OnceArguments;
    type Answer = ScheduleView;

    const NAME: &'static str = "schedule_once";
    const HINT: &'static str = "personal reminder once at a time";
    const DESCRIPTION: &'static str = "Make a reminder for the user for one time.";
    const PARAMETERS: &'static [Parameter] =
        &parameters(Parameter::described("datetime", &["time", "at", "expression"]));
    const EFFECT: Effect = Effect::Replaces;
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &OnceArguments) -> Result<ScheduleView, ToolError> {
        arguments.what.schedule(session, ReminderKind::Once, &arguments.datetime)
    }

    fn output(_: &OnceArguments, view: &ScheduleView) -> Output {
        scheduled(view)
    }
}

/// Lists the reminders.
pub(super) struct ListReminders;

/// The reminders.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    reminders: Vec<ScheduleView>,
    /// Files that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

impl SessionTool for ListReminders {
    type Arguments = NoArguments;
    type Answer = Listed;

    const NAME: &'static str = "list_reminders";
    const HINT: &'static str = "personal reminders schedules";
    const DESCRIPTION: &'static str = "The user's reminders with their next times.";
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, _: &NoArguments) -> Result<Listed, ToolError> {
        let (reminders, problems) = personal(session)?.schedules().map_err(error)?;
        Ok(Listed { reminders, problems })
    }

    fn output(_: &NoArguments, listed: &Listed) -> Output {
        if listed.reminders.is_empty() && listed.problems.is_empty() {
            Output::from_text("there are no reminders")
        } else {
            json(listed)
        }
    }
}

/// Removes a reminder.
pub(super) struct RemoveReminder;

/// The arguments of [`RemoveReminder`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct RemoveArguments {
    /// its name
    id: String,
}

/// A removed reminder.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Removed {
    id: String,
    removed: bool,
}

impl SessionTool for RemoveReminder {
    type Arguments = RemoveArguments;
    type Answer = Removed;

    const NAME: &'static str = "remove_reminder";
    const HINT: &'static str = "personal reminder delete cancel";
    const DESCRIPTION: &'static str = "Remove a reminder of the user.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("id", &["name"])];
    const EFFECT: Effect = Effect::Replaces;
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &RemoveArguments) -> Result<Removed, ToolError> {
        let personal = personal(session)?;
        personal.remove_reminder(&arguments.id).map_err(error)?;
        let firings = Firings::open(&session.app.state_dir).map_err(error)?;
        firings.forget_maker(personal.root(), &arguments.id).map_err(error)?;
        Ok(Removed { id: arguments.id.clone(), removed: true })
    }

    fn output(_: &RemoveArguments, removed: &Removed) -> Output {
        Output::from_text(format!("removed `{}`", removed.id))
    }
}
