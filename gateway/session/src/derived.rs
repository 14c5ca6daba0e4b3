//! The derived id: an id for a conversation whose client names no session, from its opening.
//!
//! A hash of the system prompt alone, as some gateways use, would be the same for all users of a client. This one includes
//! the first human text and everything that clients put before it, such as the directory.

use std::fmt;

use muninn_wire::{Message, Prompt, Role};

use super::human::{human_text, without_packs};

/// The prefix of Claude Code's first system block, which names the client's build and is not hashed.
const BILLING: &str = "x-anthropic-billing-header";

/// The hash of a conversation's opening: system text, tool names and the first human turn. It labels conversations in
/// receipts and memory. Two conversations with the same opening share it, so the ledger does not use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DerivedId(blake3::Hash);

impl DerivedId {
    /// Derives the id; `None` without a human turn. It does not change when a client appends, moves its cache markers or
    /// writes a lone text block as a string, and does not depend on packs in the prompt.
    pub(super) fn of(prompt: &Prompt<'_>) -> Option<DerivedId> {
        let is_human = |message: &Message<'_>| message.role == Role::User && !human_text(message).is_empty();
        let first = prompt.messages.iter().position(is_human)?;
        let mut hasher = blake3::Hasher::new_derive_key("muninn derived session 1");
        let mut part = |kind: u8, text: &str| {
            hasher.update(&[kind]);
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for text in &prompt.system {
            let text = text.decoded();
            if !text.starts_with(BILLING) {
                part(b's', text.trim_end());
            }
        }
        // Schemas are left out: they may carry cache markers.
        for name in prompt.tools.iter().filter_map(|tool| tool.name.as_deref()) {
            part(b't', name);
        }
        for message in &prompt.messages[..first] {
            for text in message.texts() {
                part(message.role as u8, without_packs(text.decoded()).trim_end());
            }
        }
        part(b'h', human_text(&prompt.messages[first]));
        Some(DerivedId(hasher.finalize()))
    }
}

impl fmt::Display for DerivedId {
    /// The first 16 hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.to_hex()[..16])
    }
}

impl fmt::Debug for DerivedId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DerivedId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newest_human_turn;
    use muninn_wire::WireFormat;
    use muninn_wire::splice;

    const BLOCK: &str = "<muninn-context>\nsrc/a.rs:1-2\n</muninn-context>\n";

    fn derived(format: WireFormat, body: &str) -> Option<DerivedId> {
        DerivedId::of(&Prompt::parse(format, body.as_bytes()).unwrap())
    }

    fn messages(system: &str, content: &str, more: &str) -> Option<DerivedId> {
        let body = format!(
            r#"{{"system":{system},"tools":[{{"name":"Grep","input_schema":{{}}}}],"messages":[{{"role":"user","content":{content}}}{more}]}}"#
        );
        derived(WireFormat::Messages, &body)
    }

    #[test]
    fn conversations_with_the_same_system_prompt_differ() {
        let one = messages(r#""You are.""#, r#""fix the parser""#, "");
        assert!(one.is_some());
        assert_ne!(one, messages(r#""You are.""#, r#""fix the lexer""#, ""));
        assert_ne!(one, messages(r#""You were.""#, r#""fix the parser""#, ""));
        let bare = r#"{"system":"You are.","messages":[{"role":"user","content":"fix the parser"}]}"#;
        assert_ne!(one, derived(WireFormat::Messages, bare), "tools count");
        let nobody = r#"{"system":"You are.","messages":[{"role":"user","content":"<env>x</env>"}]}"#;
        assert_eq!(derived(WireFormat::Messages, nobody), None);
    }

    #[test]
    fn changes_between_turns_keep_the_derived_id() {
        let one = messages(r#""You are.""#, r#""fix the parser""#, "");
        let marked = r#"{"type":"ephemeral"}"#;
        let listed = messages(
            &format!(r#"[{{"type":"text","text":"You are.","cache_control":{marked}}}]"#),
            &format!(r#"[{{"type":"text","text":"fix the parser","cache_control":{marked}}}]"#),
            r#",{"role":"assistant","content":"ok"},{"role":"user","content":"and the lexer"}"#,
        );
        assert_eq!(one, listed);
        let billed =
            r#"[{"type":"text","text":"x-anthropic-billing-header: cc_version=2;"},{"type":"text","text":"You are."}]"#;
        assert_eq!(one, messages(billed, r#""fix the parser""#, ""));
    }

    #[test]
    fn injected_pack_keeps_the_derived_id() {
        let cases = [
            (WireFormat::Messages, r#"{"messages":[{"role":"user","content":"fix the parser"}]}"#),
            (
                WireFormat::Chat,
                r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"fix the parser"}]}"#,
            ),
            (
                WireFormat::Responses,
                r#"{"instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"<environment_context><cwd>/w</cwd></environment_context>"}]},{"role":"user","content":[{"type":"input_text","text":"fix the parser"}]}]}"#,
            ),
        ];
        for (format, body) in cases {
            let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
            let site = newest_human_turn(&prompt).unwrap().site;
            let injected = splice(body.as_bytes().to_vec(), prompt.insert(site, BLOCK));
            let injected = String::from_utf8(injected.to_vec()).unwrap();
            assert!(injected.contains("muninn-context"), "{injected}");
            assert_eq!(derived(format, body), derived(format, &injected), "{format:?}");
        }
    }

    #[test]
    fn directory_before_the_first_text_counts() {
        let codex = |directory: &str| {
            let body = format!(
                r#"{{"input":[{{"role":"user","content":"<environment_context><cwd>{directory}</cwd></environment_context>"}},{{"role":"user","content":"fix"}}]}}"#
            );
            derived(WireFormat::Responses, &body)
        };
        assert_ne!(codex("/a"), codex("/b"));
    }
}
