//! An answer for a client.
//!
//! Clients put blocks together by their index and stop at the first thing that is out of place, so a block is only begun
//! when it has something to say. Why the model stopped is written at the end, together with what the answer cost: many
//! backends tell that last.

use super::super::answer::{Answer, Block, BlockKind, Event, Failure, Stop, Usage};
use super::super::{AnswerContext, WriteAnswer, ids};
use super::shape::{Content, Delta, Ending, Error, Input, Message, StreamEvent, ending, usage};

/// What ids of calls begin with, as this format's clients expect.
const CALL: &str = "toolu_";

/// Writes the events of one answer.
pub(in super::super) struct Writer {
    context: AnswerContext,
    id: String,
    current: Option<Current>,
    /// The index of the next block.
    next: usize,
    has_calls: bool,
    usage: Usage,
    stop: Option<Stop>,
}

/// The block that is open.
struct Current {
    block: usize,
    kind: BlockKind,
    /// Its index, once it has begun for the client.
    index: Option<usize>,
    /// Whether a call has had any of its arguments.
    argued: bool,
    seal: String,
}

impl Writer {
    pub(in super::super) fn new(context: AnswerContext) -> Writer {
        Writer {
            id: format!("msg_{}", context.id),
            context,
            current: None,
            next: 0,
            has_calls: false,
            usage: Usage::default(),
            stop: None,
        }
    }

    fn message<'c>(&'c self, content: Vec<Content<'c>>, ending: Ending<'c>, cost: Usage) -> Message<'c> {
        Message {
            id: &self.id,
            r#type: "message",
            role: "assistant",
            model: &self.context.model,
            content,
            ending,
            usage: usage(cost),
        }
    }

    fn open(&mut self, block: usize, kind: &BlockKind, out: &mut String) {
        self.close(out);
        let is_call = matches!(kind, BlockKind::ToolCall { .. });
        let mut current = Current {
            block,
            kind: kind.clone(),
            index: None,
            argued: false,
            seal: String::new(),
        };
        if is_call {
            self.has_calls = true;
            current.begin(&mut self.next, out);
        }
        self.current = Some(current);
    }

    fn delta(&mut self, block: usize, text: &str, out: &mut String) {
        let Some(current) = self.current.as_mut().filter(|current| current.block == block) else {
            return;
        };
        let delta = match current.kind {
            BlockKind::SealedThinking => return,
            BlockKind::Text | BlockKind::Refusal => Delta::TextDelta { text },
            BlockKind::Thinking => Delta::ThinkingDelta { thinking: text },
            BlockKind::ToolCall { .. } => {
                // A client that reads JSON of blanks alone fails.
                if !current.argued && text.trim().is_empty() {
                    return;
                }
                current.argued = true;
                Delta::InputJsonDelta { partial_json: text }
            }
        };
        if !text.is_empty() {
            let index = current.begin(&mut self.next, out);
            send(&StreamEvent::ContentBlockDelta { index, delta }, out);
        }
    }

    /// Closes what is open. A block that never had anything to say never was.
    fn close(&mut self, out: &mut String) {
        let Some(mut current) = self.current.take() else { return };
        if !current.seal.is_empty() {
            current.begin(&mut self.next, out);
        }
        let Some(index) = current.index else { return };
        let last = match current.kind {
            BlockKind::Thinking if !current.seal.is_empty() => Some(Delta::SignatureDelta {
                signature: &current.seal,
            }),
            // Every client takes it for the empty object, also one that parses what came without looking.
            BlockKind::ToolCall { .. } if !current.argued => Some(Delta::InputJsonDelta { partial_json: "{}" }),
            _ => None,
        };
        if let Some(delta) = last {
            send(&StreamEvent::ContentBlockDelta { index, delta }, out);
        }
        send(&StreamEvent::ContentBlockStop { index }, out);
    }
}

impl Current {
    /// Begins the block for the client, if it has not, and returns its index.
    fn begin(&mut self, next: &mut usize, out: &mut String) -> usize {
        if let Some(index) = self.index {
            return index;
        }
        let index = *next;
        *next += 1;
        self.index = Some(index);
        let content_block = match &self.kind {
            BlockKind::Text | BlockKind::Refusal => Content::Text { text: "" },
            BlockKind::Thinking => Content::Thinking {
                thinking: "",
                signature: "",
            },
            BlockKind::SealedThinking => Content::RedactedThinking { data: &self.seal },
            BlockKind::ToolCall { id, name } => Content::ToolUse {
                id: ids::wrap(CALL, id),
                name,
                input: Input::Empty {},
            },
        };
        send(&StreamEvent::ContentBlockStart { index, content_block }, out);
        index
    }
}

impl WriteAnswer for Writer {
    fn event(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Start { .. } => {
                let message = self.message(Vec::new(), Ending::default(), self.usage);
                send(&StreamEvent::MessageStart { message }, out);
            }
            Event::Open { block, kind } => self.open(*block, kind, out),
            Event::Delta { block, text } => self.delta(*block, text, out),
            Event::Seal { block, seal } => {
                if let Some(current) = self.current.as_mut().filter(|current| current.block == *block) {
                    current.seal.clone_from(seal);
                }
            }
            Event::Close { block } => {
                if self.current.as_ref().is_some_and(|current| current.block == *block) {
                    self.close(out);
                }
            }
            Event::Usage(usage) => self.usage.update(*usage),
            Event::Stop(stop) => self.stop = Some(stop.clone()),
            Event::End => {
                self.close(out);
                let delta = ending(self.stop.as_ref(), self.has_calls);
                let usage = usage(self.usage);
                send(&StreamEvent::MessageDelta { delta, usage }, out);
                send(&StreamEvent::MessageStop, out);
            }
            Event::Failed(Failure { kind, message }) => {
                let error = Error {
                    r#type: kind.anthropic_type(),
                    message,
                };
                send(&StreamEvent::Error { error }, out);
            }
        }
    }

    fn whole(&mut self, answer: &Answer) -> String {
        let content: Vec<_> = answer.blocks.iter().filter_map(content).collect();
        let is_call = |content: &Content<'_>| matches!(content, Content::ToolUse { .. });
        let ending = ending(answer.stop.as_ref(), content.iter().any(is_call));
        json(&self.message(content, ending, answer.usage))
    }
}

/// A whole block, `None` where a stream would not have begun it.
fn content(block: &Block) -> Option<Content<'_>> {
    let seal = block.seal.as_deref().unwrap_or_default();
    Some(match &block.kind {
        BlockKind::ToolCall { id, name } => Content::ToolUse {
            id: ids::wrap(CALL, id),
            name,
            input: Input::of(&block.text),
        },
        BlockKind::SealedThinking if !seal.is_empty() => Content::RedactedThinking { data: seal },
        BlockKind::Thinking if !block.text.is_empty() || !seal.is_empty() => Content::Thinking {
            thinking: &block.text,
            signature: seal,
        },
        BlockKind::Text | BlockKind::Refusal if !block.text.is_empty() => Content::Text { text: &block.text },
        _ => return None,
    })
}

fn send(event: &StreamEvent<'_>, out: &mut String) {
    out.push_str("event: ");
    out.push_str(event.name());
    out.push_str("\ndata: ");
    out.push_str(&json(event));
    out.push_str("\n\n");
}

/// Nothing that is written here can fail: its keys are strings.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
