//! The user's personal memory: who may use it, and what of it goes into prompts.
//!
//! It is the owner's alone; the table of doors says whose requests count as the owner's. Nothing of it is learned; see
//! `app/learn`.

use std::collections::VecDeque;
use std::sync::Arc;

use muninn_backend::access::{Caller, Door};
use muninn_base::Clock;
use muninn_context_engine::{Item, ItemKind, PriorContext, measure_item};
use muninn_notebooks::personal::{FoundItem, Personal, SearchOptions};
use muninn_personal::keep;
use muninn_personal::reminders::{ReminderSettings, Reminders};
use muninn_text::redact;

use super::App;

/// The score from which a text is worth its tokens.
const LEAST_SCORE: f32 = 0.6;
/// The first words of what each conversation is told about the user.
pub(super) const ABOUT_USER: &str = "# About the user (";
/// The file that gets the lines of reminders.
const INBOX: &str = "inbox";
/// The name of other users of this machine in the ledger. No key has it: names have no control characters.
const OTHER_USERS: &str = "\0";
/// The most texts of a question.
const MOST_ITEMS: usize = 3;

impl App {
    /// The personal memory, for a caller who is its owner.
    pub(crate) fn personal_of(&self, caller: &Caller) -> Option<Arc<Personal>> {
        let personal = self.enabled_personal()?;
        caller.may(Door::PersonalInPrompts).is_ok().then_some(personal)
    }

    /// [`Self::personal_of`], if there is anything in it, with the tokens that a question may get of it.
    pub(super) fn personal_for_prompt(&self, caller: &Caller) -> Option<(Arc<Personal>, u32)> {
        let personal = self.existing_personal()?;
        let tokens = self.settings().config.personal.max_tokens;
        let may_use = caller.may(Door::PersonalInPrompts).is_ok();
        may_use.then_some((personal, tokens))
    }

    /// The name under which the ledger keeps a caller's conversations. A block of the owner may hold personal memory, so it
    /// is never replayed for another user of this machine who sends the same words.
    pub(super) fn ledger_name<'c>(&self, caller: &'c Caller) -> &'c str {
        let is_apart = caller.name().is_empty()
            && self.existing_personal().is_some()
            && caller.may(Door::PersonalInPrompts).is_err();
        if is_apart { OTHER_USERS } else { caller.name() }
    }

    fn enabled_personal(&self) -> Option<Arc<Personal>> {
        let is_enabled = self.settings().config.personal.enabled;
        self.personal.clone().filter(|_| is_enabled)
    }

    fn existing_personal(&self) -> Option<Arc<Personal>> {
        self.enabled_personal().filter(|personal| personal.root().is_dir())
    }

    /// Fires reminders for as long as the process lives.
    pub fn keep_reminders(self: &Arc<Self>) {
        let Some(personal) = &self.personal else { return };
        let app = Arc::downgrade(self);
        let settings = move || {
            let of_app = |app: Arc<App>| {
                let settings = app.settings();
                ReminderSettings::of(&settings.config, settings.port(), &app.state_dir)
            };
            app.upgrade().map(of_app)
        };
        let reminders = match Reminders::open(personal, &self.state_dir, Clock::system()) {
            Ok(reminders) => Arc::new(reminders),
            Err(error) => return tracing::warn!("reminders do not fire: {error}"),
        };
        if let Err(error) = keep(reminders, settings, &self.supervisor) {
            tracing::warn!("reminders do not fire: the thread did not start: {error}");
        }
    }

    /// Whether this process is needed for reminders.
    pub fn has_reminders(&self) -> bool {
        let reminders = self.enabled_personal().map(|personal| personal.reminders());
        reminders.is_some_and(|found| found.is_ok_and(|found| !found.reminders.is_empty()))
    }

    /// Builds the index of the search in the background.
    pub(super) fn index_personal(&self) {
        let Some(personal) = self.personal.clone().filter(|personal| personal.root().is_dir()) else {
            return;
        };
        personal.watch(&self.supervisor);
        personal.index_in_background();
    }
}

