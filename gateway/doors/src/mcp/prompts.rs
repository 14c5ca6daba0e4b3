//! Prompts: texts that a person starts from a menu of the client.

use muninn_notebooks::personal::QUESTIONS;
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

pub(super) fn list() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, required: bool| {
        PromptArgument::new(name).with_description(about).with_required(required)
    };
    vec![
        Prompt::new(
            "recall",
            Some("Tell what the team knows about a subject"),
            Some(vec![argument("about", "the subject", true)]),
        ),
        Prompt::new(
            "explain-context",
            Some("Explain what Muninn added to the last prompt, and whether it helped"),
            Some(vec![argument("receipt", "the receipt's id; the latest if absent", false)]),
        ),
        Prompt::new("settle-conflicts", Some("Go through memories that contradict each other, or may"), None),
        Prompt::new("setup", Some("Set up your personal memory with three questions"), None),
    ]
}

/// A prompt with its arguments.
///
/// # Errors
/// An error of the protocol if there is no such prompt, or an argument is missing.
pub(super) fn get(name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| {
        let value = arguments.and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
        value.map(str::trim).filter(|value| !value.is_empty())
    };
    let text = match name {
        "recall" => {
            let about = argument("about")
                .ok_or_else(|| ErrorData::invalid_params("`about` is missing: name the subject", None))?;
            format!(
                "Call the tool `recall` with \"{about}\". Tell me what the team knows about it, with dates and ids. Say which \
                 memories are stale or contradict each other. Add nothing that is not there."
            )
        }
        "explain-context" => {
            let receipt = match argument("receipt") {
                Some(id) => format!("Read the resource muninn://receipt/{id}."),
                None => "Run `muninn why --last`, or read the receipt that `find_context` named last.".to_owned(),
            };
            format!(
                "{receipt} Explain in plain words what was added, why each item was chosen, and what it cost. Then say which \
                 items you used, and which were beside the point."
            )
        }
        "settle-conflicts" => {
            "If you have no tools `list_conflicts` and `resolve_conflict`, run `muninn conflicts --undecided --json` and `muninn resolve \
            --by agent --batch ID` instead. Call the tool `list_conflicts` with `undecided`. Decide the pairs of the batch as its instructions say, and look at the \
            code where that helps. Call `resolve_conflict` with the `batch` and your `decisions`, and repeat until there is no \
            batch. Tell me what you decided. Then call `list_conflicts`. Go through the conflicts one at a time: show me both sides with \
            date and author, check the cited files, say which side the code supports, and ask me what to keep. Call \
            `resolve_conflict` only with my answer, and put my reason into `note`. Then call `recall` with `unasked`: for each memory, \
            call `add_questions` with two or three short questions of somebody who needs it and does not know its words."
                .to_owned()
        }
        "setup" => {
            let questions = QUESTIONS.map(|question| format!("- {question}\n")).concat();
            format!(
                "Call the tool `get_context`. If `isFirstRun` is false, tell me what is set up, and change nothing. Otherwise ask me \
                 these questions, one at a time:\n{questions}Also ask whether the files should be kept in a git repository. Then run \
                 `muninn personal init` with my answers in `--name`, `--style` and `--work`, and with `--git` if I want it. If you \
                 cannot run commands, write `identity.md`, `state/inbox.md`, `state/today.md` and `state/commitments.md` below \
                 `paths.root`, each with a heading and only what I said. Write down nothing that I did not say, and no secrets."
            )
        }
        _ => {
            return Err(ErrorData::invalid_params(format!("there is no prompt `{name}`"), None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
