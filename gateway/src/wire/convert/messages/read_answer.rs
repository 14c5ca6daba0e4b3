//! An answer from a backend.
//!
//! Servers that speak the format besides its own vendor number their blocks with gaps or all alike, leave starts or ends
//! out, and repeat what the answer costs, with zeros where they had said it before. So blocks are numbered anew here,
//! words without a block get one, and a number is only ever replaced by one that says more.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::super::answer::{BlockKind, Event, Failure, Stop, Usage};
use super::super::request::OUR_SEAL;
use super::super::{ReadAnswer, ids};
use super::{REDACTED, SIGNATURE, failure};
use crate::wire::{Members, Text};

/// More open blocks than an answer has; a stream that goes on opening them must not fill the memory.
const MOST_OPEN: usize = 256;

/// More calls than an answer has.
const MOST_CALLS: usize = 1024;

/// Reads the events of one answer.
///
/// Why the model stopped is told at the very end, since some servers go on after they gave a reason.
#[derive(Default)]
pub(in super::super) struct Reader {
    started: bool,
    ended: bool,
    /// The answer's id, by which calls without an id are told apart from those of other answers.
    id: String,
    /// How many neutral blocks have been opened.
    blocks: usize,
    /// The backend's blocks that are open.
    open: Vec<Open>,
    /// The ids of the calls.
    calls: Vec<String>,
    /// Whether there was any text.
    said: bool,
    /// Whether a block that the client does not get came after it.
    apart: bool,
    usage: Counts,
    stop: Option<Stop>,
}

/// A block of the backend.
struct Open {
    /// The backend's number of it.
    index: Option<u64>,
    /// Its neutral number; `None` for a block that the client does not get.
    block: Option<usize>,
    kind: Kind,
}

enum Kind {
    Text,
    Thinking {
        signature: String,
    },
    Redacted,
    Call {
        /// The arguments that came with the start, which count where no others come.
        input: String,
        /// Whether others came.
        begun: bool,
    },
    Skipped,
}

/// Tokens as the format counts them.
#[derive(Default)]
struct Counts {
    input: u64,
    read: Option<u64>,
    written: Option<u64>,
    output: u64,
    thinking: Option<u64>,
}

impl ReadAnswer for Reader {
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>) {
        let data = data.trim();
        if self.ended || data.is_empty() || name == "ping" {
            return;
        }
        if data == "[DONE]" {
            self.finish(events);
            return;
        }
        let Some(members) = Members::of(data) else {
            if serde_json::from_str::<IgnoredAny>(data).is_err() {
                let failure = failure::failed("the backend sent an event that is not valid JSON");
                self.fail(failure, events);
            }
            return;
        };
        let kind = text(&members, "type").unwrap_or(name.into());
        if let Some(failure) = failure::of(&kind, &members, data) {
            self.fail(failure, events);
            return;
        }
        if self.open.len() > MOST_OPEN || self.calls.len() > MOST_CALLS {
            let failure = failure::failed("the backend's answer has more blocks than can be read");
            self.fail(failure, events);
            return;
        }
        let index = members.parse("index");
        match &*kind {
            "message_start" => self.start(&object(&members, "message"), events),
            "content_block_start" => self.begin(index, &object(&members, "content_block"), events),
            "content_block_delta" => self.delta(index, &object(&members, "delta"), events),
            "content_block_stop" => self.close_index(index, events),
            "message_delta" => {
                self.start(&Members::default(), events);
                self.cost(&members, events);
                self.reason(&object(&members, "delta"));
            }
            "message_stop" => self.finish(events),
            _ => {}
        }
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        if self.stop.is_some() && !self.ended {
            self.finish(events);
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<Event>) {
        let body = body.trim();
        let Some(answer) = Members::of(body) else { return };
        if let Some(failure) = failure::of(&text(&answer, "type").unwrap_or("message".into()), &answer, body) {
            self.fail(failure, events);
            return;
        }
        let Some(content) = answer.get("content") else { return };
        self.start(&answer, events);
        if Text::of(content).is_some() {
            let words = text(&answer, "content").unwrap_or_default();
            self.say(None, true, &words, events);
        }
        for block in answer.elements("content") {
            self.begin(None, &Members::of(block).unwrap_or_default(), events);
            self.close_index(None, events);
        }
        self.reason(&answer);
        self.finish(events);
    }
}

impl Reader {
    /// Begins the answer, with or without the event that says so, and takes what the message has to say by then.
    fn start(&mut self, message: &Members<'_>, events: &mut Vec<Event>) {
        if !self.started {
            self.started = true;
            self.id = text(message, "id").unwrap_or_default().into_owned();
            let model = text(message, "model").map(Cow::into_owned);
            events.push(Event::Start { model });
        }
        self.cost(message, events);
    }

    fn cost(&mut self, members: &Members<'_>, events: &mut Vec<Event>) {
        if let Some(usage) = members.get("usage").and_then(Members::of) {
            self.usage.update(&usage);
            events.push(Event::Usage(self.usage.neutral()));
        }
    }

