//! Running an agent, or a desktop notification, for a due reminder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use muninn_base::private_file;
use muninn_config::{AgentClient, AgentConfig, env_vars, presence};
use muninn_context_engine::render::{Ground, neutralize};
use muninn_notebooks::personal::{Claim, EntryMetadata, Reminder};
use muninn_text::redact;
use serde::Deserialize;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::agent_error::AgentError;
use super::{Due, ReminderSettings, Reminders, timeout, words};
use crate::process::{End, Ended, MOST_KEPT, run};

/// The variables that every agent gets, beside those that begin with `LC_` or `XDG_`.
const ENVIRONMENT: [&str; 19] = [
    "HOME", "PATH", "LANG", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "SYSTEMROOT", "USERPROFILE", "APPDATA",
    "LOCALAPPDATA", "TEMP", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
];
/// The files and folders in which clients look for settings of the directory that they run in. Settings name programs to start,
/// and a cloned memory can contain them.
const CLIENT_SETTINGS: [&str; 6] = [".claude", ".mcp.json", ".codex", ".opencode", "opencode.json", "opencode.jsonc"];
/// The time of a notification program.
const NOTIFYING: Duration = Duration::from_secs(2);
/// The folder of the logs, in the state directory.
const LOGS: &str = "reminders";
/// How long a log is kept.
const LOG_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most characters of an answer in the journal.
const MOST_ANSWER: usize = 2_000;
/// How the prompt of a run begins.
const PROMPT_START: &str = "Muninn reminder `";
/// The topic of journal entries about reminders, and where they come from.
const TOPIC: &str = "reminder";
const SOURCE: &str = "cron";

/// Whether a question is that of a reminder's run. It holds the user's own words, and nothing is learned from such a run.
pub fn is_prompt(question: &str) -> bool {
    question.trim_start().starts_with(PROMPT_START)
}

/// Whether a text of the client, such as a notification of a monitor, holds a reminder.
pub fn has_reminder(text: &str) -> bool {
    text.contains(PROMPT_START)
}

impl Reminders {
    /// Runs an agent. Its answer goes to the journal; a failure goes to the inbox. Returns what was done.
    pub(super) async fn run_agent(
        &self,
        due: &Due,
        agent: &AgentConfig,
        settings: &ReminderSettings,
        stopping: &CancellationToken,
    ) -> String {
        let timeout = timeout(&due.reminder, agent);
        let prompt = self.prompt(due);
        let (arguments, input) = arguments(agent, &prompt);
        let program = agent.program.clone();
        let ended = match self.command(due, agent, &arguments, settings) {
            Ok(command) => {
                run(command, input.as_bytes(), MOST_KEPT, timeout, stopping).await.map_err(|error| match error.kind() {
                    ErrorKind::NotFound => AgentError::NoProgram(program),
                    _ => AgentError::Start { program, error },
                })
            }
            Err(why) => Err(why),
        };
        let log = ended.as_ref().ok().and_then(|ended| {
            let log = self.write_log(due, agent, &arguments, ended);
            log.inspect_err(|error| tracing::warn!("the log of reminder {}: {error}", due.claim.id)).ok()
        });
        match ended.and_then(|ended| answer(agent.client, &ended, timeout)) {
            Ok(text) => {
                let entry = format!("{}: {}", due.reminder.description, shortened(&text));
                let metadata = EntryMetadata { source: Some(SOURCE.to_owned()), intent: Some(due.claim.id.clone()) };
                match self.personal.log(TOPIC, &entry, metadata) {
                    Ok(_) => self.finish(&due.claim, Some(&due.reminder), "the agent answered; see the journal"),
                    Err(error) => self.failed(due, &format!("its answer cannot be kept: {error}"), log),
                }
            }
            Err(why) => self.failed(due, &why.to_string(), log),
        }
    }

