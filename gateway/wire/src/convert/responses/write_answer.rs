//! Writer of answers.
//!
//! Each block becomes one item. Clients read the items from `response.output_item.done` and the usage from
//! `response.completed`. Some clients also join the deltas and compare.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::answer::{Answer, BlockKind, Event, Failure, Stop, Usage};
use super::super::sse::write_event;
use super::super::{AnswerContext, SpecialKind, WriteAnswer};
use super::failure::code;
use super::free_text::{self, FreeText};
use super::output::{Part, Response, ResponseError, Summary, item, prefix};

/// The writer of one answer.
pub(in super::super) struct Writer {
    context: AnswerContext,
    sequence: u64,
    started: bool,
    /// The complete items.
    output: Vec<Box<RawValue>>,
    current: Option<Current>,
    usage: Usage,
    stop: Option<Stop>,
}

/// The open item.
struct Current {
    id: String,
    kind: BlockKind,
    text: String,
    seal: Option<String>,
    /// The free text of a custom tool's call.
    free: Option<FreeText>,
}

/// The members of every event.
#[derive(Serialize)]
struct Envelope<'a, T> {
    r#type: &'a str,
    sequence_number: u64,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct ResponseEvent<'a> {
    response: &'a Response<'a>,
}

#[derive(Serialize)]
struct ItemEvent<'a> {
    output_index: usize,
    item: &'a RawValue,
}

/// An event about an item's content, summary or arguments. Each type of event has some of the members.
#[derive(Serialize, Default)]
struct ContentEvent<'a> {
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<AnyPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnyPart<'a> {
    Content(Part<'a>),
    Summary(Summary<'a>),
}

impl Writer {
    pub(in super::super) fn new(context: AnswerContext) -> Writer {
        Writer {
            context,
            sequence: 0,
            started: false,
            output: Vec::new(),
            current: None,
            usage: Usage::default(),
            stop: None,
        }
    }
}

impl WriteAnswer for Writer {
    fn event(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Start { .. } => self.start(out),
            Event::Open { kind, .. } => self.open(kind, out),
            Event::Delta { text, .. } => self.delta(text, out),
            Event::Seal { seal, .. } => {
                if let Some(current) = &mut self.current {
                    current.seal = Some(seal.clone());
                }
            }
            Event::Close { .. } => self.close(out),
            Event::Usage(usage) => self.usage.update(*usage),
            Event::Stop(stop) => self.stop = Some(stop.clone()),
            Event::End => self.end(out),
            Event::Failed(failure) => self.failed(failure, out),
        }
    }

    fn whole(&mut self, answer: &Answer) -> String {
        for (number, block) in answer.blocks.iter().enumerate() {
            let special = special(&self.context, &block.kind);
            let id = format!("{}{}{number}", prefix(&block.kind, special), self.context.id);
            let text = match special.map(|special| special.kind) {
                Some(SpecialKind::Custom) => free_text::of_arguments(&block.text).into(),
                _ => Cow::Borrowed(&*block.text),
            };
            let item = item(&id, &block.kind, special, Some(&text), block.seal.as_deref());
            self.output.extend(serde_json::value::to_raw_value(&item));
        }
        let reason = incomplete_reason(answer.stop.as_ref());
        let response = Response::finished(&self.context, &self.output, answer.usage, reason);
        serde_json::to_string(&response).expect("all keys are strings")
    }
}

