//! Reader of answers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::ReadAnswer;
use super::super::answer::{BlockKind, Event, Failure, Stop};
use super::super::request::Dropped;
use super::usage::Counts;
use super::{REDACTED, SEAL};
use crate::{Joiner, Members, Piece, Text, failure};

/// The largest number of open blocks. In a valid stream, one block is open at a time.
const MOST_OPEN: usize = 64;

/// The largest number of call ids that are kept to detect repeated ones.
const MOST_IDS: usize = 1024;

/// The longest signature, in bytes.
const LONGEST_SEAL: usize = 1 << 20;

/// The reader of one answer.
#[derive(Default)]
pub(in super::super) struct Reader {
    started: bool,
    stopped: bool,
    ended: bool,
    /// Open blocks by the backend's index.
    open: BTreeMap<u64, OpenBlock>,
    /// The index of the block that opened last, for deltas without an index.
    last: u64,
    /// The number of the next block.
    next: usize,
    called: bool,
    ids: BTreeSet<String>,
    counts: Counts,
    dropped: Dropped,
}

/// An incomplete block.
struct OpenBlock {
    block: usize,
    sort: BlockType,
    /// Arguments in the start of the call. They are used if no deltas follow.
    input: String,
    /// Whether the block has text.
    filled: bool,
    joiner: Joiner,
    seal: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockType {
    Text,
    Thinking,
    Redacted,
    Call,
}

/// A delta that may contain only text for an open block, as nearly all deltas do. It is parsed in one pass; looking up
/// each member takes several.
#[derive(Deserialize)]
struct Plain<'a> {
    r#type: &'a str,
    index: u64,
    #[serde(borrow)]
    delta: PlainDelta<'a>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct PlainDelta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
    signature: Option<IgnoredAny>,
}

impl ReadAnswer for Reader {
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>) {
        let data = data.trim_ascii();
        if self.ended || data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            return self.finish(events);
        }
        if self.plain(data, events) {
            return;
        }
        let Some(members) = Members::of(data) else {
            return self.fail(Failure::not_json(), events);
        };
        let kind = members.string("type").unwrap_or_else(|| name.into());
        if let Some(error) = members.present("error") {
            return self.fail(failure::from_value(error.get()), events);
        }
        match &*kind {
            "message_start" => {
                let message = members.get("message").and_then(Members::of).unwrap_or_default();
                self.begin(message.string("model").map(Into::into), events);
                self.usage(&message, events);
            }
            "content_block_start" if !self.stopped => {
                let index = members.parse("index").unwrap_or(self.next as u64);
                let block = members.get("content_block").and_then(Members::of).unwrap_or_default();
                self.start(index, &block, events);
            }
            "content_block_delta" if !self.stopped => self.delta(&members, events),
            "content_block_stop" => {
                let index = members.parse("index").unwrap_or(self.last);
                self.close(index, events);
            }
            "message_delta" => {
                self.usage(&members, events);
                let delta = members.get("delta").and_then(Members::of).unwrap_or_default();
                self.stop(&delta, events);
            }
            "message_stop" => self.finish(events),
            "error" => self.fail(failure::from_object(&members), events),
            _ => {}
        }
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        if self.stopped {
            self.finish(events);
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<Event>) {
        let Some(members) = Members::of(body.trim_ascii()) else {
            return self.fail(Failure::not_json(), events);
        };
        if let Some(error) = members.present("error") {
            return self.fail(failure::from_value(error.get()), events);
        }
        if members.present("content").is_none() {
            return;
        }
        self.begin(members.string("model").map(Into::into), events);
        for (index, block) in (0..).zip(members.elements("content")) {
            if let Some(block) = block.object() {
                self.start(index, &block, events);
                self.close(index, events);
            }
        }
        self.usage(&members, events);
        self.stop(&members, events);
        self.finish(events);
    }

    fn dropped(&self) -> &Dropped {
        &self.dropped
    }
}

