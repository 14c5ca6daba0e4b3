//! Reader of answers.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::answer::{BlockKind, Event, Failure, FailureKind, Stop, Usage};
use super::super::request::Dropped;
use super::super::{ReadAnswer, is_empty};
use super::calls::Calls;
use super::thinking;
use crate::{Element, Joiner, Members, Piece, failure};

/// The reader of one answer.
///
/// Only the first of several choices is read. The stop reason is reported at the end of the stream: in many streams the
/// usage follows it, and some streams continue after it.
#[derive(Default)]
pub(in super::super) struct Reader {
    started: bool,
    ended: bool,
    /// The answer's id, from which ids for calls without one are derived.
    id: String,
    /// The number of blocks so far.
    blocks: usize,
    /// The open text block: its number and kind.
    text: Option<(usize, TextKind)>,
    /// The joiner of its deltas.
    joiner: Joiner,
    calls: Calls,
    stop: Option<Stop>,
    dropped: Dropped,
}

/// The kind of a text block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Refusal,
    /// Thinking, with its seal.
    Thinking(&'static str),
}

/// A chunk that may contain only text, as nearly all chunks do. It is parsed in one pass; looking up each member takes
/// several.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: [ChunkChoice<'a>; 1],
    object: Option<&'a str>,
    r#type: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
    citations: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: ChunkDelta<'a>,
    finish_reason: Option<IgnoredAny>,
    logprobs: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ChunkDelta<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    reasoning: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    reasoning_details: Option<IgnoredAny>,
    refusal: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
    function_call: Option<IgnoredAny>,
    annotations: Option<IgnoredAny>,
    audio: Option<IgnoredAny>,
    images: Option<IgnoredAny>,
}

/// Returns the text of a chunk that contains nothing else, `None` for every other chunk.
fn plain_text<'a>(name: &str, data: &'a str) -> Option<Cow<'a, str>> {
    let chunk: Chunk<'a> = serde_json::from_str(data).ok()?;
    let [choice] = chunk.choices;
    let outer = [
        chunk.r#type, chunk.error, chunk.usage, chunk.citations, choice.finish_reason, choice.logprobs, choice.error,
        choice.usage,
    ];
    let delta = choice.delta;
    let inner = [
        delta.reasoning, delta.reasoning_content, delta.reasoning_details, delta.refusal, delta.tool_calls,
        delta.function_call, delta.annotations, delta.audio, delta.images,
    ];
    let plain = name == "message"
        && chunk.object != Some("error")
        && choice.index.unwrap_or(0) == 0
        && outer.iter().chain(&inner).all(Option::is_none);
    (plain && !delta.content.is_empty()).then_some(delta.content)
}

impl ReadAnswer for Reader {
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>) {
        let data = data.trim();
        if self.ended || data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            self.finish(events);
            return;
        }
        if self.started
            && let Some(text) = plain_text(name, data)
        {
            return self.push_text(TextKind::Text, text.into(), events);
        }
        let Some(chunk) = Members::of(data) else {
            if serde_json::from_str::<IgnoredAny>(data).is_err() {
                self.fail("the backend sent an event that is not valid JSON", events);
            }
            return;
        };
        self.chunk(name, &chunk, false, events);
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        if self.stop.is_some() && !self.ended {
            self.finish(events);
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<Event>) {
        let Some(answer) = Members::of(body.trim()) else { return };
        self.chunk("message", &answer, true, events);
        if self.started && !self.ended && choice(&answer).is_some() {
            self.finish(events);
        }
    }

    fn dropped(&self) -> &Dropped {
        &self.dropped
    }
}