impl Writer {
    fn start(&mut self, out: &mut String) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let response = Response::in_progress(&self.context);
        for kind in ["response.created", "response.in_progress"] {
            put(&mut self.sequence, kind, ResponseEvent { response: &response }, out);
        }
    }

    fn open(&mut self, kind: &BlockKind, out: &mut String) {
        let special = special(&self.context, kind);
        let output_index = self.output.len();
        let current = Current {
            id: format!("{}{}{output_index}", prefix(kind, special), self.context.id),
            kind: kind.clone(),
            text: String::new(),
            seal: None,
            free: special.filter(|special| special.kind == SpecialKind::Custom).map(|_| FreeText::default()),
        };
        if let Ok(item) = serde_json::value::to_raw_value(&item(&current.id, kind, special, None, None)) {
            let added = ItemEvent { output_index, item: &item };
            put(&mut self.sequence, "response.output_item.added", added, out);
        }
        if matches!(kind, BlockKind::Text | BlockKind::Refusal) {
            let part = ContentEvent {
                content_index: Some(0),
                part: Some(AnyPart::Content(Part::of(kind, ""))),
                ..content_event(&current, output_index)
            };
            put(&mut self.sequence, "response.content_part.added", part, out);
        }
        self.current = Some(current);
    }

    fn delta(&mut self, text: &str, out: &mut String) {
        let output_index = self.output.len();
        let is_search = self.is_search();
        let Some(current) = &mut self.current else { return };
        if text.is_empty() {
            return;
        }
        let first = current.text.is_empty();
        current.text.push_str(text);
        let free = current.free.as_mut().map(|free| free.push(text));
        let event = content_event(current, output_index);
        let delta = Some(text);
        let (kind, body) = match (&current.kind, &free) {
            (BlockKind::Text, _) => (
                "response.output_text.delta",
                ContentEvent { content_index: Some(0), delta, logprobs: Some([]), ..event },
            ),
            (BlockKind::Refusal, _) => {
                ("response.refusal.delta", ContentEvent { content_index: Some(0), delta, ..event })
            }
            (BlockKind::Thinking, _) => {
                if first {
                    summary_part(
                        &mut self.sequence,
                        "response.reasoning_summary_part.added",
                        current,
                        output_index,
                        "",
                        out,
                    );
                }
                ("response.reasoning_summary_text.delta", ContentEvent { summary_index: Some(0), delta, ..event })
            }
            (BlockKind::ToolCall { .. }, Some(Some(delta))) => {
                ("response.custom_tool_call_input.delta", ContentEvent { delta: Some(delta), ..event })
            }
            (BlockKind::ToolCall { .. }, None) if !is_search => {
                ("response.function_call_arguments.delta", ContentEvent { delta, ..event })
            }
            (BlockKind::SealedThinking | BlockKind::ToolCall { .. }, _) => return,
        };
        put(&mut self.sequence, kind, body, out);
    }

    /// Whether the open item is a search for tools. Such items have no deltas.
    fn is_search(&self) -> bool {
        let special = self.current.as_ref().and_then(|current| special(&self.context, &current.kind));
        special.is_some_and(|special| special.kind == SpecialKind::Search)
    }

    fn close(&mut self, out: &mut String) {
        let is_search = self.is_search();
        let Some(mut current) = self.current.take() else { return };
        let output_index = self.output.len();
        let free = current.free.take().map(FreeText::finish);
        let sequence = &mut self.sequence;
        match (&current.kind, &free) {
            (BlockKind::Text | BlockKind::Refusal, _) => close_content(sequence, &current, output_index, out),
            (BlockKind::Thinking, _) if !current.text.is_empty() => {
                let done = ContentEvent {
                    summary_index: Some(0),
                    text: Some(&current.text),
                    ..content_event(&current, output_index)
                };
                put(sequence, "response.reasoning_summary_text.done", done, out);
                let kind = "response.reasoning_summary_part.done";
                summary_part(sequence, kind, &current, output_index, &current.text, out);
            }
            (BlockKind::ToolCall { .. }, Some((input, rest))) => {
                if !rest.is_empty() {
                    let delta = ContentEvent { delta: Some(rest), ..content_event(&current, output_index) };
                    put(sequence, "response.custom_tool_call_input.delta", delta, out);
                }
                let done = ContentEvent { input: Some(input), ..content_event(&current, output_index) };
                put(sequence, "response.custom_tool_call_input.done", done, out);
            }
            (BlockKind::ToolCall { name, .. }, None) if !is_search => {
                let special = special(&self.context, &current.kind);
                let done = ContentEvent {
                    name: Some(special.map_or(name, |special| &special.name)),
                    arguments: Some(&current.text),
                    ..content_event(&current, output_index)
                };
                put(sequence, "response.function_call_arguments.done", done, out);
            }
            _ => {}
        }
        let special = special(&self.context, &current.kind);
        let text = free.as_ref().map_or(&current.text, |(input, _)| input);
        let seal = current.seal.as_deref();
        let item = item(&current.id, &current.kind, special, Some(text), seal);
        if let Ok(item) = serde_json::value::to_raw_value(&item) {
            let done = ItemEvent { output_index, item: &item };
            put(sequence, "response.output_item.done", done, out);
            self.output.push(item);
        }
    }

    fn end(&mut self, out: &mut String) {
        let reason = incomplete_reason(self.stop.as_ref());
        let response = Response::finished(&self.context, &self.output, self.usage, reason);
        let kind = reason.map_or("response.completed", |_| "response.incomplete");
        put(&mut self.sequence, kind, ResponseEvent { response: &response }, out);
    }

    /// Writes a failure. The stream starts with `response.created` even if the failure is its only other event.
    fn failed(&mut self, failure: &Failure, out: &mut String) {
        self.start(out);
        let error = ResponseError { code: code(failure.kind), message: &failure.message };
        let response = Response::failed(&self.context, &self.output, error);
        put(&mut self.sequence, "response.failed", ResponseEvent { response: &response }, out);
    }
}

