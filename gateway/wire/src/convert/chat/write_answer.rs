//! Writer of answers.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::answer::{Answer, Block, BlockKind, Event, Stop, Usage};
use super::super::{AnswerContext, WriteAnswer};
use super::shape::{
    Choice, Chunk, Delta, Message, Whole, WholeChoice, WireUsage, call_arguments, call_start, error_body, usage,
    whole_call,
};

/// The separator between blocks of one kind with another block between them. The format has one string for all blocks
/// of a kind.
const SEPARATOR: &str = "\n\n";

/// The writer of one answer.
pub(in super::super) struct Writer {
    context: AnswerContext,
    id: String,
    /// The open blocks by number.
    open: BTreeMap<usize, ClientBlock>,
    calls: usize,
    text: TextProgress,
    thinking: TextProgress,
    usage: Usage,
    stopped: bool,
}

/// A block in the client's format.
#[derive(Clone, Copy)]
enum ClientBlock {
    Text,
    Refusal,
    Thinking,
    Sealed,
    Call {
        index: usize,
        /// Whether any arguments were written.
        begun: bool,
    },
}

/// The state of the text of one kind.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum TextProgress {
    #[default]
    None,
    Some,
    /// There is text, and a block of another kind after it.
    Interrupted,
}

impl TextProgress {
    /// Notes more text of this kind. Returns whether a separator must precede it.
    fn resume(&mut self) -> bool {
        std::mem::replace(self, TextProgress::Some) == TextProgress::Interrupted
    }

    /// Records that a block without text follows the text.
    fn interrupt(&mut self) {
        if *self == TextProgress::Some {
            *self = TextProgress::Interrupted;
        }
    }
}

impl Writer {
    pub(in super::super) fn new(context: AnswerContext) -> Writer {
        Writer {
            id: format!("chatcmpl-{}", context.id),
            context,
            open: BTreeMap::new(),
            calls: 0,
            text: TextProgress::None,
            thinking: TextProgress::None,
            usage: Usage::default(),
            stopped: false,
        }
    }

    fn chunk(&self, delta: Delta<'_>, finish_reason: Option<&'static str>, out: &mut String) {
        let choice = Choice { index: 0, delta, logprobs: (), finish_reason };
        self.send(&[choice], None, out);
    }

    fn send(&self, choices: &[Choice<'_>], usage: Option<WireUsage>, out: &mut String) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.context.created,
            model: &self.context.model,
            choices,
            usage: self.context.stream_usage.then_some(usage),
        };
        data(&chunk, out);
    }

    fn open(&mut self, block: usize, kind: &BlockKind, out: &mut String) {
        if !matches!(kind, BlockKind::Text) {
            self.text.interrupt();
        }
        if !matches!(kind, BlockKind::Thinking) {
            self.thinking.interrupt();
        }
        let open = match kind {
            BlockKind::Text => ClientBlock::Text,
            BlockKind::Refusal => ClientBlock::Refusal,
            BlockKind::Thinking => ClientBlock::Thinking,
            BlockKind::SealedThinking => ClientBlock::Sealed,
            BlockKind::ToolCall { id, name } => {
                let index = self.calls;
                self.calls += 1;
                self.chunk(Delta::Call { tool_calls: [call_start(Some(index), id, name, "")] }, None, out);
                ClientBlock::Call { index, begun: false }
            }
        };
        self.open.insert(block, open);
    }

    fn delta(&mut self, block: usize, text: &str, out: &mut String) {
        let Some(open) = self.open.get_mut(&block).filter(|_| !text.is_empty()) else {
            return;
        };
        let separated = |progress: &mut TextProgress| {
            if progress.resume() { format!("{SEPARATOR}{text}").into() } else { text.into() }
        };
        let delta = match open {
            ClientBlock::Text => Delta::Text { content: separated(&mut self.text) },
            ClientBlock::Thinking => Delta::Thinking { reasoning_content: separated(&mut self.thinking) },
            ClientBlock::Refusal => Delta::Refusal { refusal: text },
            ClientBlock::Sealed => return,
            ClientBlock::Call { index, begun } => {
                *begun = true;
                Delta::Call { tool_calls: [call_arguments(*index, text)] }
            }
        };
        self.chunk(delta, None, out);
    }