/// The texts for a question, within a number of tokens. Those that the conversation contains are left out.
pub(super) fn items(personal: &Arc<Personal>, question: &str, already: &PriorContext, most_tokens: u32) -> Vec<Item> {
    let options = SearchOptions { kind: None, since: None, limit: MOST_ITEMS };
    let found = match personal.search_now(question, &options) {
        None => return Vec::new(),
        Some(found) => found.inspect_err(|error| tracing::warn!("personal memory: {error}")).unwrap_or_default(),
    };
    let mut left = most_tokens;
    let mut items = Vec::new();
    for found in found.into_iter().filter(|found| found.score >= LEAST_SCORE) {
        let mut item = item(found);
        if measure_item(&mut item) <= left && !already.contains_item(&item) {
            left -= item.tokens;
            items.push(item);
        }
    }
    items
}

fn item(found: FoundItem) -> Item {
    Item {
        kind: ItemKind::Personal,
        source: format!("personal:{}", found.source),
        blob: None,
        date: Some(found.timestamp),
        confidence: None,
        origin: String::new(),
        title: found.section.unwrap_or_default(),
        text: redact(&found.content).into_owned(),
        first_line: 0,
        language: "markdown",
        tokens: 0,
        score: found.score,
        gain: 0.0,
        why: format!("your personal memory, likeness {:.2}", found.score),
    }
}

