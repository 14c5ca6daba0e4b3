//! Ids of calls and of their results: short, and each once in a conversation. OpenAI refuses an input with `Duplicate
//! 'call_id'`, Anthropic with `tool_use ids must be unique`. Some backends count ids from zero in each answer, or give none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::ids;
use super::super::request::{Dropped, Message, Part, Speaker};

/// The rule of a format for ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The prefix of a replaced id.
    prefix: &'static str,
    /// The longest id, in bytes.
    longest: usize,
    /// Whether only ASCII letters, digits, `-` and `_` are allowed. The ids of some models (`functions.read:0`) tell them more than
    /// a replacement would.
    is_plain: bool,
}

impl Rule {
    /// OpenAI: "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40".
    pub(super) const CHAT: Rule = Rule { prefix: "call_", longest: 40, is_plain: false };
    /// OpenAI: "Invalid 'input[149].call_id': string too long. Expected a string with maximum length 64".
    pub(super) const RESPONSES: Rule = Rule { longest: 64, ..Rule::CHAT };
    /// Anthropic: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'". Bedrock: at most 64.
    pub(super) const MESSAGES: Rule = Rule { prefix: "toolu_", longest: 64, is_plain: true };
}

/// A call without a result so far.
struct OpenCall<'a> {
    own: Cow<'a, str>,
    sent: Cow<'a, str>,
}

/// Replaces the ids that break a rule, in calls and in their results.
pub(super) fn fit(messages: &mut [Message<'_>], rule: Rule, dropped: &mut Dropped) {
    let mut taken = BTreeMap::new();
    let mut open: Vec<OpenCall<'_>> = Vec::new();
    // The first of the open calls that the last turn of the model made.
    let mut turn = 0;
    let mut is_answered = false;
    for message in messages {
        let is_model = message.speaker == Speaker::Assistant;
        if is_model && std::mem::take(&mut is_answered) {
            turn = open.len();
        }
        is_answered |= message.speaker == Speaker::User;
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => {
                    let sent = unique(fitting(&call.id, rule), rule, &mut taken);
                    let own = std::mem::replace(&mut call.id, sent.clone());
                    if own != sent {
                        dropped.add("messages.call_id");
                    }
                    open.push(OpenCall { own, sent });
                }
                Part::ToolResult(result) => {
                    // A result belongs to a call of the last turn, or comes late.
                    let is_its = |call: &OpenCall<'_>| call.own == result.call;
                    let of_turn = open[turn..].iter().position(is_its).map(|at| turn + at);
                    if let Some(at) = of_turn.or_else(|| open[..turn].iter().rposition(is_its)) {
                        turn -= usize::from(at < turn);
                        result.call = open.remove(at).sent;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns an id that the vendors accept: the own one, wrapped, or its hash.
fn fitting<'a>(id: &Cow<'a, str>, rule: Rule) -> Cow<'a, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let wrapped = if id.is_empty() || rule.is_plain && !id.bytes().all(plain) {
        Cow::Owned(ids::wrap(rule.prefix, id).into_owned())
    } else {
        id.clone()
    };
    if wrapped.len() > rule.longest { Cow::Owned(hashed(id, rule)) } else { wrapped }
}

/// Returns the id, or one with a number if the conversation has it already.
///
/// `taken` has the ids so far, each with how often it was asked for.
fn unique<'a>(id: Cow<'a, str>, rule: Rule, taken: &mut BTreeMap<String, usize>) -> Cow<'a, str> {
    let mut sent = id.clone();
    while taken.contains_key(&*sent) {
        let count = taken.entry(id.to_string()).or_default();
        *count += 1;
        let numbered = format!("{id}_{}", *count + 1);
        sent = Cow::Owned(if numbered.len() > rule.longest { hashed(&numbered, rule) } else { numbered });
    }
    taken.insert(sent.to_string(), 0);
    sent
}

fn hashed(id: &str, rule: Rule) -> String {
    format!("{}{}", rule.prefix, &blake3::hash(id.as_bytes()).to_hex()[..32])
}
