//! A conversation as turns of two sides: first the user's, then in alternation, each call answered in the turn right
//! after it, and nothing empty. This is what the API demands; other formats let more pass.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::super::ToolNames;
use super::super::ids;
use super::super::request::{Dropped, JsonStr, Message, Part, Speaker, ToolCall, ToolResult};
use super::blocks::{Block, Turn, material, thought, words};
use super::capabilities::ConversationEnd;
use super::{NAMES, object, reminder};

/// Stands for what the user must have said before the model began.
const OPENING: &str = "[The conversation begins.]";

/// Stands for the result of a call that never came to one.
const NO_RESULT: &str = "[no result: the call was interrupted]";

/// What a side says, before calls and results have found each other.
enum SidePart<'r> {
    Block(Block<'r>),
    Call(&'r ToolCall<'r>),
    Result(&'r ToolResult<'r>, Vec<Block<'r>>),
}

/// Writes a conversation, what stands before it as system text excepted.
pub(super) fn turns<'r>(messages: &'r [Message<'r>], dropped: &mut Dropped, names: &mut ToolNames) -> Vec<Turn<'r>> {
    let mut sides = SideTurns::default();
    for message in messages {
        match message.speaker {
            Speaker::System => sides.reminder(message, dropped),
            Speaker::User => sides.take(message, false, dropped),
            Speaker::Assistant => sides.take(message, true, dropped),
        }
    }
    sides.trim(dropped);
    paired(sides.0, names)
}

/// What turns leave room for.
pub(super) fn conversation_end(turns: &[Turn<'_>]) -> ConversationEnd {
    let Some((last, before)) = turns.split_last() else {
        return ConversationEnd::default();
    };
    let answers = last
        .content
        .iter()
        .any(|block| matches!(block, Block::ToolResult { .. }));
    let thought = before
        .last()
        .and_then(|turn| turn.content.first())
        .is_some_and(Block::is_thinking);
    ConversationEnd {
        prefilled: last.role == "assistant",
        thoughtless_loop: answers && !thought,
    }
}

/// What the sides say in turns; `true` is the model's.
#[derive(Default)]
struct SideTurns<'r>(Vec<(bool, Vec<SidePart<'r>>)>);

impl<'r> SideTurns<'r> {
    fn say(&mut self, model: bool, said: SidePart<'r>, dropped: &mut Dropped) {
        if self.0.last().is_none_or(|(last, _)| *last != model) {
            self.trim(dropped);
        }
        match self.0.last_mut() {
            Some((last, side)) if *last == model => side.push(said),
            _ => self.0.push((model, vec![said])),
        }
    }

    /// Takes thinking away from the end of the model's side, where the API refuses it.
    fn trim(&mut self, dropped: &mut Dropped) {
        let Some((true, side)) = self.0.last_mut() else { return };
        while side
            .pop_if(|said| matches!(said, SidePart::Block(block) if block.is_thinking()))
            .is_some()
        {
            dropped.add("messages.thinking");
        }
        if side.is_empty() {
            self.0.pop();
        }
    }

    /// System text in the middle goes to the user's side: few servers take it anywhere else, and moved to the front it
    /// would change the beginning of the prompt.
    fn reminder(&mut self, message: &'r Message<'r>, dropped: &mut Dropped) {
        let mut texts = Vec::new();
        let mut marker = None;
        for part in &message.parts {
            match part {
                Part::Text { text, cache_control } => {
                    texts.extend((!text.is_blank()).then(|| text.borrowed()));
                    marker = marker.or(*cache_control);
                }
                part => self.part(part, false, dropped),
            }
        }
        if !texts.is_empty() {
            let text = reminder(&JsonStr::joined(texts).decode()).into_owned();
            let block = Block::Text {
                text: text.into(),
                cache_control: marker,
            };
            self.say(false, SidePart::Block(block), dropped);
        }
    }

    fn take(&mut self, message: &'r Message<'r>, model: bool, dropped: &mut Dropped) {
        for part in &message.parts {
            self.part(part, model, dropped);
        }
    }

    fn part(&mut self, part: &'r Part<'r>, model: bool, dropped: &mut Dropped) {
        match part {
            Part::ToolCall(call) => self.say(true, SidePart::Call(call), dropped),
            Part::ToolResult(result) => {
                let content = result.parts.iter().filter_map(|part| material(part, dropped));
                let content = content.collect();
                self.say(false, SidePart::Result(result, content), dropped);
            }
            Part::Thinking(thinking) => match thought(thinking) {
                Some(block) => self.say(true, SidePart::Block(block), dropped),
                None => dropped.add("messages.thinking"),
            },
            // The model's own text must not end in white space where the model is to continue it. Whether it is can
            // change from request to request, so it never does.
            Part::Text { text, cache_control } if model => {
                if let Some(block) = words(text.trim_end(), *cache_control) {
                    self.say(true, SidePart::Block(block), dropped);
                }
            }
            Part::Image { .. } if model => dropped.add("messages.image"),
            Part::Document { .. } if model => dropped.add("messages.document"),
            part => {
                if let Some(block) = material(part, dropped) {
                    self.say(model, SidePart::Block(block), dropped);
                }
            }
        }
    }
}

/// A call that waits for its result.
struct PendingCall<'r> {
    /// The id that the client's result names.
    call: &'r str,
    /// The id that the backend is given.
    sent: Cow<'r, str>,
    answered: bool,
}

