//! Writer of a conversation as the API requires it: the user's turn first, then alternating turns, each call's result
//! in the next turn, and no empty turns. Other formats are less strict.

use super::super::request::{Dropped, JsonStr, Message, Part, Speaker, ToolCall, ToolResult};
use super::super::{NO_RESULT, ToolNames};
use super::blocks::{Block, Turn, content_block, text_block, thinking_block};
use super::capabilities::ConversationEnd;
use super::{NAME_RULE, object, reminder};

/// The user's turn before a conversation that starts with the model.
const OPENING: &str = "[The conversation begins.]";

/// A part of a turn before calls and results are paired.
enum SidePart<'r> {
    Block(Block<'r>),
    Call(&'r ToolCall<'r>),
    Result(&'r ToolResult<'r>, Vec<Block<'r>>),
}

/// Writes a conversation without its leading system text.
pub(super) fn turns<'r>(messages: &'r [Message<'r>], dropped: &mut Dropped, names: &mut ToolNames) -> Vec<Turn<'r>> {
    let mut sides = SideTurns::default();
    for message in messages {
        match message.speaker {
            Speaker::System => sides.reminder(message, dropped),
            Speaker::User => sides.message(message, false, dropped),
            Speaker::Assistant => sides.message(message, true, dropped),
        }
    }
    sides.trim_thinking(dropped);
    pair_calls(sides.0, names)
}

/// Removes the model's turn from the end of a conversation, and returns whether there was one. No other change has the
/// meaning of a turn to continue, because a user's turn after it would have words that the user did not write.
pub(super) fn without_prefill(turns: &mut Vec<Turn<'_>>) -> bool {
    turns.pop_if(|turn| turn.role == "assistant").is_some()
}

/// Returns the state of the last turns.
pub(super) fn conversation_end(turns: &[Turn<'_>]) -> ConversationEnd {
    let Some((last, before)) = turns.split_last() else {
        return ConversationEnd::default();
    };
    let has_results = last.content.iter().any(|block| matches!(block, Block::ToolResult { .. }));
    let thinks_before = before.last().and_then(|turn| turn.content.first()).is_some_and(Block::is_thinking);
    ConversationEnd { prefilled: last.role == "assistant", results_without_thinking: has_results && !thinks_before }
}

/// Alternating turns before pairing. `true` marks the model's turns.
#[derive(Default)]
struct SideTurns<'r>(Vec<(bool, Vec<SidePart<'r>>)>);

impl<'r> SideTurns<'r> {
    fn push(&mut self, model: bool, part: SidePart<'r>, dropped: &mut Dropped) {
        if self.0.last().is_none_or(|(last, _)| *last != model) {
            self.trim_thinking(dropped);
        }
        match self.0.last_mut() {
            Some((last, side)) if *last == model => side.push(part),
            _ => self.0.push((model, vec![part])),
        }
    }

    /// Removes thinking from the end of the model's turn, where the API refuses it.
    fn trim_thinking(&mut self, dropped: &mut Dropped) {
        let Some((true, side)) = self.0.last_mut() else { return };
        while side.pop_if(|part| matches!(part, SidePart::Block(block) if block.is_thinking())).is_some() {
            dropped.add("messages.thinking");
        }
        if side.is_empty() {
            self.0.pop();
        }
    }

    /// Writes system text in the middle as part of the user's turn. Few servers accept it elsewhere, and moving it to
    /// the front would change the beginning of the prompt.
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
            let block = Block::Text { text: text.into(), cache_control: marker };
            self.push(false, SidePart::Block(block), dropped);
        }
    }

    fn message(&mut self, message: &'r Message<'r>, model: bool, dropped: &mut Dropped) {
        for part in &message.parts {
            self.part(part, model, dropped);
        }
    }

    fn part(&mut self, part: &'r Part<'r>, model: bool, dropped: &mut Dropped) {
        match part {
            Part::ToolCall(call) => self.push(true, SidePart::Call(call), dropped),
            Part::ToolResult(result) => {
                let content = result.parts.iter().filter_map(|part| content_block(part, dropped));
                let content = content.collect();
                self.push(false, SidePart::Result(result, content), dropped);
            }
            Part::Thinking(thinking) => match thinking_block(thinking) {
                Some(block) => self.push(true, SidePart::Block(block), dropped),
                None => dropped.add("messages.thinking"),
            },
            // The API refuses white space at the end of a text that the model must continue. Whether the model must
            // continue a text differs from request to request, so it is always trimmed.
            Part::Text { text, cache_control } if model => {
                if let Some(block) = text_block(text.trim_end(), *cache_control) {
                    self.push(true, SidePart::Block(block), dropped);
                }
            }
            Part::Image { .. } if model => dropped.add("messages.image"),
            Part::Document { .. } if model => dropped.add("messages.document"),
            part => {
                if let Some(block) = content_block(part, dropped) {
                    self.push(model, SidePart::Block(block), dropped);
                }
            }
        }
    }
}

