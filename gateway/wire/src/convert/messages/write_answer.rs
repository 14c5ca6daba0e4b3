//! Writer of answers.

use super::super::answer::{Answer, Block, BlockKind, Event, Failure, Stop, Usage};
use super::super::{AnswerContext, WriteAnswer, ids};
use super::stream_event::{Content, Delta, ErrorObject, Message, StopDelta, StreamEvent, emit};
use super::usage::WireUsage;
use super::{CALL, REDACTED, SEAL, object};

/// The writer of one answer.
pub(in super::super) struct Writer {
    context: AnswerContext,
    /// The index of the next block.
    next: usize,
    current: Option<Current>,
    called: bool,
    usage: Usage,
    stop: Option<Stop>,
}

/// The open block.
struct Current {
    kind: BlockKind,
    /// The block's index, once its start is written. Empty blocks are never written: a client would send them back, and
    /// the next backend would refuse them.
    index: Option<usize>,
}

impl Writer {
    pub(in super::super) fn new(context: AnswerContext) -> Writer {
        Writer { context, next: 0, current: None, called: false, usage: Usage::default(), stop: None }
    }
}

impl WriteAnswer for Writer {
    fn event(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Start { .. } => {
                let estimate = Usage { input: self.context.input_tokens, ..Usage::default() };
                let message = self.message(Vec::new(), estimate, None);
                emit(out, &StreamEvent::MessageStart { message });
            }
            Event::Open { kind, .. } => {
                self.current = Some(Current { kind: kind.clone(), index: None });
                if matches!(kind, BlockKind::ToolCall { .. }) {
                    self.called = true;
                    self.start_block(None, out);
                }
            }
            Event::Delta { text, .. } => self.delta(text, out),
            Event::Seal { seal, .. } => self.seal(seal, out),
            Event::Close { .. } => {
                if let Some(index) = self.current.take().and_then(|current| current.index) {
                    emit(out, &StreamEvent::ContentBlockStop { index });
                }
            }
            Event::Usage(usage) => self.usage.update(*usage),
            // The stop reason is written with the usage, which may still change.
            Event::Stop(stop) => self.stop = Some(stop.clone()),
            Event::End => self.end(out),
            Event::Failed(failure) => fail(failure, out),
        }
    }

    fn whole(&mut self, answer: &Answer) -> String {
        self.called = answer.blocks.iter().any(|block| matches!(block.kind, BlockKind::ToolCall { .. }));
        let content = answer.blocks.iter().filter_map(content).collect();
        let stop = answer.stop.as_ref().or(Some(&Stop::Done));
        serde_json::to_string(&self.message(content, answer.usage, stop)).expect("all keys are strings")
    }
}

impl Writer {
    fn message<'w>(&'w self, content: Vec<Content<'w>>, usage: Usage, stop: Option<&'w Stop>) -> Message<'w> {
        Message {
            id: format!("msg_{}", self.context.id),
            kind: "message",
            role: "assistant",
            model: &self.context.model,
            content,
            stop_reason: stop.map(|stop| stop_reason(stop, self.called)),
            stop_sequence: stop.and_then(sequence),
            usage: WireUsage::from(usage),
        }
    }

    /// Returns the index of the open block. The first call writes the block's start.
    fn start_block(&mut self, data: Option<&str>, out: &mut String) -> Option<usize> {
        let current = self.current.as_mut()?;
        if current.index.is_none() {
            let index = self.next;
            self.next += 1;
            current.index = Some(index);
            let content_block = match &current.kind {
                BlockKind::Text | BlockKind::Refusal => Content::Text { text: "" },
                BlockKind::Thinking => Content::Thinking { thinking: "", signature: "" },
                BlockKind::SealedThinking => Content::RedactedThinking { data: data.unwrap_or_default() },
                BlockKind::ToolCall { id, name } => {
                    Content::ToolUse { id: ids::wrap(CALL, id), name, input: object("") }
                }
            };
            emit(out, &StreamEvent::ContentBlockStart { index, content_block });
        }
        current.index
    }

    fn delta(&mut self, text: &str, out: &mut String) {
        let delta = match self.current.as_ref().map(|current| &current.kind) {
            _ if text.is_empty() => return,
            Some(BlockKind::Text | BlockKind::Refusal) => Delta::Text { text },
            Some(BlockKind::Thinking) => Delta::Thinking { thinking: text },
            Some(BlockKind::ToolCall { .. }) => Delta::InputJson { partial_json: text },
            Some(BlockKind::SealedThinking) | None => return,
        };
        if let Some(index) = self.start_block(None, out) {
            emit(out, &StreamEvent::ContentBlockDelta { index, delta });
        }
    }

    fn seal(&mut self, seal: &str, out: &mut String) {
        let signature = untagged(seal);
        match self.current.as_ref().map(|current| &current.kind) {
            Some(BlockKind::SealedThinking) => {
                self.start_block(Some(signature), out);
            }
            Some(BlockKind::Thinking) => {
                if let Some(index) = self.start_block(None, out) {
                    let delta = Delta::Signature { signature };
                    emit(out, &StreamEvent::ContentBlockDelta { index, delta });
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, out: &mut String) {
        let stop = self.stop.take().unwrap_or(Stop::Done);
        let delta = StopDelta { stop_reason: stop_reason(&stop, self.called), stop_sequence: sequence(&stop) };
        let usage = WireUsage::from(self.usage);
        emit(out, &StreamEvent::MessageDelta { delta, usage });
        emit(out, &StreamEvent::MessageStop);
    }
}

fn fail(failure: &Failure, out: &mut String) {
    let error = ErrorObject { kind: failure.kind.anthropic_type(), message: &failure.message };
    emit(out, &StreamEvent::Error { error });
}

/// Removes the tags of this format from a seal. Seals of other formats keep their tag, which identifies them when they
/// come back.
fn untagged(seal: &str) -> &str {
    seal.strip_prefix(SEAL).or_else(|| seal.strip_prefix(REDACTED)).unwrap_or(seal)
}

/// Writes a block of a whole answer. Empty blocks are skipped.
fn content(block: &Block) -> Option<Content<'_>> {
    let seal = untagged(block.seal.as_deref().unwrap_or_default());
    match &block.kind {
        BlockKind::Text | BlockKind::Refusal => (!block.text.is_empty()).then_some(Content::Text { text: &block.text }),
        BlockKind::Thinking => (!block.text.is_empty() || !seal.is_empty())
            .then_some(Content::Thinking { thinking: &block.text, signature: seal }),
        BlockKind::SealedThinking => (!seal.is_empty()).then_some(Content::RedactedThinking { data: seal }),
        BlockKind::ToolCall { id, name } => {
            Some(Content::ToolUse { id: ids::wrap(CALL, id), name, input: object(&block.text) })
        }
    }
}

/// Returns the stop reason. Clients run the calls of an answer only if it is `tool_use`.
fn stop_reason(stop: &Stop, called: bool) -> &'static str {
    match stop {
        Stop::Done | Stop::ToolCalls if called => "tool_use",
        Stop::Done | Stop::ToolCalls => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Sequence(_) => "stop_sequence",
        Stop::Filtered => "refusal",
        Stop::Paused => "pause_turn",
    }
}

