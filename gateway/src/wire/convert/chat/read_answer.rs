//! An answer from a backend.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::ReadAnswer;
use super::super::answer::{BlockKind, Event, Failure, FailureKind, Stop, Usage};
use super::calls::Calls;
use super::thinking;
use crate::wire::failure;
use crate::wire::{Element, Joiner, Members, Piece};

/// Reads the events of one answer.
///
/// Only the first of several choices is read. Why the model stopped is told at the very end, since what it cost comes
/// after it in many streams, and some go on after they gave a reason.
#[derive(Default)]
pub(in super::super) struct Reader {
    started: bool,
    ended: bool,
    /// The answer's id, by which calls without an id are told apart from those of other answers.
    id: String,
    /// How many blocks have been opened.
    blocks: usize,
    /// The block of words that is open.
    words: Option<(usize, TextKind)>,
    /// Joins what comes of it.
    joiner: Joiner,
    calls: Calls,
    stop: Option<Stop>,
}

/// What words are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Refusal,
    /// With the seal that it gets.
    Thinking(&'static str),
}

/// A chunk that may bring nothing but words, which nearly all do: read in one pass, where looking into each member costs
/// several.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: [ChunkChoice<'a>; 1],
    object: Option<&'a str>,
    r#type: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: ChunkDelta<'a>,
    finish_reason: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ChunkDelta<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    reasoning: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    refusal: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
    function_call: Option<IgnoredAny>,
}

/// The words of a chunk that brings nothing else, `None` for every other one.
fn plain_words<'a>(name: &str, data: &'a str) -> Option<Cow<'a, str>> {
    let chunk: Chunk<'a> = serde_json::from_str(data).ok()?;
    let [choice] = chunk.choices;
    let said = [
        chunk.r#type,
        chunk.error,
        chunk.usage,
        choice.finish_reason,
        choice.error,
        choice.usage,
    ];
    let delta = choice.delta;
    let more = [
        delta.reasoning,
        delta.reasoning_content,
        delta.refusal,
        delta.tool_calls,
        delta.function_call,
    ];
    let plain = name == "message"
        && chunk.object != Some("error")
        && choice.index.unwrap_or(0) == 0
        && said.iter().chain(&more).all(Option::is_none);
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
            && let Some(text) = plain_words(name, data)
        {
            return self.say(TextKind::Text, text.into(), events);
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
}

impl Reader {
    fn chunk(&mut self, name: &str, chunk: &Members<'_>, whole: bool, events: &mut Vec<Event>) {
        let choice = choice(chunk);
        // OpenRouter puts an error in the middle of a stream into the choice.
        let in_choice = || choice.as_ref().and_then(|choice| failure::of("message", choice));
        if let Some(failure) = failure::of(name, chunk).or_else(in_choice) {
            self.ended = true;
            events.push(Event::Failed(failure));
            return;
        }
        if !self.started {
            self.started = true;
            self.id = chunk.said("id").unwrap_or_default().into_owned();
            let model = chunk.said("model").map(Into::into);
            events.push(Event::Start { model });
        }
        // Moonshot puts the usage into the choice.
        let of_choice = choice.as_ref().and_then(usage);
        events.extend(usage(chunk).or(of_choice).map(Event::Usage));
        let Some(choice) = choice else { return };
        let key = if choice.get("delta").is_some() {
            "delta"
        } else {
            "message"
        };
        self.delta(&choice.object(key), whole, events);
        if self.calls.too_much() {
            self.fail("the backend's answer has more calls of tools than can be read", events);
        } else if let Some(reason) = choice.said("finish_reason") {
            self.reason(&reason, &choice, events);
        }
    }

    fn delta(&mut self, delta: &Members<'_>, whole: bool, events: &mut Vec<Event>) {
        if let Some((text, seal)) = thinking(delta) {
            self.say(TextKind::Thinking(seal), text.piece(), events);
        }
        if let Some(text) = delta.piece("content") {
            self.say(TextKind::Text, text, events);
        } else {
            for part in delta.elements("content") {
                self.part(&part.object().unwrap_or_default(), events);
            }
        }
        if let Some(text) = delta.piece("refusal") {
            self.say(TextKind::Refusal, text, events);
        }
        let calls = delta.elements("tool_calls");
        for element in calls.into_iter().chain(delta.raw("function_call").map(Element::of)) {
            let Some(call) = element.object() else { continue };
            let (before, mut read) = (self.blocks, Vec::new());
            self.calls.take(&call, whole, &mut self.blocks, &self.id, &mut read);
            if self.blocks > before {
                self.close_words(events);
            }
            events.append(&mut read);
        }
    }

