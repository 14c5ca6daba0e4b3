//! Where a request says that it works: the directories named by its headers and its environment blocks.
//!
//! The claim is never trusted to open anything; it only decides whether the served repository is the one that is meant.
//! Text that a person typed or a tool returned is not read for it, only what clients write themselves.

use http::HeaderMap;

use crate::wire::{Message, Prompt, Role, Text};

/// The directories of one request that are looked at; nobody works in more at a time.
const MOST_WORKSPACES: usize = 16;

/// Line beginnings that are followed by a directory.
const LINE_MARKS: [&str; 3] = [
    "Primary working directory:",
    "Working directory:",
    "Workspace root folder:",
];

/// Where a conversation says that it takes place.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Workplace {
    /// The directories claimed now, any of which may be the served one; empty where nothing is said.
    pub now: Vec<String>,
    /// The directory that the conversation opened with. It tells conversations apart, and unlike `now` it never
    /// changes while a client only appends.
    pub at_first: Option<String>,
    /// The directory that the messages before the model's first word name, where nothing else does. Claude Code writes
    /// its environment behind the person's first words, which are the same in every worktree.
    pub in_opening: Option<String>,
}

/// Reads a request's claims. A header speaks for the present and wins over text; in text the last environment block
/// does, since a client that changes its directory says so again.
#[must_use]
pub fn workplace(headers: &HeaderMap, prompt: &Prompt<'_>) -> Workplace {
    let in_message = |message: &Message<'_>| {
        let mut texts = message.blocks.iter().filter_map(|block| block.text);
        match message.role {
            Role::System => texts.find_map(directory_in),
            Role::User => texts.filter(is_client_text).find_map(directory_in),
            _ => None,
        }
    };
    let system = prompt.system.iter().copied().find_map(directory_in);
    // Not from a message: those are told apart by their text, and one that comes later must not change what was before.
    let first = system.clone();
    let last = prompt.messages.iter().rev().find_map(in_message).or(system);
    let mut now = named_repository(headers);
    if now.is_empty() {
        now = codex_workspaces(headers);
    }
    let from_headers = !now.is_empty();
    if now.is_empty() {
        now.extend(last);
    }
    let mut opening = prompt
        .messages
        .iter()
        .take_while(|message| message.role != Role::Assistant);
    let at_first = first.or_else(|| from_headers.then(|| now.first().cloned()).flatten());
    Workplace {
        in_opening: if at_first.is_none() {
            opening.find_map(in_message)
        } else {
            None
        },
        at_first,
        now,
    }
}

fn named_repository(headers: &HeaderMap) -> Vec<String> {
    let named = headers.get("x-muninn-repo").and_then(|value| value.to_str().ok());
    named.map(str::to_owned).into_iter().collect()
}

/// `x-codex-turn-metadata`: JSON with a `workspaces` object keyed by root.
fn codex_workspaces(headers: &HeaderMap) -> Vec<String> {
    let roots = || -> Option<Vec<String>> {
        let value = headers.get("x-codex-turn-metadata")?.to_str().ok()?;
        let metadata: serde_json::Value = serde_json::from_str(value).ok()?;
        Some(metadata.get("workspaces")?.as_object()?.keys().cloned().collect())
    };
    let mut roots = roots().unwrap_or_default();
    // Each one is looked for on the disk.
    roots.truncate(MOST_WORKSPACES);
    roots
}

fn is_client_text(text: &Text<'_>) -> bool {
    let inner = text.literal()[1..].trim_start();
    inner.starts_with("<system-reminder") || inner.starts_with("<environment_") || inner.starts_with("<env>")
}

fn directory_in(text: Text<'_>) -> Option<String> {
    let raw = text.literal();
    // Most texts say nothing about a directory; a search in the undecoded text settles that without a copy.
    if !raw.contains("orking directory:") && !raw.contains("<cwd>") && !raw.contains("Workspace root folder:") {
        return None;
    }
    let text = text.decode();
    if let Some((_, rest)) = text.rsplit_once("<cwd>") {
        return rest.split_once("</cwd>").map(|(path, _)| path.trim().to_owned());
    }
    let marked = |line: &str| {
        let line = line.trim().trim_start_matches("- ");
        LINE_MARKS
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .map(|path| path.trim().to_owned())
    };
    text.lines().rev().find_map(marked).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::WireFormat;

    fn claimed(format: WireFormat, body: &str) -> Vec<String> {
        workplace(&HeaderMap::new(), &Prompt::parse(format, body.as_bytes()).unwrap()).now
    }

    #[test]
    fn environment_blocks_of_all_clients_are_read() {
        let system_role = r##"{"messages":[{"role":"user","content":"x"},{"role":"system","content":"# Environment\n - Primary working directory: /a/b\n"}]}"##;
        assert_eq!(claimed(WireFormat::Messages, system_role), ["/a/b"]);
        let reminder = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nWorking directory: /c\n</system-reminder>"},{"type":"text","text":"x"}]}]}"#;
        assert_eq!(claimed(WireFormat::Messages, reminder), ["/c"]);
        let codex = r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/d e</cwd>\n</environment_context>"}]}]}"#;
        assert_eq!(claimed(WireFormat::Responses, codex), ["/d e"]);
        let opencode = r#"{"messages":[{"role":"system","content":"You are.\n<env>\n  Working directory: /f\n</env>"},{"role":"user","content":"x"}]}"#;
        assert_eq!(claimed(WireFormat::Chat, opencode), ["/f"]);
    }

    #[test]
    fn what_a_person_types_is_no_claim() {
        let typed = r#"{"messages":[{"role":"user","content":"Working directory: /etc"}]}"#;
        assert!(claimed(WireFormat::Chat, typed).is_empty());
    }

    #[test]
    fn the_last_environment_block_wins() {
        let moved = r#"{"messages":[{"role":"system","content":"Working directory: /old"},{"role":"user","content":"x"},{"role":"system","content":"Working directory: /new"}]}"#;
        let moved = workplace(
            &HeaderMap::new(),
            &Prompt::parse(WireFormat::Chat, moved.as_bytes()).unwrap(),
        );
        assert_eq!(moved.now, ["/new"]);
        assert_eq!(moved.at_first, None);
        assert_eq!(moved.in_opening.as_deref(), Some("/old"));
    }
}