    /// Leaves a line about a failed run in the inbox.
    fn failed(&self, due: &Due, why: &str, log: Option<PathBuf>) -> String {
        let log = log.map(|log| format!(", log {}", log.display())).unwrap_or_default();
        let due = Due { note: Some(format!("the agent failed: {}{log}", shortened(why))), ..due.clone() };
        self.add_to_inbox(&due)
    }

    /// Shows a notification on the desktop. Where there is none, the inbox gets a line.
    pub(super) async fn notify(&self, due: &Due, stopping: &CancellationToken) -> String {
        let (title, body) = (redact(&due.reminder.description), self.line(&due.reminder, &due.claim));
        let shown = run(notification(&title, &body), b"", MOST_KEPT, NOTIFYING, stopping).await;
        match shown {
            Ok(ended) if matches!(ended.end, End::Exited(status) if status.success()) => {
                self.finish(&due.claim, Some(&due.reminder), "notified")
            }
            _ => self.add_to_inbox(&Due { note: Some("no notification could be shown".to_owned()), ..due.clone() }),
        }
    }

    /// What the agent is asked.
    fn prompt(&self, due: &Due) -> String {
        let Due { reminder, claim, .. } = due;
        let text = format!("{}\n\n{}", reminder.description, reminder.payload);
        let text = redact(&text);
        format!("{}: {}\n", self.start(reminder, claim), neutralize(&text, Ground::Prose))
    }

    /// The line for an open session.
    pub(super) fn message(&self, due: &Due) -> String {
        let Due { reminder, claim, .. } = due;
        let words = words(reminder);
        format!("{}: {}", self.start(reminder, claim), neutralize(&words, Ground::Prose))
    }

    fn start(&self, reminder: &Reminder, claim: &Claim) -> String {
        format!("{PROMPT_START}{}`, due {}", claim.id, self.when(reminder, claim))
    }

    /// The command of a run, without a shell and with few variables of the environment.
    fn command(
        &self,
        due: &Due,
        agent: &AgentConfig,
        arguments: &[OsString],
        settings: &ReminderSettings,
    ) -> Result<Command, AgentError> {
        let extras = due.reminder.muninn.as_ref();
        let directory = extras.and_then(|extras| extras.directory.clone());
        let directory = directory.unwrap_or_else(|| self.personal.root().to_owned());
        if !directory.is_dir() {
            return Err(AgentError::NoDirectory(directory));
        }
        if directory.starts_with(self.personal.root()) {
            let mut settings = CLIENT_SETTINGS.iter().map(|name| directory.join(name));
            if let Some(settings) = settings.find(|path| path.symlink_metadata().is_ok()) {
                return Err(AgentError::ClientSettings(settings));
            }
        }
        let mut command = Command::new(&agent.program);
        let is_given = |name: &str| {
            let mut usual = ENVIRONMENT.iter();
            usual.any(|usual| usual.eq_ignore_ascii_case(name))
                || ["LC_", "XDG_"].iter().any(|start| name.starts_with(start))
                || agent.environment.iter().any(|given| given == name)
        };
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_given)))
            .env(env_vars::REMINDER, &due.claim.id);
        if let Some(url) = &settings.gateway {
            command.envs(presence::client_variables(url));
        }
        Ok(command)
    }

    /// Writes what a run printed to a file. Returns its path.
    fn write_log(&self, due: &Due, agent: &AgentConfig, arguments: &[OsString], ended: &Ended) -> io::Result<PathBuf> {
        let folder = self.state_dir.join(LOGS);
        private_file::dir(&folder)?;
        let is_old = |entry: &fs::DirEntry| -> io::Result<bool> {
            let age = SystemTime::now().duration_since(entry.metadata()?.modified()?);
            Ok(age.is_ok_and(|age| age > LOG_KEPT))
        };
        for entry in fs::read_dir(&folder)?.flatten() {
            if is_old(&entry).unwrap_or(false) {
                fs::remove_file(entry.path()).ok();
            }
        }
        let name = format!("{}-{}.log", due.claim.id, due.claim.due.strftime("%Y%m%dT%H%M%SZ"));
        let path = folder.join(name);
        let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
        let text = format!(
            "{} {}\n{}\n\n== stdout\n{}\n== stderr\n{}\n",
            agent.program,
            arguments.join(" "),
            how(&ended.end),
            ended.stdout,
            ended.stderr
        );
        let mut file = private_file::append(&path)?;
        file.write_all(redact(&text).as_bytes())?;
        Ok(path)
    }
}

