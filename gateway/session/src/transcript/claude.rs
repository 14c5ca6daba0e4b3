//! The transcript of Claude Code: one JSON object per line, with messages of the Messages API among other lines.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Transcript;

/// A line with a message. The flags mark lines that are no turn of the main conversation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    message: &'a RawValue,
    /// A message of a subagent.
    #[serde(default)]
    is_sidechain: bool,
    /// A note of the client.
    #[serde(default)]
    is_meta: bool,
    /// An error of the API, shown as an answer.
    #[serde(default)]
    is_api_error_message: bool,
    /// The summary that replaces the messages before it.
    #[serde(default)]
    is_compact_summary: bool,
}

/// Takes the message of a line.
pub(super) fn take(line: &[u8], transcript: &mut Transcript) {
    // Most bytes of a transcript are in lines of other kinds, which are not parsed.
    let is_message = [&br#""user""#[..], br#""assistant""#].iter().any(|kind| memmem::find(line, kind).is_some());
    if !is_message {
        return;
    }
    let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
        return;
    };
    if !matches!(line.kind, "user" | "assistant") {
        return;
    }
    if line.is_sidechain || line.is_meta || line.is_api_error_message {
        return;
    }
    if line.is_compact_summary {
        transcript.restart();
    }
    transcript.push(line.message.get());
}
