//! What agents try: failures in succession, edits that are taken back, and the mutation that is due after three failures.
//!
//! A fault of ours must not stop an agent. So what cannot be written is logged, and the answer is that nothing is to be said.

use muninn_context_engine::render;
use muninn_notebooks::worklog::{FAILURES_BEFORE_MUTATION, HANDOVER_LINES, MutationKind};
use muninn_session::AnsweredCall;
use muninn_text::redact;
use serde_json::Value;

use super::sessions::{Attempt, EditDone, SessionState};
use super::tool_call::{ToolCall, ToolOutcome};
use super::{SessionWorklog, WorklogUseError, handover_text};

/// The longest command and error in a line, in characters.
const MOST_COMMAND: usize = 120;
const MOST_ERROR: usize = 160;
/// Words of commands whose failure is an attempt that failed: they check something. A `grep` without a match has failed too.
const CHECKS: [&str; 14] = [
    "test", "check", "build", "clippy", "lint", "pytest", "make", "tsc", "jest", "vitest", "mypy", "ruff", "compile",
    "verify",
];

impl ToolCall {
    /// The call of a tool with these arguments; `None` for a tool that nothing depends on.
    pub fn of(name: &str, arguments: &Value) -> Option<ToolCall> {
        let of = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
        match name {
            "Bash" | "bash" | "shell" | "exec_command" => Some(ToolCall::Command(command(arguments)?)),
            "Edit" | "edit" => Some(ToolCall::Edit {
                file: [of("file_path"), of("filePath")].concat(),
                before: [of("old_string"), of("oldString")].concat(),
                after: [of("new_string"), of("newString")].concat(),
            }),
            "Write" | "write" => Some(ToolCall::Edit {
                file: [of("file_path"), of("filePath")].concat(),
                before: String::new(),
                after: of("content"),
            }),
            "MultiEdit" | "NotebookEdit" | "apply_patch" => Some(ToolCall::Edit {
                file: [of("file_path"), of("notebook_path")].concat(),
                before: String::new(),
                after: arguments.to_string(),
            }),
            _ => None,
        }
    }
}

/// The command of a shell tool: a string, or the words of a command line.
fn command(arguments: &Value) -> Option<String> {
    let words = |value: &Value| -> Option<String> {
        let words = value.as_array()?.iter().filter_map(Value::as_str);
        Some(words.collect::<Vec<_>>().join(" "))
    };
    let mut given = ["command", "cmd"].into_iter().map(|key| &arguments[key]);
    let text = given.find_map(|value| value.as_str().map(str::to_owned).or_else(|| words(value)));
    text.filter(|text| !text.trim().is_empty())
}

impl SessionWorklog {
    /// The reason to hold a call once, if there is one: the session has not had the handover and changes a file, or it tries
    /// again what failed three times, without a mutation.
    ///
    /// # Errors
    /// [`WorklogUseError`]; the call is to be allowed then.
    pub fn hold(&self, session: Option<&str>, call: &ToolCall) -> Result<Option<String>, WorklogUseError> {
        let Some(id) = session else { return Ok(None) };
        match call {
            ToolCall::Edit { .. } => {
                let Some(tail) = self.handover(session)? else {
                    return Ok(None);
                };
                Ok(Some(format!(
                    "Read the last {HANDOVER_LINES} lines of the worklog first; here they are. Then make the edit again: it is \
                     held only once.\n\n{}",
                    render::block_after(&handover_text(&tail), &[])
                )))
            }
            ToolCall::Command(command) => {
                let is_due = |state: &SessionState| {
                    let attempt = state.attempts.iter().find(|attempt| attempt.what == key(command));
                    attempt.is_some_and(|attempt| attempt.is_due && !attempt.held)
                };
                if !self.sessions.read().of(id).is_some_and(is_due) {
                    return Ok(None);
                }
                self.sessions.change(id, |state| state.attempt(&key(command)).held = true)?;
                Ok(Some(due_text(command)))
            }
        }
    }

