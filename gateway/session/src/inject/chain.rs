//! The hash chain: a key for every point of a conversation where a block may be inserted.
//!
//! The chain runs over text blocks, not messages, because clients append blocks to an earlier message and turn a lone
//! block into a string. Each text is hashed without trailing whitespace, so cache markers, item ids and the shape of the
//! content, which clients change between turns, change no key. Calls, results, thinking and images are not hashed: clients
//! trim old results and drop images, and the text before a turn identifies it. A point behind tool results has a key of its
//! own beside the chain, from the ids of the calls.

use muninn_ledger::TurnKey;
use muninn_wire::{Block, Message, Prompt, Role, Site, ToolPart};

/// The seed that keeps conversations with the same text apart.
#[derive(Debug, Clone, Copy)]
pub struct Seed<'a> {
    /// The name of the access key, empty if there is none.
    pub access_key: &'a str,
    /// The worktree that the conversation opened in, or the claimed directory.
    pub worktree: &'a str,
}

/// A point where a block may be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// The text block or tool result that ends there.
    pub site: Site,
    pub key: TurnKey,
    /// Whether an assistant message follows.
    pub answered: bool,
    /// The chain after the next assistant text; it distinguishes conversations that opened alike.
    pub continuation: Option<TurnKey>,
    /// Whether the next answer has text. Then the keys of all later boundaries prove the continuation.
    pub has_text_answer: bool,
}

/// All boundaries of a conversation, in order.
#[derive(Debug)]
pub struct Chain {
    pub boundaries: Vec<Boundary>,
}

impl Chain {
    /// Computes the chain of a conversation.
    pub fn of(prompt: &Prompt<'_>, seed: Seed<'_>) -> Chain {
        let tail = prompt.tail();
        let mut state = start(prompt, seed);
        let mut boundaries: Vec<Boundary> = Vec::new();
        // Boundaries from this index on have no continuation yet.
        let mut unanswered = 0;
        // The chain before the answer.
        let mut asked = state;
        for (index, message) in prompt.messages.iter().enumerate() {
            for (block_index, block) in message.blocks.iter().enumerate() {
                let site = Site { message: index, block: block_index };
                let key = match step(state, message.role, block) {
                    Some(next) => {
                        state = next;
                        prompt.is_boundary(site).then_some(state)
                    }
                    None => prompt.is_after_results(site).then(|| behind_results(state, message)),
                };
                let answered = index < tail;
                let boundary = |key| Boundary { site, key, answered, continuation: None, has_text_answer: false };
                boundaries.extend(key.map(boundary));
            }
            if message.role != Role::Assistant {
                asked = state;
            }
            let ends_answer = message.role == Role::Assistant
                && prompt.messages.get(index + 1).is_none_or(|next| next.role != Role::Assistant);
            if ends_answer {
                for boundary in &mut boundaries[unanswered..] {
                    boundary.continuation = Some(state);
                    boundary.has_text_answer = state != asked;
                }
                unanswered = boundaries.len();
            }
        }
        Chain { boundaries }
    }

    /// The boundary at a site.
    pub fn at(&self, site: Site) -> Option<&Boundary> {
        self.boundaries.iter().find(|boundary| boundary.site == site)
    }
}

fn start(prompt: &Prompt<'_>, seed: Seed<'_>) -> TurnKey {
    let mut hasher = blake3::Hasher::new_derive_key("muninn ledger chain 1");
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(seed.access_key);
    part(seed.worktree);
    // Where the backend keeps the history, the request holds only the newest part of the conversation.
    for stored in ["previous_response_id", "conversation"] {
        part(prompt.members.get(stored).unwrap_or_default());
    }
    TurnKey::from_bytes(*hasher.finalize().as_bytes())
}

