//! Calls of tools in an answer, told apart however little a backend says about them.
//!
//! A delta names its call by `index`. Some servers leave that out, or give each call the same; some give each delta
//! another id, or none at all. So a delta that names a tool, where the call that it seems to belong to has one already,
//! begins another call if its id or its name differs, or if that call's arguments are complete.

use super::super::answer::{BlockKind, Event};
use super::super::ids;
use super::super::order::Arguments;
use crate::wire::surrogates::decode_string;
use crate::wire::{Joiner, Members, Piece, Text};

/// More calls than an answer has; a stream that goes on opening them must not fill the memory.
const MOST_CALLS: usize = 1024;

/// The most bytes of arguments that are held back.
const MOST_HELD: usize = 8 << 20;

/// The calls of one answer.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Bytes held back in all calls.
    held: usize,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    /// The backend's id, empty where it has none.
    id: String,
    /// The id that the client gets, which is another where the backend's is missing or taken.
    given: String,
    name: String,
    /// The block, once the tool's name is known.
    block: Option<usize>,
    closed: bool,
    arguments: Arguments,
    joiner: Joiner,
    begun: bool,
    /// Arguments that wait for the call's name, or for the end of a string that holds them.
    held: String,
    /// Whether they are an object in a string in a string, as servers write them whose template knows no tools.
    quoted: bool,
}

impl Calls {
    /// Whether there is any call with a name.
    pub(super) fn any(&self) -> bool {
        self.calls.iter().any(|call| call.block.is_some())
    }

    /// Whether there is more than any answer has.
    pub(super) fn too_much(&self) -> bool {
        self.calls.len() > MOST_CALLS || self.held > MOST_HELD
    }

    /// Takes a call, or more of one. `whole` says that it is complete and never more of another; `next` is the number of
    /// the next block, and `answer` what this answer is known by.
    pub(super) fn take(
        &mut self,
        members: &Members<'_>,
        whole: bool,
        next: &mut usize,
        answer: &str,
        events: &mut Vec<Event>,
    ) {
        let function = members.object("function");
        // The older form of a call is the function alone.
        let function = if members.get("function").is_some() {
            &function
        } else {
            members
        };
        let index = members.parse::<u64>("index");
        let id = members.said("id").unwrap_or_default();
        let name = function.said("name").unwrap_or_default();
        let arguments = match function.get("arguments") {
            None | Some("null") => Piece::from(""),
            Some(raw) => Text::of(raw).map_or(Piece::from(raw), Text::piece),
        };
        let found = if whole {
            None
        } else {
            self.find(index, &id, &name, !arguments.is_empty())
        };
        let at = found.unwrap_or_else(|| {
            self.calls.push(Call {
                index,
                ..Call::default()
            });
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
        self.held += self.calls[at].more(text, events);
    }

    /// The call that a delta belongs to.
    fn find(&self, index: Option<u64>, id: &str, name: &str, has_arguments: bool) -> Option<usize> {
        let with = |matches: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(|call| !call.closed && matches(call));
        let at = match index {
            Some(_) => with(&|call| call.index == index),
            None if id.is_empty() => with(&|_| true),
            None => with(&|call| call.id == id).or_else(|| with(&|_| name.is_empty())),
        }?;
        let call = &self.calls[at];
        let another_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let another = another_id || call.name != name || (has_arguments && call.arguments.complete());
        let is_another = call.block.is_some() && !name.is_empty() && another;
        (!is_another).then_some(at)
    }

    fn open(&mut self, at: usize, name: String, block: usize, answer: &str, events: &mut Vec<Event>) {
        let id = &self.calls[at].id;
        let taken = id.is_empty() || self.calls.iter().any(|call| call.given == *id);
        let given = if taken { ids::made(answer, block) } else { id.clone() };
        let call = &mut self.calls[at];
        call.given.clone_from(&given);
        call.name.clone_from(&name);
        call.block = Some(block);
        events.push(Event::Open {
            block,
            kind: BlockKind::ToolCall { id: given, name },
        });
        let held = std::mem::take(&mut call.held);
        self.held = self.held.saturating_sub(held.len());
        self.held += call.more(held, events);
    }

    /// Closes all calls.
    pub(super) fn close(&mut self, events: &mut Vec<Event>) {
        for call in self.calls.iter_mut().filter(|call| !call.closed) {
            call.close(events);
        }
        self.held = 0;
    }
}

impl Call {
    /// Takes more of the arguments and returns how many bytes it has to hold back.
    fn more(&mut self, text: String, events: &mut Vec<Event>) -> usize {
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
        self.arguments.take(&text);
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
            self.more(text.to_owned(), events);
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