fn paired<'r>(sides: Vec<(bool, Vec<SidePart<'r>>)>, names: &mut ToolNames) -> Vec<Turn<'r>> {
    let mut turns = Vec::with_capacity(sides.len() + 2);
    if sides.first().is_none_or(|(model, _)| *model) {
        turns.push(user(vec![Block::text(OPENING)]));
    }
    let mut taken = BTreeSet::new();
    let mut pending = Vec::new();
    for (model, side) in sides {
        turns.push(if model {
            let content = calls(side, &mut taken, &mut pending, names);
            Turn {
                role: "assistant",
                content,
            }
        } else {
            user(results(side, &mut pending))
        });
    }
    if !pending.is_empty() {
        turns.push(user(results(Vec::new(), &mut pending)));
    }
    turns
}

fn user(content: Vec<Block<'_>>) -> Turn<'_> {
    Turn { role: "user", content }
}

fn calls<'r>(
    side: Vec<SidePart<'r>>,
    taken: &mut BTreeSet<String>,
    pending: &mut Vec<PendingCall<'r>>,
    names: &mut ToolNames,
) -> Vec<Block<'r>> {
    let blocks = side.into_iter().filter_map(|said| match said {
        SidePart::Block(block) => Some(block),
        SidePart::Call(call) => {
            let sent = unique(&call.id, taken);
            pending.push(PendingCall {
                call: &call.id,
                sent: sent.clone(),
                answered: false,
            });
            Some(Block::ToolUse {
                id: sent,
                name: names.sent(&call.name, NAMES),
                input: object(&call.arguments),
                cache_control: None,
            })
        }
        SidePart::Result(..) => None,
    });
    blocks.collect()
}

/// The id as the API takes it: of plain letters, and only once in a conversation. Some backends begin to count anew
/// with each answer.
fn unique<'r>(id: &'r str, taken: &mut BTreeSet<String>) -> Cow<'r, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let fitting = if !id.is_empty() && id.bytes().all(plain) {
        Cow::Borrowed(id)
    } else {
        ids::wrap("toolu_", id)
    };
    let mut sent = fitting.clone();
    let mut count = 1;
    while !taken.insert(sent.clone().into_owned()) {
        count += 1;
        sent = Cow::Owned(format!("{fitting}_{count}"));
    }
    sent
}

/// Writes the user's side: what came of the calls first, each of which is given one, then the rest.
fn results<'r>(side: Vec<SidePart<'r>>, pending: &mut Vec<PendingCall<'r>>) -> Vec<Block<'r>> {
    let (mut blocks, mut rest) = (Vec::new(), Vec::new());
    for said in side {
        match said {
            SidePart::Block(block) => rest.push(block),
            SidePart::Call(_) => {}
            SidePart::Result(result, content) => {
                let call = pending
                    .iter_mut()
                    .find(|pending| !pending.answered && pending.call == result.call);
                match call {
                    Some(pending) => {
                        pending.answered = true;
                        blocks.push(answered(pending.sent.clone(), content, result.is_error));
                    }
                    None => orphan(content, &mut rest),
                }
            }
        }
    }
    for pending in pending.drain(..).filter(|pending| !pending.answered) {
        blocks.push(answered(pending.sent, vec![Block::text(NO_RESULT)], true));
    }
    blocks.append(&mut rest);
    blocks
}

fn answered<'r>(tool_use_id: Cow<'r, str>, mut content: Vec<Block<'r>>, is_error: bool) -> Block<'r> {
    // The API refuses an error that says nothing.
    if is_error && content.is_empty() {
        content.push(Block::text("Error"));
    }
    Block::ToolResult {
        tool_use_id,
        content,
        is_error,
        cache_control: None,
    }
}

/// A result whose call is not there, or which is not the first of its call.
fn orphan<'r>(content: Vec<Block<'r>>, rest: &mut Vec<Block<'r>>) {
    rest.push(Block::text("[result of a tool call that is not shown]"));
    rest.extend(content);
}

#[cfg(test)]
mod tests {
    use Speaker::{Assistant, System, User};

    use super::super::super::request::Thinking;
    use super::*;