fn sequence(stop: &Stop) -> Option<&str> {
    match stop {
        Stop::Sequence(sequence) => sequence.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ReadAnswer;
    use super::super::Reader;
    use super::*;

    fn context() -> AnswerContext {
        AnswerContext { id: "01J".to_owned(), model: "asked".to_owned(), ..AnswerContext::default() }
    }

    fn open(block: usize, kind: BlockKind) -> Event {
        Event::Open { block, kind }
    }

    fn delta(block: usize, text: &str) -> Event {
        let text = text.to_owned();
        Event::Delta { block, text }
    }

    fn seal(block: usize, seal: &str) -> Event {
        let seal = seal.to_owned();
        Event::Seal { block, seal }
    }

    fn call(id: &str) -> BlockKind {
        BlockKind::ToolCall { id: id.to_owned(), name: "T".to_owned() }
    }

    fn answer() -> Vec<Event> {
        let usage = Usage { input: Some(100), cached: Some(60), output: Some(9), ..Usage::default() };
        vec![
            Event::Start { model: None },
            open(0, BlockKind::Thinking),
            delta(0, "hm"),
            seal(0, "muninn-1"),
            Event::Close { block: 0 },
            open(1, BlockKind::Text),
            delta(1, ""),
            Event::Close { block: 1 },
            open(2, BlockKind::SealedThinking),
            seal(2, "responses:x"),
            Event::Close { block: 2 },
            open(3, BlockKind::Refusal),
            delta(3, "a\n\u{1f600}"),
            Event::Close { block: 3 },
            open(4, call("f.x:0")),
            delta(4, r#"{"a":"#),
            delta(4, "1}"),
            Event::Close { block: 4 },
            Event::Stop(Stop::Done),
            Event::Usage(usage),
            Event::End,
        ]
    }

    fn written(events: &[Event]) -> String {
        let mut writer = Writer::new(context());
        let mut out = String::new();
        events.iter().for_each(|event| writer.event(event, &mut out));
        out
    }

    #[test]
    fn whole_answer_equals_the_stream() {
        let answer = Answer::collect(answer()).unwrap();
        let body = Writer::new(context()).whole(&answer);
        let content = r#""content":[{"type":"thinking","thinking":"hm","signature":"muninn-1"},{"type":"redacted_thinking","data":"responses:x"},{"type":"text","text":"a\n😀"},{"type":"tool_use","id":"toolu_m_f_2ex_3a0","name":"T","input":{"a":1}}],"stop_reason":"tool_use","#;
        assert!(body.contains(content), "{body}");
        assert!(body.contains(r#""input_tokens":40,"#), "{body}");
    }

    #[test]
    fn written_stream_is_read_unchanged() {
        let stream = written(&answer());
        let mut reader = Reader::default();
        let mut events = Vec::new();
        for data in stream.lines().filter_map(|line| line.strip_prefix("data: ")) {
            reader.event("", data, &mut events);
        }
        let again = written(&events);
        // The second round wraps the ids again and reads foreign seals as seals of this format.
        assert_eq!(again.replace("toolu_m_toolu__m__f__2ex__3a0", "toolu_m_f_2ex_3a0"), stream);
    }

    #[test]
    fn each_stop_has_its_reason() {
        for (stop, called, name) in [
            (Stop::Done, false, "end_turn"),
            (Stop::Done, true, "tool_use"),
            (Stop::ToolCalls, true, "tool_use"),
            (Stop::ToolCalls, false, "end_turn"),
            (Stop::Length, true, "max_tokens"),
            (Stop::Sequence(Some("X".to_owned())), false, "stop_sequence"),
            (Stop::Sequence(None), false, "stop_sequence"),
            (Stop::Filtered, false, "refusal"),
            (Stop::Paused, false, "pause_turn"),
        ] {
            assert_eq!(stop_reason(&stop, called), name, "{stop:?}");
        }
    }
}