    /// `content_block_start`, or a whole block.
    fn begin(&mut self, index: Option<u64>, block: &Members<'_>, events: &mut Vec<Event>) {
        self.start(&Members::default(), events);
        // Some servers give every block the same number, and some never close one.
        self.close_index(index, events);
        let kind = text(block, "type").or_else(|| untold(block).map(Into::into));
        match kind.as_deref() {
            Some("text") => self.say(index, true, &text(block, "text").unwrap_or_default(), events),
            Some("thinking") => {
                self.say(index, false, &text(block, "thinking").unwrap_or_default(), events);
                self.sign(index, &text(block, "signature").unwrap_or_default(), events);
            }
            Some("redacted_thinking") => {
                let number = self.open(index, Some(BlockKind::SealedThinking), Kind::Redacted, events);
                let seal = format!("{REDACTED}{}", text(block, "data").unwrap_or_default());
                events.push(Event::Seal { block: number, seal });
            }
            Some("tool_use") => self.call(index, block, events),
            // What the vendor's own server did, and kinds that are not known.
            _ => {
                self.apart = self.said;
                self.open(index, None, Kind::Skipped, events);
            }
        }
    }

    /// Opens a block and returns the neutral number that it has, if the client gets it.
    fn open(&mut self, index: Option<u64>, open: Option<BlockKind>, kind: Kind, events: &mut Vec<Event>) -> usize {
        let number = self.blocks;
        let block = open.map(|kind| {
            self.blocks += 1;
            events.push(Event::Open { block: number, kind });
            number
        });
        self.open.push(Open { index, block, kind });
        number
    }

    fn call(&mut self, index: Option<u64>, block: &Members<'_>, events: &mut Vec<Event>) {
        let theirs = text(block, "id").filter(|id| !self.calls.iter().any(|call| *call == **id));
        let id = theirs.map_or_else(|| ids::made(&self.id, self.blocks), Cow::into_owned);
        self.calls.push(id.clone());
        let name = text(block, "name").unwrap_or_default().into_owned();
        let input = match block.get("input") {
            None | Some("null") => String::new(),
            // An object in a string, which is empty while the arguments are still to come.
            Some(raw) if raw.starts_with('"') => text(block, "input").unwrap_or_default().into_owned(),
            Some(raw) if Members::of(raw).is_some_and(|input| input.iter().next().is_none()) => String::new(),
            Some(raw) => raw.to_owned(),
        };
        let kind = Kind::Call { input, begun: false };
        self.open(index, Some(BlockKind::ToolCall { id, name }), kind, events);
    }

    fn delta(&mut self, index: Option<u64>, delta: &Members<'_>, events: &mut Vec<Event>) {
        self.start(&Members::default(), events);
        let words = |key| text(delta, key).unwrap_or_default();
        match text(delta, "type").as_deref() {
            Some("text_delta") => self.say(index, true, &words("text"), events),
            Some("thinking_delta") => self.say(index, false, &words("thinking"), events),
            Some("signature_delta") => self.sign(index, &words("signature"), events),
            Some("input_json_delta") => self.argue(index, &words("partial_json"), events),
            // Citations, and what is not known.
            _ => {}
        }
    }

    /// Where in `open` the block is. Where a number is missing the last one is meant.
    fn find(&self, index: Option<u64>) -> Option<usize> {
        self.open
            .iter()
            .rposition(|open| index.is_none() || open.index.is_none() || open.index == index)
    }

    /// Text or thinking. Where no such block is open, one is: words are worth more than their frame.
    fn say(&mut self, index: Option<u64>, is_text: bool, words: &str, events: &mut Vec<Event>) {
        if words.is_empty() {
            return;
        }
        let fits = |kind: &Kind| match kind {
            Kind::Text => is_text,
            Kind::Thinking { .. } => !is_text,
            _ => false,
        };
        let at = self.find(index);
        let block = match at.map(|at| &self.open[at]) {
            Some(open) if fits(&open.kind) => open.block.unwrap_or_default(),
            Some(open) if !matches!(open.kind, Kind::Text | Kind::Thinking { .. }) => return,
            _ => {
                self.close_index(index, events);
                let signature = String::new();
                match is_text {
                    true => self.open(index, Some(BlockKind::Text), Kind::Text, events),
                    false => self.open(index, Some(BlockKind::Thinking), Kind::Thinking { signature }, events),
                }
            }
        };
        let mut text = words.to_owned();
        if is_text {
            self.said = true;
            // Text before and after a search that the client does not see would run together.
            if std::mem::take(&mut self.apart) && !words.starts_with('\n') {
                text.insert_str(0, "\n\n");
            }
        }
        events.push(Event::Delta { block, text });
    }

