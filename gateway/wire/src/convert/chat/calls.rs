//! Assigning the deltas of an answer to its tool calls.
//!
//! A delta names its call by `index`. Some servers leave `index` out or give all calls the same one. Some give each
//! delta another id, or none. Therefore a delta with a tool's name that matches a named call starts a new call if its
//! id or name differs, or if the arguments of that call are complete.

use super::super::answer::{BlockKind, Event};
use super::super::ids;
use super::super::order::ArgumentScan;
use crate::surrogates::decode_string;
use crate::{Joiner, Members, Piece, Text};

/// The largest number of calls in an answer. Without this limit, a stream that keeps opening calls would fill the
/// memory.
const MOST_CALLS: usize = 1024;

/// The limit for buffered arguments of all calls, in bytes.
const MOST_HELD: usize = 8 << 20;

/// The calls of one answer.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The buffered arguments of all calls, in bytes.
    held: usize,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    /// The backend's id. Empty if there is none.
    id: String,
    /// The id for the client. It differs from `id` if that is missing or used by an earlier call.
    client_id: String,
    name: String,
    /// The block's number, once the tool's name is known.
    block: Option<usize>,
    closed: bool,
    arguments: ArgumentScan,
    joiner: Joiner,
    begun: bool,
    /// Buffered arguments: those before the tool's name, or an incomplete quoted object.
    held: String,
    /// Whether the arguments are an object in a string inside the usual string. Servers whose template does not support
    /// tools write the arguments in this form.
    quoted: bool,
}

impl Calls {
    /// Whether the answer has a call with a name.
    pub(super) fn any(&self) -> bool {
        self.calls.iter().any(|call| call.block.is_some())
    }

    /// Whether a limit for calls or buffered arguments is exceeded.
    pub(super) fn over_limit(&self) -> bool {
        self.calls.len() > MOST_CALLS || self.held > MOST_HELD
    }

    /// Reads a call or a delta of a call. With `whole`, the members are a complete call. `next` is the number of the
    /// next block, `answer` the answer's id.
    pub(super) fn push(
        &mut self,
        members: &Members<'_>,
        whole: bool,
        next: &mut usize,
        answer: &str,
        events: &mut Vec<Event>,
    ) {
        let function = members.object("function");
        // `function_call`, the older form of a call, is the inner object of the newer one.
        let function = if members.get("function").is_some() { &function } else { members };
        let index = members.parse::<u64>("index");
        let id = members.non_empty("id").unwrap_or_default();
        let name = function.non_empty("name").unwrap_or_default();
        let arguments = match function.get("arguments") {
            None | Some("null") => Piece::from(""),
            Some(raw) => Text::of(raw).map_or(Piece::from(raw), Text::piece),
        };
        let found = if whole { None } else { self.find(index, &id, &name, !arguments.is_empty()) };
        let at = found.unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        if self.calls[at].id.is_empty() {
            self.calls[at].id = id.into_owned();
        }
        if self.calls[at].block.is_none() && !name.is_empty() {
            self.open(at, name.into_owned(), *next, answer, events);
            *next += 1;
        }
        let text = self.calls[at].joiner.join(arguments).into_owned();
        self.held += self.calls[at].push(text, events);
    }

    /// Returns the position of the call that a delta continues.
    fn find(&self, index: Option<u64>, id: &str, name: &str, has_arguments: bool) -> Option<usize> {
        let with = |matches: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(|call| !call.closed && matches(call));
        let at = match index {
            Some(_) => with(&|call| call.index == index),
            None if id.is_empty() => with(&|_| true),
            None => with(&|call| call.id == id).or_else(|| with(&|_| name.is_empty())),
        }?;
        let call = &self.calls[at];
        let another_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let another = another_id || call.name != name || (has_arguments && call.arguments.is_complete());
        let is_another = call.block.is_some() && !name.is_empty() && another;
        (!is_another).then_some(at)
    }

    fn open(&mut self, at: usize, name: String, block: usize, answer: &str, events: &mut Vec<Event>) {
        let id = &self.calls[at].id;
        let taken = id.is_empty() || self.calls.iter().any(|call| call.client_id == *id);
        let client_id = if taken { ids::derived(answer, block) } else { id.clone() };
        let call = &mut self.calls[at];
        call.client_id.clone_from(&client_id);
        call.name.clone_from(&name);
        call.block = Some(block);
        events.push(Event::Open { block, kind: BlockKind::ToolCall { id: client_id, name } });
        let held = std::mem::take(&mut call.held);
        self.held = self.held.saturating_sub(held.len());
        self.held += call.push(held, events);
    }

    pub(super) fn close(&mut self, events: &mut Vec<Event>) {
        for call in self.calls.iter_mut().filter(|call| !call.closed) {
            call.close(events);
        }
        self.held = 0;
    }
}

impl Call {
    /// Adds text to the arguments. Returns the number of bytes that were buffered.
    fn push(&mut self, text: String, events: &mut Vec<Event>) -> usize {
        if text.is_empty() {
            return 0;
        }
        let Some(block) = self.block else {
            return self.hold(&text);
        };
        if let (false, Some(first)) = (self.begun, text.trim_start().chars().next()) {
            self.begun = true;
            self.quoted = first == '"';
        }
        if self.quoted {
            return self.hold(&text);
        }
        self.arguments.push(&text);
        events.push(Event::Delta { block, text });
        0
    }

    fn hold(&mut self, text: &str) -> usize {
        self.held.push_str(text);
        text.len()
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        self.closed = true;
        if let Some(text) = self.joiner.end() {
            self.push(text.to_owned(), events);
        }
        let Some(block) = self.block else { return };
        if self.quoted {
            let held = std::mem::take(&mut self.held);
            let text = decode_string(held.trim()).unwrap_or(held);
            events.push(Event::Delta { block, text });
        }
        events.push(Event::Close { block });
    }
}