impl Reader {
    fn chunk(&mut self, name: &str, chunk: &Members<'_>, whole: bool, events: &mut Vec<Event>) {
        let choice = choice(chunk);
        // In the middle of a stream, OpenRouter puts an error into the choice.
        let in_choice = || choice.as_ref().and_then(|choice| failure::find("message", choice));
        if let Some(failure) = failure::find(name, chunk).or_else(in_choice) {
            self.ended = true;
            events.push(Event::Failed(failure));
            return;
        }
        if !self.started {
            self.started = true;
            self.id = chunk.non_empty("id").unwrap_or_default().into_owned();
            let model = chunk.non_empty("model").map(Into::into);
            events.push(Event::Start { model });
        }
        // Moonshot puts the usage into the choice.
        let of_choice = choice.as_ref().and_then(usage);
        events.extend(usage(chunk).or(of_choice).map(Event::Usage));
        let Some(choice) = choice else { return };
        let key = if choice.get("delta").is_some() { "delta" } else { "message" };
        let delta = choice.object(key);
        self.drop_unread(chunk, &choice, &delta);
        self.delta(&delta, whole, events);
        if self.calls.over_limit() {
            self.fail("the backend's answer has too many or too long tool calls", events);
        } else if let Some(reason) = choice.non_empty("finish_reason") {
            self.finish_reason(&reason, &choice, events);
        }
    }

    /// Counts what the other formats do not have. Perplexity repeats the citations in each chunk.
    fn drop_unread(&mut self, chunk: &Members<'_>, choice: &Members<'_>, delta: &Members<'_>) {
        for (name, is_there) in [
            ("answer.citations", !chunk.elements("citations").is_empty()),
            ("answer.logprobs", choice.object("logprobs").iter().any(|(_, value)| !is_empty(value))),
            ("answer.audio", delta.object("audio").iter().next().is_some()),
        ] {
            if is_there {
                self.dropped.add_once(name);
            }
        }
        self.dropped.add_all("answer.annotations", delta.elements("annotations").len());
        self.dropped.add_all("answer.images", delta.elements("images").len());
    }

    fn delta(&mut self, delta: &Members<'_>, whole: bool, events: &mut Vec<Event>) {
        if let Some((text, seal)) = thinking(delta) {
            self.push_text(TextKind::Thinking(seal), text.piece(), events);
        } else {
            // OpenRouter's form, which some servers write alone.
            for detail in delta.elements("reasoning_details").into_iter().filter_map(Element::object) {
                if let Some(text) = detail.piece("text").or_else(|| detail.piece("summary")) {
                    self.push_text(TextKind::Thinking(super::THINKING[1].1), text, events);
                }
            }
        }
        if let Some(text) = delta.piece("content") {
            self.push_text(TextKind::Text, text, events);
        } else {
            for part in delta.elements("content") {
                self.part(&part.object().unwrap_or_default(), events);
            }
        }
        if let Some(text) = delta.piece("refusal") {
            self.push_text(TextKind::Refusal, text, events);
        }
        let calls = delta.elements("tool_calls");
        for element in calls.into_iter().chain(delta.raw("function_call").map(Element::of)) {
            let Some(call) = element.object() else { continue };
            let (before, mut read) = (self.blocks, Vec::new());
            self.calls.push(&call, whole, &mut self.blocks, &self.id, &mut read);
            if self.blocks > before {
                self.close_text(events);
            }
            events.append(&mut read);
        }
    }

    /// Reads a part of content that is a list. Mistral writes such content for models that think.
    fn part(&mut self, part: &Members<'_>, events: &mut Vec<Event>) {
        let name = part.non_empty("type").unwrap_or("text".into());
        let (key, kind) = match &*name {
            "thinking" => ("thinking", TextKind::Thinking(super::THINKING[1].1)),
            "refusal" => ("refusal", TextKind::Refusal),
            _ => ("text", TextKind::Text),
        };
        if part.get(key).is_none() {
            self.dropped.add(format!("answer.{name}"));
        }
        if let Some(text) = part.piece(key) {
            self.push_text(kind, text, events);
        }
        for inner in part.elements(key) {
            let inner = inner.object().unwrap_or_default();
            if let Some(text) = inner.piece("text") {
                self.push_text(kind, text, events);
            }
        }
    }

    fn push_text(&mut self, kind: TextKind, piece: Piece<'_>, events: &mut Vec<Event>) {
        if piece.is_empty() {
            return;
        }
        let open = self.text.filter(|(_, open)| *open == kind);
        let block = open.map_or_else(|| self.open_text(kind, events), |(block, _)| block);
        let text = self.joiner.join(piece).into_owned();
        if !text.is_empty() {
            events.push(Event::Delta { block, text });
        }
    }