    /// Notes the outcome of a call. Returns what the agent is to be told: that a mutation is due. `tells` is whether the caller
    /// can tell it at once; otherwise [`Self::due`] does.
    pub fn observe(
        &self,
        session: Option<&str>,
        call: &ToolCall,
        (call_id, outcome): (Option<&str>, &ToolOutcome),
        tells: bool,
    ) -> Result<Option<String>, WorklogUseError> {
        let Some(id) = session else { return Ok(None) };
        let is_observed = match call {
            ToolCall::Command(command) => is_check(command),
            ToolCall::Edit { .. } => true,
        };
        if !is_observed || !self.is_new(id, call_id)? {
            return Ok(None);
        }
        match (call, outcome) {
            (ToolCall::Command(command), ToolOutcome::Failed(message)) => {
                let line = format!("❌ Failed: {}{}", quoted(command), error_of(message));
                self.failed(id, (&key(command), command), &line, tells)
            }
            (ToolCall::Command(command), ToolOutcome::Worked) => {
                self.worked(id, command)?;
                Ok(None)
            }
            (ToolCall::Edit { file, before, after }, ToolOutcome::Worked) => {
                self.edited(id, file, before, after)?;
                Ok(None)
            }
            (ToolCall::Edit { file, .. }, ToolOutcome::Failed(message)) => {
                let what = format!("edit of {file}: {}", first_line(message));
                let line = format!("❌ Failed: edit of {file}{}", error_of(message));
                self.failed(id, (&what, &what), &line, tells)
            }
        }
    }

    /// Notes the outcome of a call that a gateway sees in a later prompt.
    pub(crate) fn observe_answered(&self, session: &str, answered: &AnsweredCall) -> Result<(), WorklogUseError> {
        let Some(call) = ToolCall::of(&answered.name, &answered.arguments) else {
            return Ok(());
        };
        let outcome = match &answered.failure {
            Some(message) => ToolOutcome::Failed(message.clone()),
            None => ToolOutcome::Worked,
        };
        self.observe(Some(session), &call, (Some(&answered.id), &outcome), false)?;
        Ok(())
    }

    /// What the agent is to be told at the next allowed place, if a mutation is due and it was not told yet.
    pub fn due(&self, session: Option<&str>) -> Result<Option<String>, WorklogUseError> {
        let Some(id) = session else { return Ok(None) };
        let is_untold = |attempt: &Attempt| attempt.is_due && !attempt.told;
        if !self.sessions.read().of(id).is_some_and(|state| state.attempts.iter().any(is_untold)) {
            return Ok(None);
        }
        let what = self.sessions.change(id, |state| {
            let due = state.attempts.iter_mut().find(|attempt| is_untold(attempt))?;
            due.told = true;
            Some(due.what.clone())
        })?;
        Ok(what.map(|what| due_text(&what)))
    }

    /// Whether a call was not observed yet; it is then.
    fn is_new(&self, id: &str, call_id: Option<&str>) -> Result<bool, WorklogUseError> {
        let Some(call_id) = call_id else { return Ok(true) };
        let is_new = self.sessions.change(id, |state| {
            let is_new = !state.seen.iter().any(|seen| seen == call_id);
            if is_new {
                state.seen.push(call_id.to_owned());
            }
            is_new
        });
        Ok(is_new?)
    }

    /// Counts a failure. The first one since it last worked gets a line.
    fn failed(
        &self,
        id: &str,
        (key, what): (&str, &str),
        line: &str,
        tells: bool,
    ) -> Result<Option<String>, WorklogUseError> {
        let (is_new, is_due) = self.sessions.change(id, |state| {
            let attempt = state.attempt(key);
            attempt.failures += 1;
            let is_new = !std::mem::replace(&mut attempt.noted, true);
            let is_due = attempt.failures >= FAILURES_BEFORE_MUTATION && !attempt.is_due;
            if is_due {
                attempt.is_due = true;
                attempt.held = false;
                attempt.told = tells;
            }
            (is_new, is_due)
        })?;
        if is_new && self.worklog.exists() {
            self.worklog.append(line)?;
        }
        Ok(is_due.then(|| due_text(what)))
    }

    /// A command worked: its failures are over, and the mutation before it was right.
    fn worked(&self, id: &str, command: &str) -> Result<(), WorklogUseError> {
        let is_known = |state: &SessionState| state.attempts.iter().any(|attempt| attempt.what == key(command));
        if !self.sessions.read().of(id).is_some_and(is_known) {
            return Ok(());
        }
        let before = self.sessions.change(id, |state| std::mem::take(state.attempt(&key(command))))?;
        self.sessions.change(id, |state| state.attempts.retain(|attempt| !attempt.what.is_empty()))?;
        if let Some(kind) = before.mutation.filter(|_| self.worklog.exists()) {
            self.worklog.append(&format!("✅ Worked after {kind}: {}", quoted(command)))?;
        }
        Ok(())
    }