    /// A signature. There is thinking without a word that has one.
    fn sign(&mut self, index: Option<u64>, signature: &str, events: &mut Vec<Event>) {
        if signature.is_empty() {
            return;
        }
        let said = signature.to_owned();
        match self.find(index).map(|at| &mut self.open[at].kind) {
            Some(Kind::Thinking { signature }) => *signature = said,
            Some(_) => {}
            None => {
                let kind = Kind::Thinking { signature: said };
                self.open(index, Some(BlockKind::Thinking), kind, events);
            }
        }
    }

    fn argue(&mut self, index: Option<u64>, text: &str, events: &mut Vec<Event>) {
        let at = self.find(index);
        if let Some(open) = at.map(|at| &mut self.open[at])
            && let (Kind::Call { begun, .. }, Some(block)) = (&mut open.kind, open.block)
            && (*begun || !text.trim().is_empty())
        {
            *begun = true;
            let text = text.to_owned();
            events.push(Event::Delta { block, text });
        }
    }

    /// Closes the block with this number, if it is open.
    fn close_index(&mut self, index: Option<u64>, events: &mut Vec<Event>) {
        if let Some(at) = self.find(index) {
            let open = self.open.remove(at);
            close(open, events);
        }
    }

    fn reason(&mut self, members: &Members<'_>) {
        let Some(reason) = text(members, "stop_reason").filter(|reason| !reason.is_empty()) else {
            return;
        };
        let has_calls = !self.calls.is_empty();
        self.stop = Some(match &*reason {
            "max_tokens" | "model_context_window_exceeded" | "length" => Stop::Length,
            "stop_sequence" => Stop::Sequence(text(members, "stop_sequence").map(Cow::into_owned)),
            "refusal" | "content_filter" => Stop::Filtered,
            "pause_turn" => Stop::Paused,
            // If there are calls an end waits for their results, whatever it is called: servers say `end_turn` after a
            // call that was asked for by name.
            _ if has_calls => Stop::ToolCalls,
            _ => Stop::Done,
        });
    }

    fn finish(&mut self, events: &mut Vec<Event>) {
        if self.ended {
            return;
        }
        if !self.started {
            self.fail(failure::failed("the backend sent an empty stream"), events);
            return;
        }
        self.ended = true;
        for open in std::mem::take(&mut self.open) {
            close(open, events);
        }
        let unsaid = match self.calls.is_empty() {
            true => Stop::Done,
            false => Stop::ToolCalls,
        };
        events.push(Event::Stop(self.stop.take().unwrap_or(unsaid)));
        events.push(Event::End);
    }

    fn fail(&mut self, failure: Failure, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.ended, true) {
            events.push(Event::Failed(failure));
        }
    }
}

impl Counts {
    /// Takes later numbers. Servers fill places in for which they have no number with zeros.
    fn update(&mut self, usage: &Members<'_>) {
        let known = |key: &str| usage.parse::<u64>(key);
        let some = |key: &str| known(key).filter(|count| *count > 0);
        self.input = some("input_tokens").unwrap_or(self.input);
        self.output = some("output_tokens").unwrap_or(self.output);
        self.read = some("cache_read_input_tokens")
            .or(self.read)
            .or(known("cache_read_input_tokens"));
        self.written = some("cache_creation_input_tokens")
            .or(self.written)
            .or(known("cache_creation_input_tokens"));
        let details = object(usage, "output_tokens_details");
        self.thinking = details
            .parse("thinking_tokens")
            .or_else(|| details.parse("reasoning_tokens"))
            .or(self.thinking);
    }

    fn neutral(&self) -> Usage {
        let beside = self.read.unwrap_or(0).saturating_add(self.written.unwrap_or(0));
        Usage {
            input: Some(self.input.saturating_add(beside)),
            cached: self.read,
            cache_write: self.written,
            output: Some(self.output),
            reasoning: self.thinking,
        }
    }
}

fn close(open: Open, events: &mut Vec<Event>) {
    let Some(block) = open.block else { return };
    match open.kind {
        // Who signs nothing, as local servers do, takes it back as it is.
        Kind::Thinking { signature } => {
            let seal = match signature.is_empty() {
                true => format!("{OUR_SEAL}1"),
                false => format!("{SIGNATURE}{signature}"),
            };
            events.push(Event::Seal { block, seal });
        }
        Kind::Call { input, begun: false } => {
            let text = if input.trim().is_empty() {
                "{}".to_owned()
            } else {
                input
            };
            events.push(Event::Delta { block, text });
        }
        _ => {}
    }
    events.push(Event::Close { block });
}

/// What a block without a type is.
fn untold(block: &Members<'_>) -> Option<&'static str> {
    let has = |key| block.get(key).is_some();
    if has("text") {
        Some("text")
    } else if has("thinking") {
        Some("thinking")
    } else if has("name") && has("input") {
        Some("tool_use")
    } else {
        None
    }
}

/// The text of a member, where there is some.
fn text<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    members.text(key).map(Text::decode).filter(|text| !text.is_empty())
}

/// The object of a member, empty where there is none.
fn object<'a>(members: &Members<'a>, key: &str) -> Members<'a> {
    members.get(key).and_then(Members::of).unwrap_or_default()
}