    fn open_text(&mut self, kind: TextKind, events: &mut Vec<Event>) -> usize {
        self.close_text(events);
        let block = self.blocks;
        self.blocks += 1;
        self.text = Some((block, kind));
        let kind = match kind {
            TextKind::Text => BlockKind::Text,
            TextKind::Refusal => BlockKind::Refusal,
            TextKind::Thinking(_) => BlockKind::Thinking,
        };
        events.push(Event::Open { block, kind });
        block
    }

    fn close_text(&mut self, events: &mut Vec<Event>) {
        let Some((block, kind)) = self.text.take() else {
            return;
        };
        if let Some(text) = self.joiner.end() {
            let text = text.to_owned();
            events.push(Event::Delta { block, text });
        }
        if let TextKind::Thinking(seal) = kind {
            let seal = seal.to_owned();
            events.push(Event::Seal { block, seal });
        }
        events.push(Event::Close { block });
    }

    fn finish_reason(&mut self, reason: &str, choice: &Members<'_>, events: &mut Vec<Event>) {
        let stop = match reason {
            "error" | "abort" => return self.fail("the backend aborted its answer", events),
            "length" | "max_tokens" | "model_length" => Stop::Length,
            "content_filter" | "safety" => Stop::Filtered,
            // All other reasons are a normal end. With calls, the model waits for their results: vLLM uses `stop` after
            // a call that `tool_choice` names.
            _ if self.calls.any() => Stop::ToolCalls,
            // vLLM and SGLang name the stop sequence. A number in this member is a token of the model.
            "stop" => match choice.non_empty("stop_reason").or_else(|| choice.non_empty("matched_stop")) {
                Some(sequence) => Stop::Sequence(Some(sequence.into_owned())),
                None => Stop::Done,
            },
            _ => Stop::Done,
        };
        self.close_text(events);
        self.calls.close(events);
        self.stop = Some(stop);
    }

    fn finish(&mut self, events: &mut Vec<Event>) {
        if !self.started {
            self.fail("the backend sent an empty stream", events);
            return;
        }
        self.ended = true;
        self.close_text(events);
        self.calls.close(events);
        let default = if self.calls.any() { Stop::ToolCalls } else { Stop::Done };
        events.push(Event::Stop(self.stop.take().unwrap_or(default)));
        events.push(Event::End);
    }

    fn fail(&mut self, message: &str, events: &mut Vec<Event>) {
        self.ended = true;
        events.push(Event::Failed(Failure { kind: FailureKind::Server, message: message.to_owned() }));
    }
}

/// Returns the choice with index 0 or without an index.
fn choice<'a>(chunk: &Members<'a>) -> Option<Members<'a>> {
    chunk
        .elements("choices")
        .into_iter()
        .filter_map(Element::object)
        .find(|choice| matches!(choice.get("index"), None | Some("0" | "null")))
}

/// Reads usage from OpenAI's members and from the cache members of other servers.
fn usage(members: &Members<'_>) -> Option<Usage> {
    let usage = members.get("usage").and_then(Members::of)?;
    let (prompt, completion) = (usage.object("prompt_tokens_details"), usage.object("completion_tokens_details"));
    let cached = number(&prompt, "cached_tokens")
        .or_else(|| number(&usage, "cache_read_input_tokens"))
        .or_else(|| number(&usage, "prompt_cache_hit_tokens"))
        .or_else(|| number(&usage, "cached_tokens"));
    let read = Usage {
        input: number(&usage, "prompt_tokens"),
        cached,
        cache_write: number(&prompt, "cache_write_tokens").or_else(|| number(&usage, "cache_creation_input_tokens")),
        cache_write_1h: number(&usage.object("cache_creation"), "ephemeral_1h_input_tokens"),
        output: number(&usage, "completion_tokens"),
        reasoning: number(&completion, "reasoning_tokens"),
    };
    (read != Usage::default()).then_some(read)
}

fn number(members: &Members<'_>, key: &str) -> Option<u64> {
    members.parse(key)
}
