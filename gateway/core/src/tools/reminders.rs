//! The tools of reminders, with the names, arguments and results of macrodata.

use std::path::PathBuf;

use muninn_context_engine::tools::Effect::{Reads, Replaces};
use muninn_context_engine::tools::ToolError;
use muninn_notebooks::personal::{Action, Firings, Maker, NewReminder, ReminderExtras, ReminderKind, ScheduleView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolSet::Personal;
use super::personal::personal;
use super::tool::{NoArguments, ToolRow, failed, tool};
use super::{ClientTool, ToolSession};

/// A reminder, without its time.
#[derive(Deserialize, JsonSchema)]
struct What {
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
    fn schedule(
        self,
        session: &ToolSession,
        kind: ReminderKind,
        expression: String,
    ) -> Result<ScheduleView, ToolError> {
        let action = match self.action {
            None => Action::default(),
            Some(name) => serde_json::from_value(name.as_str().into())
                .map_err(|_| failed(format!("`{name}` is no action: write inbox, notify, session or agent")))?,
        };
        let extras = ReminderExtras {
            zone: self.zone,
            action,
            agent: self.agent,
            directory: self.directory,
            from_tools: true,
            ..ReminderExtras::default()
        };
        let (name, settings) = (extras.agent_name(), session.app.settings());
        let agent = settings.config.personal.agents.get(name);
        if extras.action == Action::Agent && !agent.is_some_and(|agent| agent.allow_from_tools) {
            return Err(failed(format!(
                "reminders that tools make cannot run agent `{name}`: set `allow_from_tools = true` in \
                 [personal.agents.{name}]"
            )));
        }
        let (id, description, payload) = (self.id, self.description, self.payload);
        let new = NewReminder { id, kind, expression, description, payload, extras };
        let firings = Firings::open(&session.app.state_dir).map_err(failed)?;
        firings.remind(&*personal(session)?, new, Maker::Tool).map_err(failed)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReminderArguments {
    /// five fields, such as 0 9 * * 1-5, or @daily
    cron_expression: String,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize, JsonSchema)]
struct OnceArguments {
    /// when, such as 2026-01-31T10:00:00
    datetime: String,
    #[serde(flatten)]
    what: What,
}

/// The reminders.
#[derive(Serialize, JsonSchema)]
struct Listed {
    reminders: Vec<ScheduleView>,
    /// Files that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RemoveArguments {
    /// its name
    id: String,
}

/// A removed reminder.
#[derive(Serialize, JsonSchema)]
struct Removed {
    id: String,
    removed: bool,
}

/// Adds the parameters of a reminder with its time.
fn with_parameters(row: ToolRow, time: &'static str, aliases: &'static [&'static str]) -> ToolRow {
    row.parameter("id", &["name"])
        .parameter(time, aliases)
        .parameter("description", &[])
        .document("payload", &["message", "text"])
        .parameter("action", &[])
        .parameter("zone", &["timezone"])
        .parameter("agent", &[])
        .parameter("directory", &["cwd"])
}

pub(super) fn tools() -> [ClientTool; 4] {
    let recurring = tool("schedule_reminder", Personal, Replaces, "personal reminder recurring cron schedule").about(
        "Make a reminder for the user that recurs. When it is due, its message goes to their inbox, which each session \
         reads.",
    );
    let once = tool("schedule_once", Personal, Replaces, "personal reminder once at a time")
        .about("Make a reminder for the user for one time.");
    [
        with_parameters(recurring, "cronExpression", &["cron_expression", "expression", "cron"]).answered_with_schema(
            |session, arguments: ReminderArguments| {
                arguments.what.schedule(session, ReminderKind::Cron, arguments.cron_expression)
            },
        ),
        with_parameters(once, "datetime", &["time", "at", "expression"]).answered_with_schema(
            |session, arguments: OnceArguments| {
                arguments.what.schedule(session, ReminderKind::Once, arguments.datetime)
            },
        ),
        tool("list_reminders", Personal, Reads, "personal reminders schedules")
            .about("The user's reminders with their next times.")
            .answered_with_schema(|session, _: NoArguments| {
                let (reminders, problems) = personal(session)?.schedules().map_err(failed)?;
                Ok(Listed { reminders, problems })
            }),
        tool("remove_reminder", Personal, Replaces, "personal reminder delete cancel")
            .about("Remove a reminder of the user.")
            .parameter("id", &["name"])
            .answered_with_schema(|session, arguments: RemoveArguments| {
                let personal = personal(session)?;
                personal.remove_reminder(&arguments.id).map_err(failed)?;
                let firings = Firings::open(&session.app.state_dir).map_err(failed)?;
                firings.forget_maker(personal.root(), &arguments.id).map_err(failed)?;
                Ok(Removed { id: arguments.id, removed: true })
            }),
    ]
}