    /// A part of content that is a list, as Mistral writes it for models that think.
    fn part(&mut self, part: &Members<'_>, events: &mut Vec<Event>) {
        let (key, words) = match part.said("type").as_deref() {
            Some("thinking") => ("thinking", TextKind::Thinking(super::THINKING[1].1)),
            Some("refusal") => ("refusal", TextKind::Refusal),
            _ => ("text", TextKind::Text),
        };
        if let Some(text) = part.piece(key) {
            self.say(words, text, events);
        }
        for inner in part.elements(key) {
            let inner = inner.object().unwrap_or_default();
            if let Some(text) = inner.piece("text") {
                self.say(words, text, events);
            }
        }
    }

    fn say(&mut self, words: TextKind, piece: Piece<'_>, events: &mut Vec<Event>) {
        if piece.is_empty() {
            return;
        }
        let open = self.words.filter(|(_, open)| *open == words);
        let block = open.map_or_else(|| self.open_words(words, events), |(block, _)| block);
        let text = self.joiner.join(piece).into_owned();
        if !text.is_empty() {
            events.push(Event::Delta { block, text });
        }
    }

    fn open_words(&mut self, words: TextKind, events: &mut Vec<Event>) -> usize {
        self.close_words(events);
        let block = self.blocks;
        self.blocks += 1;
        self.words = Some((block, words));
        let kind = match words {
            TextKind::Text => BlockKind::Text,
            TextKind::Refusal => BlockKind::Refusal,
            TextKind::Thinking(_) => BlockKind::Thinking,
        };
        events.push(Event::Open { block, kind });
        block
    }

    fn close_words(&mut self, events: &mut Vec<Event>) {
        let Some((block, words)) = self.words.take() else {
            return;
        };
        if let Some(text) = self.joiner.end() {
            let text = text.to_owned();
            events.push(Event::Delta { block, text });
        }
        if let TextKind::Thinking(seal) = words {
            let seal = seal.to_owned();
            events.push(Event::Seal { block, seal });
        }
        events.push(Event::Close { block });
    }

    fn reason(&mut self, reason: &str, choice: &Members<'_>, events: &mut Vec<Event>) {
        let stop = match reason {
            "error" | "abort" => return self.fail("the backend broke its answer off", events),
            "length" | "max_tokens" | "model_length" => Stop::Length,
            "content_filter" | "safety" => Stop::Filtered,
            // What is left is an end. If there are calls it waits for their results, whatever it is called: a call
            // that was asked for by name ends with `stop` in vLLM.
            _ if self.calls.any() => Stop::ToolCalls,
            // vLLM and SGLang say which sequence it was; a number there is a token of the model.
            "stop" => match choice.said("stop_reason").or_else(|| choice.said("matched_stop")) {
                Some(sequence) => Stop::Sequence(Some(sequence.into_owned())),
                None => Stop::Done,
            },
            _ => Stop::Done,
        };
        self.close_words(events);
        self.calls.close(events);
        self.stop = Some(stop);
    }

    fn finish(&mut self, events: &mut Vec<Event>) {
        if !self.started {
            self.fail("the backend sent an empty stream", events);
            return;
        }
        self.ended = true;
        self.close_words(events);
        self.calls.close(events);
        let unsaid = if self.calls.any() { Stop::ToolCalls } else { Stop::Done };
        events.push(Event::Stop(self.stop.take().unwrap_or(unsaid)));
        events.push(Event::End);
    }

    fn fail(&mut self, message: &str, events: &mut Vec<Event>) {
        self.ended = true;
        events.push(Event::Failed(Failure {
            kind: FailureKind::Server,
            message: message.to_owned(),
        }));
    }
}

/// The choice with index 0, or without one.
fn choice<'a>(chunk: &Members<'a>) -> Option<Members<'a>> {
    chunk
        .elements("choices")
        .into_iter()
        .filter_map(Element::object)
        .find(|choice| matches!(choice.get("index"), None | Some("0" | "null")))
}

/// What an answer costs, in OpenAI's fields and in those of servers that have their own for the cache.
fn usage(members: &Members<'_>) -> Option<Usage> {
    let usage = members.get("usage").and_then(Members::of)?;
    let (prompt, completion) = (
        usage.object("prompt_tokens_details"),
        usage.object("completion_tokens_details"),
    );
    let cached = number(&prompt, "cached_tokens")
        .or_else(|| number(&usage, "cache_read_input_tokens"))
        .or_else(|| number(&usage, "prompt_cache_hit_tokens"))
        .or_else(|| number(&usage, "cached_tokens"));
    let read = Usage {
        input: number(&usage, "prompt_tokens"),
        cached,
        cache_write: number(&prompt, "cache_write_tokens").or_else(|| number(&usage, "cache_creation_input_tokens")),
        output: number(&usage, "completion_tokens"),
        reasoning: number(&completion, "reasoning_tokens"),
    };
    (read != Usage::default()).then_some(read)
}

fn number(members: &Members<'_>, key: &str) -> Option<u64> {
    members.parse(key)
}