fn special<'c>(context: &'c AnswerContext, kind: &BlockKind) -> Option<&'c super::super::SpecialTool> {
    match kind {
        BlockKind::ToolCall { name, .. } => context.special.get(name),
        _ => None,
    }
}

/// Returns the reason why an answer is incomplete, if it is. A stop sequence or a paused turn completes an answer.
fn incomplete_reason(stop: Option<&Stop>) -> Option<&'static str> {
    match stop {
        Some(Stop::Length) => Some("max_output_tokens"),
        Some(Stop::Filtered) => Some("content_filter"),
        Some(Stop::Done | Stop::Sequence(_) | Stop::ToolCalls | Stop::Paused) | None => None,
    }
}

/// Returns an event about an item, without content.
fn content_event(current: &Current, output_index: usize) -> ContentEvent<'_> {
    ContentEvent { item_id: &current.id, output_index, ..ContentEvent::default() }
}

fn close_content(sequence: &mut u64, current: &Current, output_index: usize, out: &mut String) {
    let part_event = || ContentEvent { content_index: Some(0), ..content_event(current, output_index) };
    if current.kind == BlockKind::Refusal {
        let done = ContentEvent { refusal: Some(&current.text), ..part_event() };
        put(sequence, "response.refusal.done", done, out);
    } else {
        let done = ContentEvent { text: Some(&current.text), logprobs: Some([]), ..part_event() };
        put(sequence, "response.output_text.done", done, out);
    }
    let done = ContentEvent { part: Some(AnyPart::Content(Part::of(&current.kind, &current.text))), ..part_event() };
    put(sequence, "response.content_part.done", done, out);
}

fn summary_part(
    sequence: &mut u64,
    kind: &'static str,
    current: &Current,
    output_index: usize,
    text: &str,
    out: &mut String,
) {
    let part = ContentEvent {
        summary_index: Some(0),
        part: Some(AnyPart::Summary(Summary { text })),
        ..content_event(current, output_index)
    };
    put(sequence, kind, part, out);
}

fn put<T: Serialize>(sequence: &mut u64, kind: &str, rest: T, out: &mut String) {
    let envelope = Envelope { r#type: kind, sequence_number: *sequence, rest };
    *sequence += 1;
    write_event(kind, &envelope, out);
}