fn pair_calls<'r>(sides: Vec<(bool, Vec<SidePart<'r>>)>, names: &mut ToolNames) -> Vec<Turn<'r>> {
    let mut turns = Vec::with_capacity(sides.len() + 2);
    if sides.first().is_none_or(|(model, _)| *model) {
        turns.push(user(vec![Block::text(OPENING)]));
    }
    let mut pending = Vec::new();
    for (model, side) in sides {
        turns.push(if model {
            let content = calls(side, &mut pending, names);
            Turn { role: "assistant", content }
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

fn calls<'r>(side: Vec<SidePart<'r>>, pending: &mut Vec<&'r str>, names: &mut ToolNames) -> Vec<Block<'r>> {
    let blocks = side.into_iter().filter_map(|part| match part {
        SidePart::Block(block) => Some(block),
        SidePart::Call(call) => {
            pending.push(&call.id);
            Some(Block::ToolUse {
                id: &call.id,
                name: names.backend_name(&call.name, NAME_RULE),
                input: object(&call.arguments),
                cache_control: None,
            })
        }
        SidePart::Result(..) => None,
    });
    blocks.collect()
}

/// Writes the user's turn: one result for each call first, then the rest.
fn results<'r>(side: Vec<SidePart<'r>>, pending: &mut Vec<&'r str>) -> Vec<Block<'r>> {
    let (mut blocks, mut rest) = (Vec::new(), Vec::new());
    for part in side {
        match part {
            SidePart::Block(block) => rest.push(block),
            SidePart::Call(_) => {}
            SidePart::Result(result, content) => match pending.iter().position(|call| *call == result.call) {
                Some(at) => blocks.push(result_block(pending.remove(at), content, result.is_error)),
                None => orphan(content, &mut rest),
            },
        }
    }
    for call in pending.drain(..) {
        blocks.push(result_block(call, vec![Block::text(NO_RESULT)], true));
    }
    blocks.append(&mut rest);
    blocks
}

fn result_block<'r>(tool_use_id: &'r str, mut content: Vec<Block<'r>>, is_error: bool) -> Block<'r> {
    // The API refuses an error without content.
    if is_error && content.is_empty() {
        content.push(Block::text("Error"));
    }
    Block::ToolResult { tool_use_id, content, is_error, cache_control: None }
}

/// Writes a result without a call, or a second result of a call.
fn orphan<'r>(content: Vec<Block<'r>>, rest: &mut Vec<Block<'r>>) {
    rest.push(Block::text("[result of a tool call that is not shown]"));
    rest.extend(content);
}

#[cfg(test)]
mod tests {
    use Speaker::{Assistant, System, User};

    use super::super::super::request::Thinking;
    use super::*;

    fn message<'a>(speaker: Speaker, parts: Vec<Part<'a>>) -> Message<'a> {
        Message { speaker, parts }
    }

    fn call<'a>(id: &'a str, name: &'a str) -> Part<'a> {
        Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() })
    }

    fn result<'a>(call: &'a str, text: &'a str) -> Part<'a> {
        Part::ToolResult(ToolResult { call: call.into(), parts: vec![Part::text(text)], is_error: false })
    }

    /// Roles and blocks in one line, such as `u:result(a) text | a:call(a)`.
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
    fn turns_alternate_and_each_call_has_its_result_in_the_next_turn() {
        let text = |text: &'static str| Part::text(text);
        for (messages, shape) in [
            (vec![], "u:[The conversation begins.]"),
            (vec![message(Assistant, vec![text("hi ")])], "u:[The conversation begins.] | a:hi"),
            (vec![message(User, vec![text("a"), text(" ")]), message(User, vec![text("b")])], "u:a b"),
            (
                vec![message(User, vec![text("a")]), message(System, vec![text("s"), text("t")])],
                "u:a <system-reminder>\ns\n\nt\n</system-reminder>",
            ),
            (
                vec![
                    message(User, vec![text("a")]),
                    message(Assistant, vec![call("x", "T"), call("y", "T")]),
                    message(User, vec![text("b"), result("y", "r")]),
                ],
                "u:a | a:call(x) call(y) | u:result(y) result(x) b",
            ),
            (
                vec![message(User, vec![text("a")]), message(Assistant, vec![call("x", "T")])],
                "u:a | a:call(x) | u:result(x)",
            ),
            (vec![message(User, vec![result("x", "r"), text("a")])], "u:[result of a tool call that is not shown] r a"),
            (
                vec![
                    message(User, vec![text("a")]),
                    message(Assistant, vec![text("")]),
                    message(User, vec![text("b")]),
                ],
                "u:a b",
            ),
        ] {
            assert_eq!(shape_of(&messages), shape);
        }
    }

    #[test]
    fn only_thinking_sealed_by_this_format_is_sent() {
        let thinking = |seal: &'static str| Part::Thinking(Thinking { text: "hm".into(), seal: Some(seal.into()) });
        let messages = vec![
            message(User, vec![Part::text("a")]),
            message(
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
            message(User, vec![Part::text("c")]),
            message(Assistant, vec![thinking("messages:E4")]),
            message(User, vec![Part::text("d")]),
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