/// The key behind a message's tool results, from the ids of their calls: clients may change everything else in them. The
/// chain itself does not include them.
fn behind_results(state: TurnKey, message: &Message<'_>) -> TurnKey {
    let mut hasher = blake3::Hasher::new_keyed(state.as_bytes());
    hasher.update(b"results");
    for part in &message.tools {
        if let ToolPart::Result { id, .. } = part {
            let id = id.decode();
            hasher.update(&(id.len() as u64).to_le_bytes());
            hasher.update(id.as_bytes());
        }
    }
    TurnKey::from_bytes(*hasher.finalize().as_bytes())
}

/// The chain after one more block, `None` for a block that is not hashed.
fn step(state: TurnKey, role: Role, block: &Block<'_>) -> Option<TurnKey> {
    let text = block.text.as_ref()?.decoded().trim_end();
    if text.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new_keyed(state.as_bytes());
    hasher.update(&[role as u8]);
    hasher.update(text.as_bytes());
    Some(TurnKey::from_bytes(*hasher.finalize().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_wire::WireFormat;

    const SEED: Seed<'_> = Seed { access_key: "", worktree: "/w" };

    /// The keys behind texts.
    fn keys(body: &str) -> Vec<TurnKey> {
        of_kind(body, false)
    }

    /// The keys behind text, or those behind tool results.
    fn of_kind(body: &str, results: bool) -> Vec<TurnKey> {
        let prompt = Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap();
        let boundaries = Chain::of(&prompt, SEED).boundaries;
        let wanted = boundaries.iter().filter(|boundary| prompt.is_after_results(boundary.site) == results);
        wanted.map(|boundary| boundary.key).collect()
    }

    #[test]
    fn tool_results_are_keyed_by_call_id_and_change_no_other_key() {
        let body = |result: &str| {
            format!(
                r#"{{"messages":[{{"role":"user","content":"q"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"x","name":"n","input":{{}}}}]}},{{"role":"user","content":[{result}{{"type":"text","text":"t"}}]}}]}}"#
            )
        };
        let result = |id: &str, content: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}"{content}}},"#);
        let whole = body(&result("x", r#","content":[{"type":"text","text":"lines"}]"#));
        let trimmed = body(&result("x", r#","content":"[cleared]""#));
        let other = body(&result("y", ""));
        assert_eq!(of_kind(&whole, true).len(), 1);
        assert_eq!(of_kind(&whole, true), of_kind(&trimmed, true));
        assert_ne!(of_kind(&whole, true), of_kind(&other, true));
        assert_eq!(keys(&whole), keys(&body("")));
    }

    #[test]
    fn changes_that_clients_make_between_turns_change_no_key() {
        let before = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"r"},{"type":"text","text":"q\n","cache_control":{"type":"ephemeral"}}]}]}"#;
        let after = r#"{"messages":[{"content":[{"text":"r","type":"text"},{"type":"tool_result","tool_use_id":"x"},{"type":"text","text":"\u0071"}],"role":"user"},{"role":"assistant","content":"a"}]}"#;
        assert_eq!(keys(before), keys(after));
        assert_eq!(
            keys(r#"{"messages":[{"role":"user","content":"q"}]}"#),
            keys(r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}"#)
        );
    }

    #[test]
    fn roles_and_block_borders_change_keys() {
        let of = |content: &str| keys(&format!(r#"{{"messages":[{{"role":"user","content":{content}}}]}}"#)).pop();
        assert_ne!(of(r#""ab""#), of(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#));
        let said_by = |role: &str| {
            keys(&format!(r#"{{"messages":[{{"role":"{role}","content":"a"}},{{"role":"user","content":"b"}}]}}"#))
                .pop()
        };
        assert_ne!(said_by("assistant"), said_by("system"));
    }

    #[test]
    fn boundary_has_a_continuation_once_answered() {
        let body = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"p"}]}"#;
        let prompt = Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap();
        let chain = Chain::of(&prompt, SEED);
        assert!(chain.boundaries[0].answered && chain.boundaries[0].continuation.is_some());
        assert!(!chain.boundaries[1].answered && chain.boundaries[1].continuation.is_none());
    }
}