impl Reader {
    fn begin(&mut self, model: Option<String>, events: &mut Vec<Event>) {
        if !self.started {
            self.started = true;
            events.push(Event::Start { model });
        }
    }

    fn start(&mut self, index: u64, block: &Members<'_>, events: &mut Vec<Event>) {
        self.begin(None, events);
        let text = |key: &str| block.string(key).unwrap_or_default();
        let piece = |key: &str| block.piece(key).unwrap_or("".into());
        let kind = text("type");
        let (sort, first) = match &*kind {
            "text" => (BlockType::Text, piece("text")),
            "thinking" => (BlockType::Thinking, piece("thinking")),
            "redacted_thinking" => (BlockType::Redacted, "".into()),
            "tool_use" => (BlockType::Call, "".into()),
            // Blocks of the vendor's own tools have no equivalent in other formats.
            "" => return,
            kind => return self.dropped.add(format!("answer.{kind}")),
        };
        self.dropped.add_all("answer.citations", block.elements("citations").len());
        let call = (sort == BlockType::Call).then(|| (text("id").into_owned(), text("name").into_owned()));
        self.open(index, sort, call, events);
        let Some(open) = self.open.get_mut(&index) else { return };
        open.seal = match sort {
            BlockType::Thinking => text("signature").into_owned(),
            BlockType::Redacted => text("data").into_owned(),
            BlockType::Text | BlockType::Call => String::new(),
        };
        if let (BlockType::Call, Some(input)) = (sort, block.present("input")) {
            open.input = Text::of(input.get()).map_or_else(|| input.get().to_owned(), |text| text.decode().into());
        }
        open.push(first, events);
    }

    fn open(&mut self, index: u64, sort: BlockType, call: Option<(String, String)>, events: &mut Vec<Event>) {
        self.close(index, events);
        if self.open.len() >= MOST_OPEN
            && let Some(oldest) = self.open.keys().next().copied()
        {
            self.close(oldest, events);
        }
        let block = self.next;
        self.next += 1;
        self.last = index;
        let kind = match sort {
            BlockType::Text => BlockKind::Text,
            BlockType::Thinking => BlockKind::Thinking,
            BlockType::Redacted => BlockKind::SealedThinking,
            BlockType::Call => {
                let (id, name) = call.unwrap_or_default();
                self.called = true;
                BlockKind::ToolCall { id: self.id(id, block), name }
            }
        };
        events.push(Event::Open { block, kind });
        let open = OpenBlock {
            block,
            sort,
            input: String::new(),
            filled: false,
            joiner: Joiner::default(),
            seal: String::new(),
        };
        self.open.insert(index, open);
    }

    /// Returns the call's id. A missing or repeated id is replaced by the block's number.
    fn id(&mut self, id: String, block: usize) -> String {
        if id.is_empty() || self.ids.contains(&id) {
            return format!("call_{block}");
        }
        if self.ids.len() < MOST_IDS {
            self.ids.insert(id.clone());
        }
        id
    }

