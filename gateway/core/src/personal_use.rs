use std::path::Path;
use std::sync::Arc;

use muninn_base::Clock;
use muninn_config::{Config, paths};
use muninn_notebooks::personal::Personal;
use muninn_personal::reminders::has_reminder;
use muninn_wire::{Message, Role, ToolPart, decoded_arguments};
use serde_json::Value;

/// The names of the tools of personal memory. Other servers have tools with these names for the same purpose.
pub(crate) const TOOLS: [&str; 9] = [
    "get_context", "log_journal", "get_recent_journal", "search_memory", "schedule_reminder", "schedule_once",
    "list_reminders", "remove_reminder", "log_signal",
];

/// The commands that show it.
pub(crate) const COMMANDS: [&str; 2] = ["muninn personal", "muninn remind"];

/// Returns whether this is a tool of personal memory, by the name that a client gives it.
pub(super) fn is_personal_tool(name: &str) -> bool {
    let mut tools = TOOLS.iter();
    tools.any(|tool| {
        name.strip_suffix(tool).is_some_and(|before| before.is_empty() || before.ends_with(['_', '.', '-', '/']))
    })
}

/// Whether these messages may contain personal memory: the agent called its tools, its commands or its files, or a reminder came
/// in between. `personal`: the memory of this machine's user.
pub(super) fn is_used_in(personal: Option<&Personal>, messages: &[Message<'_>]) -> bool {
    let directories = personal.map(|personal| names_of(personal.root())).unwrap_or_default();
    let is_personal = |text: &str| {
        COMMANDS.iter().any(|command| text.contains(command))
            || directories.iter().any(|directory| names_directory(text, directory))
    };
    let is_call = |part: &ToolPart<'_>| match part {
        ToolPart::Call { name, arguments, .. } => {
            is_personal_tool(&name.decode())
                || decoded_arguments(arguments).is_some_and(|arguments| has_text(&arguments, &is_personal))
        }
        ToolPart::Result { .. } => false,
    };
    let is_notice =
        |message: &Message<'_>| message.role == Role::User && message.texts().any(|text| has_reminder(text.decoded()));
    messages.iter().any(|message| message.tools.iter().any(is_call) || is_notice(message))
}

/// How an agent can name a directory: its path, and the one inside the home directory, before which shells know several names.
pub(crate) fn names_of(directory: &Path) -> Vec<String> {
    let home = etcetera::home_dir().ok();
    let inside = home.and_then(|home| Some(directory.strip_prefix(home).ok()?.to_owned()));
    let mut names = vec![directory.display().to_string()];
    match inside {
        Some(inside) if inside.components().count() > 1 => names.push(inside.display().to_string()),
        Some(inside) => names.extend(["~", "$HOME", "${HOME}"].map(|home| format!("{home}/{}", inside.display()))),
        None => {}
    }
    names
}

/// Whether a text names a directory or a path below it.
pub(crate) fn names_directory(text: &str, directory: &str) -> bool {
    let continues = |next: char| next.is_alphanumeric() || matches!(next, '-' | '_' | '.');
    text.match_indices(directory).any(|(at, _)| !text[at + directory.len()..].starts_with(continues))
}

/// Whether a string of a JSON value passes, or the words of an array, which may be a command.
pub(crate) fn has_text(value: &Value, passes: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => passes(text),
        Value::Array(values) => {
            let words: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            passes(&words.join(" ")) || values.iter().any(|value| has_text(value, passes))
        }
        Value::Object(members) => members.values().any(|value| has_text(value, passes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The memory that a configuration names; `None` if it is not to be used.
pub(crate) fn open(config: &Config) -> Option<Arc<Personal>> {
    let config = Some(&config.personal).filter(|personal| personal.enabled)?;
    let root = paths::personal_dir(config.path.as_deref());
    let root = root.inspect_err(|error| tracing::warn!("personal memory: {error}")).ok()?;
    Some(Arc::new(Personal::new(&root, Clock::system())))
}