    fn says<'a>(speaker: Speaker, parts: Vec<Part<'a>>) -> Message<'a> {
        Message { speaker, parts }
    }

    fn call<'a>(id: &'a str, name: &'a str) -> Part<'a> {
        Part::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: "{}".into(),
        })
    }

    fn result<'a>(call: &'a str, text: &'a str) -> Part<'a> {
        Part::ToolResult(ToolResult {
            call: call.into(),
            parts: vec![Part::text(text)],
            is_error: false,
        })
    }

    /// Roles and blocks in short, `u:result(a) text | a:call(a)`.
    fn shape(body: &serde_json::Value) -> String {
        let turn = |turn: &serde_json::Value| {
            let blocks = turn["content"].as_array().unwrap().iter().map(|block| {
                let part = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str().unwrap() {
                    "text" => part("text"),
                    "tool_use" => format!("call({})", part("id")),
                    "tool_result" => format!("result({})", part("tool_use_id")),
                    kind => kind.to_owned(),
                }
            });
            let role = turn["role"].as_str().unwrap();
            format!("{}:{}", &role[..1], blocks.collect::<Vec<_>>().join(" "))
        };
        let turns = body.as_array().unwrap().iter().map(turn);
        turns.collect::<Vec<_>>().join(" | ")
    }

    fn shape_of(messages: &[Message<'_>]) -> String {
        shape(&serde_json::to_value(turns(messages, &mut Dropped::default(), &mut ToolNames::default())).unwrap())
    }

    #[test]
    fn sides_alternate_and_every_call_has_its_result_right_after_it() {
        let text = |text: &'static str| Part::text(text);
        for (messages, shape) in [
            (vec![], "u:[The conversation begins.]"),
            (
                vec![says(Assistant, vec![text("hi ")])],
                "u:[The conversation begins.] | a:hi",
            ),
            (
                vec![says(User, vec![text("a"), text(" ")]), says(User, vec![text("b")])],
                "u:a b",
            ),
            (
                vec![says(User, vec![text("a")]), says(System, vec![text("s"), text("t")])],
                "u:a <system-reminder>\ns\n\nt\n</system-reminder>",
            ),
            (
                vec![
                    says(User, vec![text("a")]),
                    says(Assistant, vec![call("x", "T"), call("y", "T")]),
                    says(User, vec![text("b"), result("y", "r")]),
                ],
                "u:a | a:call(x) call(y) | u:result(y) result(x) b",
            ),
            (
                vec![says(User, vec![text("a")]), says(Assistant, vec![call("x", "T")])],
                "u:a | a:call(x) | u:result(x)",
            ),
            (
                vec![says(User, vec![result("x", "r"), text("a")])],
                "u:[result of a tool call that is not shown] r a",
            ),
            (
                vec![
                    says(User, vec![text("a")]),
                    says(Assistant, vec![call("f.x:0", "T")]),
                    says(User, vec![result("f.x:0", "r")]),
                    says(Assistant, vec![call("f.x:0", "T")]),
                    says(User, vec![result("f.x:0", "r")]),
                ],
                "u:a | a:call(toolu_m_f_2ex_3a0) | u:result(toolu_m_f_2ex_3a0) | a:call(toolu_m_f_2ex_3a0_2) | u:result(toolu_m_f_2ex_3a0_2)",
            ),
            (
                vec![
                    says(User, vec![text("a")]),
                    says(Assistant, vec![text("")]),
                    says(User, vec![text("b")]),
                ],
                "u:a b",
            ),
        ] {
            assert_eq!(shape_of(&messages), shape);
        }
    }

    #[test]
    fn thinking_goes_back_to_this_format_alone() {
        let thinking = |seal: &'static str| {
            Part::Thinking(Thinking {
                text: "hm".into(),
                seal: Some(seal.into()),
            })
        };
        let messages = vec![
            says(User, vec![Part::text("a")]),
            says(
                Assistant,
                vec![
                    thinking("messages:E1"),
                    thinking("messages-redacted:E2"),
                    thinking("responses:x"),
                    thinking("muninn-1"),
                    Part::text("b"),
                    thinking("messages:E3"),
                ],
            ),
            says(User, vec![Part::text("c")]),
            says(Assistant, vec![thinking("messages:E4")]),
            says(User, vec![Part::text("d")]),
        ];
        let mut counted = Dropped::default();
        let body = serde_json::to_value(turns(&messages, &mut counted, &mut ToolNames::default())).unwrap();
        let dropped: Vec<_> = counted.iter().map(|(name, _)| name).collect();
        assert_eq!(shape(&body), "u:a | a:thinking redacted_thinking b | u:c d");
        assert_eq!(body[1]["content"][0]["signature"], "E1");
        assert_eq!(body[1]["content"][1]["data"], "E2");
        assert_eq!(dropped, ["messages.thinking"]);
    }
}