    fn close(&mut self, block: usize, out: &mut String) {
        // Clients parse the arguments, and an empty string is not JSON.
        if let Some(ClientBlock::Call { index, begun: false }) = self.open.remove(&block) {
            self.chunk(Delta::Call { tool_calls: [call_arguments(index, "{}")] }, None, out);
        }
    }

    fn stop(&mut self, stop: Option<&Stop>, out: &mut String) {
        if !std::mem::replace(&mut self.stopped, true) {
            self.chunk(Delta::Stop {}, Some(finish_reason(stop, self.calls > 0)), out);
        }
    }
}

impl WriteAnswer for Writer {
    fn event(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Start { .. } => self.chunk(Delta::Start { role: "assistant", content: "" }, None, out),
            Event::Open { block, kind } => self.open(*block, kind, out),
            Event::Delta { block, text } => self.delta(*block, text, out),
            // The format has no field for seals.
            Event::Seal { .. } => {}
            Event::Close { block } => self.close(*block, out),
            Event::Usage(usage) => self.usage.update(*usage),
            Event::Stop(stop) => self.stop(Some(stop), out),
            Event::End => {
                self.stop(None, out);
                if self.context.stream_usage {
                    self.send(&[], Some(usage(self.usage)), out);
                }
                out.push_str("data: [DONE]\n\n");
            }
            Event::Failed(failure) => {
                data(&error_body(failure), out);
                out.push_str("data: [DONE]\n\n");
            }
        }
    }

    fn whole(&mut self, answer: &Answer) -> String {
        let content = joined(&answer.blocks, &BlockKind::Text);
        let refusal = joined(&answer.blocks, &BlockKind::Refusal);
        let tool_calls: Vec<_> = answer.blocks.iter().filter_map(whole_call).collect();
        let needs_content = refusal.is_none() && tool_calls.is_empty();
        let finish_reason = finish_reason(answer.stop.as_ref(), !tool_calls.is_empty());
        let message = Message {
            role: "assistant",
            content: content.or_else(|| needs_content.then(String::new)),
            refusal,
            reasoning_content: joined(&answer.blocks, &BlockKind::Thinking),
            tool_calls,
        };
        json(&Whole {
            id: &self.id,
            object: "chat.completion",
            created: self.context.created,
            model: &self.context.model,
            choices: [WholeChoice { index: 0, message, logprobs: (), finish_reason }],
            usage: usage(answer.usage),
        })
    }
}

/// Joins the text of all blocks of a kind, with the separators of a stream.
fn joined(blocks: &[Block], kind: &BlockKind) -> Option<String> {
    let (mut all, mut progress) = (String::new(), TextProgress::None);
    for block in blocks {
        if block.kind != *kind {
            progress.interrupt();
        } else if !block.text.is_empty() {
            if progress.resume() && *kind != BlockKind::Refusal {
                all.push_str(SEPARATOR);
            }
            all.push_str(&block.text);
        }
    }
    (!all.is_empty()).then_some(all)
}

fn finish_reason(stop: Option<&Stop>, has_calls: bool) -> &'static str {
    match stop {
        Some(Stop::Length) => "length",
        Some(Stop::Filtered) => "content_filter",
        Some(Stop::ToolCalls) => "tool_calls",
        None if has_calls => "tool_calls",
        // The format has no reason for a paused turn, so the turn ends.
        Some(Stop::Done | Stop::Sequence(_) | Stop::Paused) | None => "stop",
    }
}

fn data(value: &impl Serialize, out: &mut String) {
    out.push_str("data: ");
    out.push_str(&json(value));
    out.push_str("\n\n");
}

/// Serializes a value.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("all keys are strings")
}