/// The heading and the text that each conversation begins with; empty if the memory has not been set up. The longest file is cut first.
pub(super) fn always_loaded(personal: &Personal, most: usize) -> (String, String) {
    if personal.is_first_run() {
        return Default::default();
    }
    let state = personal.state();
    let state = state.inspect_err(|error| tracing::warn!("personal memory: {error}")).unwrap_or_default();
    let mut texts: Vec<(&str, VecDeque<&str>)> = state
        .iter()
        .map(|file| (file.name, file.text.lines().collect::<VecDeque<_>>()))
        // A heading alone says nothing.
        .filter(|(_, lines)| lines.iter().any(|line| !line.trim().is_empty() && !line.starts_with('#')))
        .collect();
    let heading = format!("{ABOUT_USER}personal memory in {}, for this user only)", personal.root().display());
    let size = |line: &str| line.chars().count() + 1;
    let mut sizes: Vec<usize> = texts.iter().map(|(_, lines)| lines.iter().map(|line| size(line)).sum()).collect();
    let mut cut = vec![0; texts.len()];
    loop {
        let notes = cut.iter().filter(|lines| **lines > 0).count() * 60;
        let all = sizes.iter().sum::<usize>() + heading.len() + notes;
        let longest = (0..texts.len()).max_by_key(|at| sizes[*at]);
        let Some(at) = longest.filter(|at| all > most && sizes[*at] > 0) else {
            break;
        };
        let (name, lines) = &mut texts[at];
        // New lines of the inbox come at its end; those of the other files are the less important, the later they come.
        let line = match *name {
            INBOX if lines.len() > 1 => lines.remove(1),
            _ => lines.pop_back(),
        };
        sizes[at] -= line.map_or(0, size);
        cut[at] += 1;
    }
    if texts.is_empty() {
        return Default::default();
    }
    let mut text = String::new();
    for ((name, lines), cut) in texts.iter().zip(cut) {
        lines.iter().for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
        if cut > 0 {
            let which = if *name == INBOX { "older" } else { "more" };
            text.push_str(&format!("[{name}: {cut} {which} lines; shorten the file]\n"));
        }
    }
    (heading, text)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::personal_use::is_personal_tool;
    use crate::personal_use::is_used_in;
    use muninn_wire::{Prompt, WireFormat};
    use std::path::Path;

    #[test]
    fn tools_are_recognised_by_the_end_of_their_names() {
        for name in ["log_journal", "mcp__muninn__log_journal", "muninn_search_memory", "mcp__macrodata__get_context"] {
            assert!(is_personal_tool(name), "{name}");
        }
        for name in ["find_context", "prolog_journal", "journal_search", "Bash", ""] {
            assert!(!is_personal_tool(name), "{name}");
        }
    }

    #[test]
    fn turns_that_use_personal_memory_are_recognised() {
        let home = etcetera::home_dir().unwrap();
        let is_used = |directory: &Path, arguments: &Value| {
            let personal = Personal::new(directory, Clock::system());
            let call = |arguments: Value| {
                let call = serde_json::json!({"id": "c", "type": "function", "function": {"name": "run", "arguments": arguments}});
                let body = serde_json::json!({"messages": [{"role": "assistant", "tool_calls": [call]}]}).to_string();
                let prompt = Prompt::parse(WireFormat::Chat, body.as_bytes()).unwrap();
                is_used_in(Some(&personal), &prompt.messages)
            };
            call(Value::String(arguments.to_string()))
        };
        let (inside, plain) = (home.join("my/notes"), Path::new("/srv/ann's \"notes\""));
        for (directory, arguments) in [
            (&*inside, serde_json::json!({"path": inside.join("identity.md")})),
            (&*inside, serde_json::json!({"command": "cat $HOME/my/notes/identity.md"})),
            (&*inside, serde_json::json!({"command": "ls ~/my/notes"})),
            (&*home.join("notes"), serde_json::json!({"command": "ls \"${HOME}/notes\""})),
            (plain, serde_json::json!({"edits": [{"path": plain.join("a.md")}]})),
            (plain, serde_json::json!({"command": "cd x; muninn personal search boat"})),
            (plain, serde_json::json!({"command": ["muninn", "remind", "list"]})),
        ] {
            assert!(is_used(directory, &arguments), "{} {arguments}", directory.display());
        }
        for arguments in [
            serde_json::json!({"path": home.join("my/notes-app/main.rs")}),
            serde_json::json!({"path": home.join("my/other.md")}),
            serde_json::json!({"command": "muninn status"}),
        ] {
            assert!(!is_used(&inside, &arguments), "{arguments}");
        }
    }

    #[test]
    fn oldest_lines_of_a_long_inbox_are_cut() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("state")).unwrap();
        std::fs::write(directory.path().join("identity.md"), "# Identity\n\nAnn\n").unwrap();
        let lines: String = (0..5_000).map(|number| format!("- line {number} of the inbox\n")).collect();
        std::fs::write(directory.path().join("state/inbox.md"), format!("# Inbox\n\n{lines}")).unwrap();
        let (_, text) = always_loaded(&Personal::new(directory.path(), Clock::system()), 1_500);
        assert!(text.chars().count() <= 1_500, "{}", text.len());
        assert!(text.contains("# Inbox\n- line") && text.contains("line 4999 of"), "{text}");
        assert!(text.contains("[inbox: ") && text.contains(" older lines"), "{text}");
    }

    #[test]
    fn longest_file_is_cut_first() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(directory.path().join("state")).unwrap();
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        write("identity.md", "# Identity\n\nAnn\n");
        write("state/inbox.md", "# Inbox\n");
        write("state/today.md", &format!("# Today\n\n{}", "a long line of today\n".repeat(200)));
        let personal = Personal::new(directory.path(), Clock::system());
        let (_, text) = always_loaded(&personal, 1_500);
        assert!(text.chars().count() <= 1_500, "{}", text.len());
        assert!(text.contains("Ann\n") && text.contains("[today: "), "{text}");
        assert!(!text.contains("# Inbox"), "a file with only its heading says nothing");
        std::fs::remove_file(directory.path().join("identity.md")).unwrap();
        assert!(always_loaded(&personal, 1_500).1.is_empty());
    }
}
