//! Notes about exactly the files or the commands of an agent's calls: before a call that a hook sees, and behind the results of
//! calls that a request sends.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use muninn_base::RelPath;
use muninn_context_engine::{Action, Item, new_notes, render};
use muninn_ledger::{Receipt, Store};
use muninn_session::{AnsweredCall, answered_calls, named_file, named_files, tool_effects};
use muninn_text::redact;
use muninn_wire::Prompt;

use super::Workspace;
use super::receipts::receipts_of;
use super::worklog::ToolCall;

/// The most tokens of a block.
const MOST_TOKENS: u32 = 120;
/// The time for loading memory, and that after which nothing is said.
const LOADING: Duration = Duration::from_millis(200);
const DEADLINE: Duration = Duration::from_millis(400);
/// The most characters of a command that names the subject of a block, and the most files and commands of a subject.
const MOST_SUBJECT: usize = 60;
const MOST_SUBJECTS: usize = 3;

/// Notes about an action that may be told to an agent.
pub(super) struct ActionNotes {
    subject: String,
    groups: Vec<Vec<Item>>,
}

/// The notes that an agent has not had, as a block.
pub(super) struct NewNotes {
    pub(super) notes: Vec<Item>,
    pub(super) block: String,
    /// For the receipt.
    pub(super) reason: String,
}

impl ActionNotes {
    /// The notes about an action in an open worktree; `None` without any.
    async fn about(workspace: &Workspace, (subject, action): (String, Action)) -> Option<ActionNotes> {
        let engine = workspace.engine.clone()?;
        let work =
            move || ActionNotes { groups: engine.notes_about(&subject, &action, Instant::now() + LOADING), subject };
        let notes = tokio::time::timeout(DEADLINE, tokio::task::spawn_blocking(work)).await;
        notes.ok()?.ok().filter(|notes| !notes.groups.is_empty())
    }

    /// The notes about a call that an agent is about to make in this directory.
    pub(super) async fn before(workspace: &Workspace, call: &ToolCall, directory: &str) -> Option<ActionNotes> {
        ActionNotes::about(workspace, called(workspace, call, directory)?).await
    }

    /// The notes about the calls whose results a prompt brings.
    pub(super) async fn behind_results(
        workspace: &Workspace,
        prompt: &Prompt<'_>,
        claimed: &[String],
    ) -> Option<ActionNotes> {
        ActionNotes::about(workspace, answered(workspace, prompt, claimed)?).await
    }

    /// The notes that a conversation does not hold: no receipt of its session names them in full, and it is not `told`.
    /// `when` says for the receipt where the block stands.
    pub(super) async fn new_to(
        self,
        (store, session): (&dyn Store, Option<&str>),
        is_told: &(dyn Fn(&Item) -> bool + Sync),
        when: &str,
    ) -> Option<NewNotes> {
        let receipts = match session {
            Some(session) => receipts_of(store, session, (None, Instant::now())).await.ok()?,
            None => Vec::new(),
        };
        // A note that was only named before comes in full.
        let given = receipts.into_iter().flat_map(|receipt| receipt.items).filter(|item| item.kind == "memory");
        let given: HashSet<String> = given.map(|item| item.source).collect();
        let is_known = |note: &Item| given.contains(&note.source) || is_told(note);
        let ActionNotes { subject, groups } = self;
        let notes = new_notes(&subject, groups, &is_known, MOST_TOKENS);
        let block = render::note_block(&subject, &notes);
        let reason = Receipt::about_call(when, &subject);
        (!notes.is_empty()).then_some(NewNotes { notes, block, reason })
    }
}

/// A call that an agent is about to make, in words and as an action; `None` if it names neither a file nor a command.
fn called(workspace: &Workspace, call: &ToolCall, directory: &str) -> Option<(String, Action)> {
    let engine = workspace.engine.as_ref()?;
    let claimed = [directory.to_owned()];
    let (places, is_there) = ((&*workspace.root, &claimed[..]), |path: &RelPath| engine.has_file(path));
    match call {
        ToolCall::Edit { file, .. } => {
            let file = named_file(file, places, &is_there)?;
            Some((file.to_string(), Action { files: vec![file], commands: Vec::new() }))
        }
        ToolCall::Command(line) => {
            let files = named_files(line, places, &is_there);
            Some((in_words(line), Action { files, commands: vec![line.clone()] }))
        }
    }
}

/// The calls whose results the model has not seen, in words and as an action: the commands, and the files that they name, read
/// or change.
fn answered(workspace: &Workspace, prompt: &Prompt<'_>, claimed: &[String]) -> Option<(String, Action)> {
    let engine = workspace.engine.as_ref()?;
    let newest = prompt.tail().saturating_sub(1)..prompt.messages.len();
    let (places, is_there) = ((&*workspace.root, claimed), |path: &RelPath| engine.has_file(path));
    let effects = tool_effects(prompt, newest.clone(), places, &is_there);
    let command = |call: AnsweredCall| match ToolCall::of(&call.name, &call.arguments)? {
        ToolCall::Command(line) => Some(line),
        ToolCall::Edit { .. } => None,
    };
    let commands: Vec<String> = answered_calls(prompt, newest).into_iter().filter_map(command).collect();
    let named: Vec<RelPath> = commands.iter().flat_map(|line| named_files(line, places, &is_there)).collect();
    let used = [effects.edited, effects.read].concat();
    // A command stands for the files that it names.
    let files = used.iter().filter(|file| !named.contains(file)).map(RelPath::to_string);
    let words: Vec<String> = commands.iter().map(|line| in_words(line)).chain(files).take(MOST_SUBJECTS).collect();
    (!words.is_empty()).then(|| (words.join(", "), Action { files: [used, named].concat(), commands }))
}

/// The beginning of a command as the subject of a block.
fn in_words(line: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = redact(&line).chars().take(MOST_SUBJECT).collect();
    format!("`{line}`")
}
