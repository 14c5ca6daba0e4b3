use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::Clock;
use muninn_config::{AgentConfig, Config, PersonalConfig, presence};
use muninn_notebooks::personal::{Action, Claim, Firings, MOST_TIMEOUT_SECONDS, Maker, Personal, Reminder};
use muninn_text::redact;
use parking_lot::Mutex;

use super::agent_error::AgentError;

/// The time that a run takes to end beyond its timeout.
pub(crate) const ENDING: Duration = Duration::from_secs(60);

/// The reminders of a directory, and the programs that they may start.
pub struct Reminders {
    pub(crate) personal: Arc<Personal>,
    pub(crate) firings: Mutex<Firings>,
    /// When lines that were not written were looked for.
    pub(crate) recovered: Mutex<Option<Instant>>,
    pub(crate) state_dir: PathBuf,
    pub(crate) clock: Clock,
}

/// The settings that may change while a process runs.
#[derive(Debug, Clone)]
pub struct ReminderSettings {
    /// `[personal]`.
    pub config: PersonalConfig,
    /// The address of a gateway that agents can use.
    pub gateway: Option<String>,
}

/// A reminder that neither the user nor a tool of this machine made, or whose file has changed since.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` came from elsewhere or was changed, and waits for your yes: `muninn remind accept {0}`")]
pub(crate) struct Waiting(pub(crate) String);

/// What is done with a due reminder.
pub(crate) enum FiringAction {
    Inbox,
    Notify,
    Session,
    Agent(Box<AgentConfig>),
}

/// A due reminder.
#[derive(Clone)]
pub(crate) struct Due {
    pub(crate) reminder: Reminder,
    pub(crate) claim: Claim,
    /// Why it goes to the inbox instead.
    pub(crate) note: Option<String>,
}

impl ReminderSettings {
    /// The settings of a configuration. Agents use a gateway on the port, if one runs now. They have no access key, so a gateway that
    /// needs one is left out.
    pub fn of(config: &Config, port: u16, state_dir: &Path) -> ReminderSettings {
        let url = format!("http://127.0.0.1:{port}");
        let is_open = !config.needs_key && presence::is_gateway(state_dir, &url);
        ReminderSettings { config: config.personal.clone(), gateway: is_open.then_some(url) }
    }
}

/// What a reminder asks for, or the inbox and why.
pub(crate) fn action_of(reminder: &Reminder, maker: Maker, config: &PersonalConfig) -> (FiringAction, Option<String>) {
    match reminder.action() {
        Action::Inbox => (FiringAction::Inbox, None),
        Action::Notify => (FiringAction::Notify, None),
        Action::Session => (FiringAction::Session, None),
        Action::Agent => match agent_of(reminder, maker, config) {
            Ok(agent) => (FiringAction::Agent(Box::new(agent.clone())), None),
            Err(why) => (FiringAction::Inbox, Some(why.to_string())),
        },
    }
}

/// The text of a reminder, without secrets: a person, or another program, may have written the file.
pub(crate) fn words(reminder: &Reminder) -> String {
    let Reminder { description, payload, .. } = reminder;
    if description == payload {
        redact(description).into_owned()
    } else {
        redact(&format!("{description}: {payload}")).into_owned()
    }
}

/// The agent that a reminder may run.
pub(crate) fn agent_of<'c>(
    reminder: &Reminder,
    maker: Maker,
    config: &'c PersonalConfig,
) -> Result<&'c AgentConfig, AgentError> {
    let name = reminder.agent_name();
    let agent = config.agents.get(name);
    let agent = agent.ok_or_else(|| AgentError::NotEnabled(name.to_owned()))?;
    if maker == Maker::Tool && !agent.allow_from_tools {
        Err(AgentError::NotForTools(name.to_owned()))
    } else {
        Ok(agent)
    }
}

/// The time after which a run is ended.
pub(crate) fn timeout(reminder: &Reminder, agent: &AgentConfig) -> Duration {
    let extras = reminder.muninn.as_ref();
    let seconds = extras.and_then(|extras| extras.timeout_seconds);
    // A person may have written the file.
    seconds.map_or(agent.timeout, |seconds| Duration::from_secs(seconds.min(MOST_TIMEOUT_SECONDS)))
}

/// The time after which a claimed run has ended, with or without a result.
pub(crate) fn longest_run(reminder: &Reminder, agent: &AgentConfig) -> Duration {
    timeout(reminder, agent) + ENDING
}