/// The arguments of a client, and what it reads from its standard input. No prompt can be read as a flag.
fn arguments(agent: &AgentConfig, prompt: &str) -> (Vec<OsString>, String) {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    let model = agent.model.as_deref();
    match agent.client {
        AgentClient::Claude => {
            let mode = agent.permission_mode.as_deref().unwrap_or("dontAsk");
            add(&["-p", "--output-format", "json", "--permission-mode", mode]);
            add(&["--max-turns", &agent.max_turns.to_string()]);
            if let Some(budget) = agent.max_budget_usd {
                add(&["--max-budget-usd", &budget.to_string()]);
            }
            if !agent.allowed_tools.is_empty() {
                add(&["--allowedTools", &agent.allowed_tools.join(" ")]);
            }
            model.iter().for_each(|model| add(&["--model", model]));
        }
        AgentClient::Codex => {
            let sandbox = agent.permission_mode.as_deref().unwrap_or("read-only");
            add(&["exec", "--skip-git-repo-check", "--sandbox", sandbox]);
            model.iter().for_each(|model| add(&["--model", model]));
            add(&["-"]);
        }
        AgentClient::Opencode => {
            add(&["run"]);
            model.iter().for_each(|model| add(&["--model", model]));
        }
    }
    (arguments.into_iter().map(OsString::from).collect(), prompt.to_owned())
}

/// The end of `claude -p --output-format json`.
#[derive(Deserialize)]
struct ClaudeResult {
    #[serde(default)]
    result: String,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    subtype: String,
}

fn answer(client: AgentClient, ended: &Ended, timeout: Duration) -> Result<String, AgentError> {
    let status = match ended.end {
        End::Exited(status) => status,
        End::TimedOut => return Err(AgentError::TimedOut(timeout)),
        End::Stopped => return Err(AgentError::Stopped),
    };
    let said = if client == AgentClient::Claude {
        match serde_json::from_str::<ClaudeResult>(ended.stdout.trim()) {
            Ok(result) if result.is_error || !status.success() => {
                let words = [result.subtype.as_str(), result.result.as_str()];
                return Err(AgentError::Reported(words.join(" ").trim().to_owned()));
            }
            Ok(result) => result.result,
            Err(_) => ended.stdout.clone(),
        }
    } else {
        ended.stdout.clone()
    };
    if !status.success() {
        let last = ended.stderr.lines().chain(said.lines()).rfind(|line| !line.trim().is_empty());
        let line = last.unwrap_or("it printed nothing").trim().to_owned();
        return Err(AgentError::Failed { status, line });
    }
    match said.trim() {
        "" => Err(AgentError::NoAnswer),
        said => Ok(said.to_owned()),
    }
}

fn how(end: &End) -> String {
    match end {
        End::Exited(status) => status.to_string(),
        End::TimedOut => "ended after its timeout".to_owned(),
        End::Stopped => "ended with Muninn".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST_ANSWER) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The program that shows a notification. The texts are arguments: no shell and no script contains them.
#[cfg(not(target_os = "macos"))]
fn notification(title: &str, body: &str) -> Command {
    let mut command = Command::new("notify-send");
    // Some desktops read the body as markup.
    let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    command.args(["-a", "Muninn", "--", title, &body]);
    command
}

/// See above.
#[cfg(target_os = "macos")]
fn notification(title: &str, body: &str) -> Command {
    let mut command = Command::new("osascript");
    let show = "display notification (item 2 of argv) with title (item 1 of argv)";
    command.args(["-e", "on run argv", "-e", show, "-e", "end run", "--", title, body]);
    command
}
