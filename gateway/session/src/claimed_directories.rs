//! The directories that a request claims to work in, from its headers and its environment blocks.
//!
//! A claim grants no access. Only text that client programs write can contain one; human text and tool results are not searched.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderName};
use memchr::memmem::Finder;
use muninn_wire::{Message, Passage, Prompt, Role};

/// The header in which a client names its repository.
const REPOSITORY: HeaderName = HeaderName::from_static("x-muninn-repo");
/// The header in which Codex describes its turn.
const CODEX_METADATA: HeaderName = HeaderName::from_static("x-codex-turn-metadata");
/// The most directories of one request that are examined.
const MOST_WORKSPACES: usize = 16;

/// Line prefixes that are followed by a directory.
static LINE_MARKS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["Primary working directory:", "Working directory:", "Workspace root folder:"].map(Finder::new));
/// The element that holds a directory.
static ELEMENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("<cwd>"));

/// The directories that a conversation claims to work in.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClaimedDirectories {
    /// The directories claimed now; empty if there are none.
    pub now: Vec<String>,
    /// The directory that the conversation opened with. It seeds the chain: unlike `now` it does not change while a client
    /// only appends.
    pub opening: Option<String>,
    /// The directory in the messages before the first answer, if there is no other. Claude Code writes its environment
    /// behind the first human text, which may be the same in every worktree.
    pub opening_messages: Option<String>,
}

/// Reads a request's claims. A header describes the present and has precedence over text. In text the last environment
/// block counts, because a client that changes its directory writes a new one.
pub fn claimed_directories(headers: &HeaderMap, prompt: &Prompt<'_>) -> ClaimedDirectories {
    let in_message = |message: &Message<'_>| {
        let mut texts = message.texts();
        match message.role {
            Role::System => texts.find_map(directory_in),
            Role::User => texts.filter(|text| is_client_text(text)).find_map(directory_in),
            _ => None,
        }
    };
    let system = prompt.system.iter().find_map(directory_in);
    // Not from a message: the chain hashes messages anyway, and a later message must not change earlier keys.
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
    let mut first_messages = prompt.messages.iter().take_while(|message| message.role != Role::Assistant);
    let opening = first.or_else(|| from_headers.then(|| now.first().cloned()).flatten());
    ClaimedDirectories {
        opening_messages: if opening.is_none() { first_messages.find_map(in_message) } else { None },
        opening,
        now,
    }
}

fn named_repository(headers: &HeaderMap) -> Vec<String> {
    let named = headers.get(REPOSITORY).and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
    named.map(str::to_owned).into_iter().collect()
}

/// `x-codex-turn-metadata`: JSON with a `workspaces` object keyed by root.
fn codex_workspaces(headers: &HeaderMap) -> Vec<String> {
    let roots = || -> Option<Vec<String>> {
        let value = headers.get(CODEX_METADATA)?.to_str().ok()?;
        let metadata: serde_json::Value = serde_json::from_str(value).ok()?;
        Some(metadata.get("workspaces")?.as_object()?.keys().cloned().collect())
    };
    let mut roots = roots().unwrap_or_default();
    // Each one costs a file system lookup.
    roots.truncate(MOST_WORKSPACES);
    roots
}

fn is_client_text(text: &Passage<'_>) -> bool {
    let inner = text.literal()[1..].trim_start();
    inner.starts_with("<system-reminder") || inner.starts_with("<environment_") || inner.starts_with("<env>")
}

fn directory_in(text: &Passage<'_>) -> Option<String> {
    // Most texts name no directory; searching the undecoded text avoids a copy.
    let is_named = |mark: &Finder<'_>| mark.find(text.literal().as_bytes()).is_some();
    let (is_element, is_line) = (is_named(&ELEMENT), LINE_MARKS.iter().any(is_named));
    if !is_element && !is_line {
        return None;
    }
    let text = text.decoded();
    if let Some(at) = ELEMENT.find_iter(text.as_bytes()).last() {
        return text[at + ELEMENT.needle().len()..].split_once("</cwd>").map(|(path, _)| path.trim().to_owned());
    }
    let last = LINE_MARKS.iter().filter_map(|mark| {
        let marks = mark.find_iter(text.as_bytes());
        let at = marks.filter(|at| begins_line(&text[..*at])).last()?;
        Some(at + mark.needle().len())
    });
    let path = text[last.max()?..].lines().next()?.trim();
    Some(path.to_owned()).filter(|path| !path.is_empty())
}

/// Whether only white space and list marks stand before the end of this text in its line.
fn begins_line(before: &str) -> bool {
    let line = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |end| end + 1);
    before[line..].trim_start().trim_start_matches("- ").is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_wire::WireFormat;

    fn claimed(format: WireFormat, body: &str) -> Vec<String> {
        claimed_directories(&HeaderMap::new(), &Prompt::parse(format, body.as_bytes()).unwrap()).now
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
    fn human_text_is_no_claim() {
        let typed = r#"{"messages":[{"role":"user","content":"Working directory: /etc"}]}"#;
        assert!(claimed(WireFormat::Chat, typed).is_empty());
    }

    #[test]
    fn last_environment_block_wins() {
        let moved = r#"{"messages":[{"role":"system","content":"Working directory: /old"},{"role":"user","content":"x"},{"role":"system","content":"Working directory: /new"}]}"#;
        let moved = claimed_directories(&HeaderMap::new(), &Prompt::parse(WireFormat::Chat, moved.as_bytes()).unwrap());
        assert_eq!(moved.now, ["/new"]);
        assert_eq!(moved.opening, None);
        assert_eq!(moved.opening_messages.as_deref(), Some("/old"));
    }
}