    /// Reads a delta that is only text for an open block. Returns `false` for every other event.
    fn plain(&mut self, data: &str, events: &mut Vec<Event>) -> bool {
        if self.stopped || self.open.is_empty() {
            return false;
        }
        let Ok(Plain { r#type: "content_block_delta", index, delta, error: None }) = serde_json::from_str(data) else {
            return false;
        };
        let (sort, text) = match (delta.text, delta.thinking, delta.partial_json, delta.signature) {
            (Some(text), None, None, None) => (BlockType::Text, text),
            (None, Some(thinking), None, None) => (BlockType::Thinking, thinking),
            (None, None, Some(partial_json), None) => (BlockType::Call, partial_json),
            _ => return false,
        };
        let open = self.open.get_mut(&index).filter(|open| open.sort == sort);
        open.map(|open| open.push(text.into(), events)).is_some()
    }

    fn delta(&mut self, members: &Members<'_>, events: &mut Vec<Event>) {
        let index = members.parse("index").unwrap_or(self.last);
        let Some(delta) = members.get("delta").and_then(Members::of) else {
            return;
        };
        self.dropped.add_all("answer.citations", usize::from(delta.present("citation").is_some()));
        for (key, sort) in
            [("text", BlockType::Text), ("thinking", BlockType::Thinking), ("partial_json", BlockType::Call)]
        {
            let Some(text) = delta.piece(key) else { continue };
            // Some servers leave out the start of text and thinking blocks.
            if sort != BlockType::Call && !text.is_empty() && !self.open.contains_key(&index) {
                self.begin(None, events);
                self.open(index, sort, None, events);
            }
            if let Some(open) = self.open.get_mut(&index).filter(|open| open.sort == sort) {
                open.push(text, events);
            }
        }
        if let (Some(open), Some(seal)) = (self.open.get_mut(&index), delta.string("signature"))
            && open.sort == BlockType::Thinking
            && open.seal.len() + seal.len() <= LONGEST_SEAL
        {
            open.seal.push_str(&seal);
        }
    }

    fn close(&mut self, index: u64, events: &mut Vec<Event>) {
        if let Some(open) = self.open.remove(&index) {
            open.close(events);
        }
    }

    fn usage(&mut self, members: &Members<'_>, events: &mut Vec<Event>) {
        if let Some(usage) = members.get("usage").and_then(Members::of) {
            self.begin(None, events);
            self.counts.update(&usage);
            events.push(Event::Usage(self.counts.usage()));
        }
    }

    fn stop(&mut self, delta: &Members<'_>, events: &mut Vec<Event>) {
        let Some(reason) = delta.string("stop_reason") else {
            return;
        };
        let stop = match &*reason {
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "stop_sequence" => Stop::Sequence(delta.string("stop_sequence").map(Into::into)),
            "tool_use" => Stop::ToolCalls,
            "pause_turn" | "compaction" => Stop::Paused,
            "refusal" => Stop::Filtered,
            // vLLM sends `end_turn` after calls.
            _ if self.called => Stop::ToolCalls,
            _ => Stop::Done,
        };
        self.push_stop(stop, events);
    }

    fn push_stop(&mut self, stop: Stop, events: &mut Vec<Event>) {
        if !self.stopped {
            self.stopped = true;
            self.begin(None, events);
            for open in std::mem::take(&mut self.open).into_values() {
                open.close(events);
            }
            events.push(Event::Stop(stop));
        }
    }

    fn finish(&mut self, events: &mut Vec<Event>) {
        if self.ended {
            return;
        }
        let stop = if self.called { Stop::ToolCalls } else { Stop::Done };
        self.push_stop(stop, events);
        self.ended = true;
        events.push(Event::End);
    }

    fn fail(&mut self, failure: Failure, events: &mut Vec<Event>) {
        self.ended = true;
        events.push(Event::Failed(failure));
    }
}

impl OpenBlock {
    fn push(&mut self, piece: Piece<'_>, events: &mut Vec<Event>) {
        self.filled |= !piece.is_empty();
        let (block, text) = (self.block, self.joiner.join(piece).into_owned());
        if !text.is_empty() {
            events.push(Event::Delta { block, text });
        }
    }

    fn close(mut self, events: &mut Vec<Event>) {
        let block = self.block;
        if self.sort == BlockType::Call && !self.filled {
            let input = std::mem::take(&mut self.input);
            let input = if input.trim().is_empty() { "{}" } else { &input };
            self.push(input.into(), events);
        }
        if let Some(text) = self.joiner.end() {
            self.push(text.into(), events);
        }
        if !self.seal.is_empty() {
            let tag = if self.sort == BlockType::Redacted { REDACTED } else { SEAL };
            let seal = format!("{tag}{}", self.seal);
            events.push(Event::Seal { block, seal });
        }
        events.push(Event::Close { block });
    }
}

#[cfg(test)]
mod tests;