    /// An edit worked. If it takes an earlier one of the session back, that is a failed attempt.
    fn edited(&self, id: &str, file: &str, before: &str, after: &str) -> Result<(), WorklogUseError> {
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
        let edit = EditDone { file: file.to_owned(), before: hash(before), after: hash(after) };
        let is_revert = self.sessions.change(id, |state| {
            state.changed_files = true;
            let reverted = state.edits.iter().position(|done| {
                done.file == edit.file && done.before == edit.after && done.after == edit.before && !before.is_empty()
            });
            match reverted {
                Some(at) => drop(state.edits.remove(at)),
                None => state.edits.push(edit),
            }
            reverted.is_some()
        })?;
        if is_revert && self.worklog.exists() {
            self.worklog.append(&format!("❌ Failed: an edit of {} was taken back", one_line(file, MOST_COMMAND)))?;
        }
        Ok(())
    }
}

impl SessionState {
    /// A mutation is declared: what was due may be tried again, from zero.
    pub(super) fn declare(&mut self, kind: &str) {
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.is_due) {
            attempt.is_due = false;
            attempt.failures = 0;
            attempt.noted = false;
            attempt.mutation = Some(kind.to_owned());
        }
    }
}

/// What an agent is told after three failures.
fn due_text(what: &str) -> String {
    format!(
        "{} failed {FAILURES_BEFORE_MUTATION} times in succession. Before the next try, declare what you change: `muninn \
         worklog mutate KIND --failed-on TEXT --switching-to TEXT --rationale TEXT`, or the tool `worklog_mutate`. Kinds: {}.",
        render::heading(&quoted(what)),
        MutationKind::listed()
    )
}

/// A command without the parts that vary between tries.
fn key(command: &str) -> String {
    // Joined words could hide a secret that a line end divides.
    let command = &*redact(command);
    let main = command.rsplit("&&").next().unwrap_or(command);
    let main = main.split(['|', ';']).next().unwrap_or(main);
    let is_redirection = |word: &str| word.contains(['>', '<']);
    let words: Vec<&str> = main.split_whitespace().filter(|word| !is_redirection(word)).collect();
    one_line(&words.join(" "), MOST_COMMAND)
}

fn is_check(command: &str) -> bool {
    let words = command.split(|c: char| !c.is_alphanumeric());
    words.into_iter().any(|word| CHECKS.contains(&word))
}

fn quoted(text: &str) -> String {
    format!("`{}`", one_line(text, MOST_COMMAND).replace('`', "'"))
}

/// The message of a failure in parentheses.
fn error_of(message: &str) -> String {
    match first_line(message) {
        line if line.is_empty() => String::new(),
        line => format!(" ({line})"),
    }
}

/// The line of a message that tells of an error, else its first one.
fn first_line(message: &str) -> String {
    let message = redact(message);
    let lines = || message.lines().map(str::trim).filter(|line| !line.is_empty());
    let tells = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("error") || line.contains("failed") || line.contains("panicked") || line.contains("assert")
    };
    let is_code = |line: &&str| line.to_ascii_lowercase().starts_with("exit code");
    let told = lines().find(tells).or_else(|| lines().find(|line| !is_code(line)));
    let line = told.or_else(|| lines().next()).unwrap_or_default();
    one_line(line, MOST_ERROR)
}

fn one_line(text: &str, most: usize) -> String {
    let text = redact(text).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_compared_without_what_varies() {
        assert_eq!(key("cd /x && cargo test  --lib 2>&1 | tail -5"), "cargo test --lib");
        assert_eq!(key("cargo test"), key("cargo  test | head"));
        assert!(
            is_check("cargo test") && is_check("npm run build") && !is_check("ls -la") && !is_check("grep latest x")
        );
    }

    #[test]
    fn line_of_an_error_is_chosen() {
        assert_eq!(first_line("Compiling x\nerror[E0308]: mismatched types\n"), "error[E0308]: mismatched types");
        assert_eq!(first_line("exit code 1\n"), "exit code 1");
        assert_eq!(first_line("Exit code 2\nmake: no rule\n"), "make: no rule");
        assert_eq!(error_of(""), "");
    }
}
