//! Reader of answers.
//!
//! Servers repeat and leave out different events: some send no deltas, some no `added`, some no ids, some other ids in
//! the deltas. Therefore an event is matched to the best-fitting item, the length of the deltas is counted, and text
//! that a `done` has beyond the deltas is added.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::ReadAnswer;
use super::super::answer::{BlockKind, Event, Failure, Stop};
use super::super::request::Dropped;
use super::incoming::{Item, Kind, State, close, close_block, drop_beside_text, emit, kind_name, read_usage};
use super::{SEAL, flat_name};
use crate::surrogates::well_formed;
use crate::{Element, Joiner, Members, Text, failure};

/// The reader of one answer.
#[derive(Default)]
pub(in super::super) struct Reader {
    started: bool,
    ended: bool,
    /// The number of the next block.
    next: usize,
    /// Whether the answer has a call.
    calls: bool,
    /// Incomplete items, in order.
    items: Vec<Item>,
    /// Ids of complete items.
    done: BTreeSet<String>,
    dropped: Dropped,
}

/// A delta that may contain only text for an open message or call, as nearly all deltas do. It is parsed in one pass;
/// looking up each member takes several.
#[derive(Deserialize)]
struct Plain<'a> {
    r#type: &'a str,
    item_id: &'a str,
    output_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(borrow)]
    delta: Cow<'a, str>,
    error: Option<IgnoredAny>,
}

impl ReadAnswer for Reader {
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>) {
        if self.ended {
            return;
        }
        let data = data.trim();
        if data == "[DONE]" {
            self.stop(None, events);
            return;
        }
        if self.plain(data, events) {
            return;
        }
        let Some(members) = Members::of(data) else {
            self.fail(Failure::not_json(), events);
            return;
        };
        let kind = members.string("type").unwrap_or(Cow::Borrowed(name));
        if let Some(error) = members.present("error").and_then(|error| Members::of(error.get())) {
            self.fail(failure::from_object(&error), events);
        } else if kind == "error" {
            self.fail(failure::from_object(&members), events);
        } else {
            self.dispatch(&kind, &members, events);
        }
    }

    fn end(&mut self, _: &mut Vec<Event>) {
        // Without the last event, the answer may be incomplete.
    }

    fn whole(&mut self, body: &str, events: &mut Vec<Event>) {
        match Members::of(body.trim()) {
            Some(members) if members.get("output").is_some() || members.present("error").is_some() => {
                self.response(&members, events);
            }
            Some(_) => {}
            None => self.fail(Failure::not_json(), events),
        }
    }

    fn dropped(&self) -> &Dropped {
        &self.dropped
    }
}

impl Reader {
    fn dispatch(&mut self, kind: &str, members: &Members<'_>, events: &mut Vec<Event>) {
        let response = || members.get("response").and_then(Members::of).unwrap_or_default();
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => self.start(&response(), events),
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                self.response(&response(), events);
            }
            "response.output_item.added" => self.item(members, false, events),
            "response.output_item.done" => self.item(members, true, events),
            "response.output_text.delta" => self.part(members, "delta", BlockKind::Text, events),
            "response.output_text.done" => self.part(members, "text", BlockKind::Text, events),
            "response.refusal.delta" => self.part(members, "delta", BlockKind::Refusal, events),
            "response.refusal.done" => self.part(members, "refusal", BlockKind::Refusal, events),
            "response.reasoning_text.delta" | "response.reasoning.delta" => self.thinking(members, true, events),
            "response.reasoning_summary_text.delta" => self.thinking(members, false, events),
            "response.function_call_arguments.delta" => self.arguments(members, "delta", events),
            "response.function_call_arguments.done" => self.arguments(members, "arguments", events),
            _ => {}
        }
    }

    fn start(&mut self, response: &Members<'_>, events: &mut Vec<Event>) {
        if !self.started {
            self.started = true;
            let model = response.string("model").map(Cow::into_owned);
            events.push(Event::Start { model });
        }
    }

    fn fail(&mut self, failure: Failure, events: &mut Vec<Event>) {
        self.ended = true;
        events.push(Event::Failed(failure));
    }

    /// Reads a response object: a whole answer or that of the last event.
    fn response(&mut self, response: &Members<'_>, events: &mut Vec<Event>) {
        let status = response.string("status").unwrap_or_default();
        if let Some(error) = response.present("error").and_then(|error| Members::of(error.get())) {
            return self.fail(failure::from_object(&error), events);
        }
        if status == "failed" || status == "cancelled" {
            return self.fail(failure::from_object(&Members::default()), events);
        }
        self.start(response, events);
        // Some servers send all items in the last event only.
        if self.next == 0 && self.items.is_empty() {
            for item in response.elements("output") {
                if let Some(item) = item.object() {
                    self.complete(&item, None, events);
                }
            }
        }
        if let Some(usage) = response.get("usage").and_then(Members::of) {
            events.push(Event::Usage(read_usage(&usage)));
        }
        let details = response.get("incomplete_details").and_then(Members::of);
        let reason = details.and_then(|details| details.string("reason"));
        let cut = (status == "incomplete").then_some(match reason.as_deref() {
            Some("content_filter") => Stop::Filtered,
            _ => Stop::Length,
        });
        self.stop(cut, events);
    }

    /// Closes all items and ends the answer.
    fn stop(&mut self, cut: Option<Stop>, events: &mut Vec<Event>) {
        self.start(&Members::default(), events);
        for mut item in std::mem::take(&mut self.items) {
            close(&mut item, events);
        }
        let stop = if self.calls { Stop::ToolCalls } else { Stop::Done };
        events.push(Event::Stop(cut.unwrap_or(stop)));
        events.push(Event::End);
        self.ended = true;
    }

    /// Reads `output_item.added` and `output_item.done`.
    fn item(&mut self, members: &Members<'_>, done: bool, events: &mut Vec<Event>) {
        let Some(item) = members.get("item").and_then(Members::of) else {
            return;
        };
        self.start(&Members::default(), events);
        let index = members.parse("output_index");
        if done {
            self.complete(&item, index, events);
        } else if let Some(state) = item.string("type").and_then(|kind| State::of(&kind)) {
            self.add(item.string("id").unwrap_or_default().into_owned(), index, state);
            let at = self.items.len() - 1;
            self.identify(at, &item, events);
        }
    }

    fn add(&mut self, id: String, index: Option<u64>, state: State) {
        self.items.push(Item { id, index, state, block: None, part: 0, seen: 0, joiner: Joiner::default() });
    }

    /// Finds the item of an event: by id, else by index, else the last item of the kind.
    fn find(&self, id: &str, index: Option<u64>, kind: Kind) -> Option<usize> {
        let fits = |item: &Item| item.state.kind() == kind;
        self.items
            .iter()
            .position(|item| fits(item) && !id.is_empty() && item.id == id)
            .or_else(|| self.items.iter().rposition(|item| fits(item) && index.is_some() && item.index == index))
            .or_else(|| self.items.iter().rposition(fits))
    }

    /// Finds the item of an event. An item without an `added` event is added with its first delta.
    fn find_or_add(&mut self, members: &Members<'_>, kind: Kind, is_delta: bool) -> Option<usize> {
        let id = members.string("item_id").unwrap_or_default();
        let index = members.parse("output_index");
        if let Some(at) = self.find(&id, index, kind) {
            return Some(at);
        }
        let name = match kind {
            Kind::Message => "message",
            Kind::Reasoning => "reasoning",
            Kind::Call => "function_call",
        };
        if !is_delta || self.done.contains(&*id) {
            return None;
        }
        self.add(id.into_owned(), index, State::of(name)?);
        Some(self.items.len() - 1)
    }

    /// Reads a delta that is only text for an open block. Returns `false` for every other event.
    fn plain(&mut self, data: &str, events: &mut Vec<Event>) -> bool {
        let Ok(plain) = serde_json::from_str::<Plain<'_>>(data) else {
            return false;
        };
        let kind = match plain.r#type {
            "response.output_text.delta" => Kind::Message,
            "response.function_call_arguments.delta" => Kind::Call,
            _ => return false,
        };
        let part = plain.content_index.unwrap_or(0);
        let Some(item) = self.find(plain.item_id, plain.output_index, kind).and_then(|at| self.items.get_mut(at))
        else {
            return false;
        };
        let is_open = item.block.is_some() && item.part == part;
        if is_open && plain.error.is_none() {
            let text = item.joiner.join(plain.delta.into());
            emit(item, &mut self.next, BlockKind::Text, &text, true, events);
            return true;
        }
        false
    }

    /// Reads a delta or the whole text of a message's part.
    fn part(&mut self, members: &Members<'_>, key: &str, kind: BlockKind, events: &mut Vec<Event>) {
        let is_delta = key == "delta";
        let Some(at) = self.find_or_add(members, Kind::Message, is_delta) else {
            return;
        };
        self.start(&Members::default(), events);
        let part = members.parse("content_index").unwrap_or(0);
        if let Some(text) = members.text(key) {
            self.text(at, part, kind, text, is_delta, events);
        }
    }

    fn text(&mut self, at: usize, part: u64, kind: BlockKind, text: Text<'_>, is_delta: bool, events: &mut Vec<Event>) {
        let Some(item) = self.items.get_mut(at) else { return };
        if part < item.part && !is_delta {
            return;
        }
        if item.block.is_some() && part > item.part {
            close_block(item, events);
        }
        item.part = item.part.max(part);
        let text = item.decode(text, is_delta);
        emit(item, &mut self.next, kind, &text, is_delta, events);
    }

    fn thinking(&mut self, members: &Members<'_>, content: bool, events: &mut Vec<Event>) {
        let Some(at) = self.find_or_add(members, Kind::Reasoning, true) else {
            return;
        };
        self.start(&Members::default(), events);
        let key = if content { "content_index" } else { "summary_index" };
        let (part, delta) = (members.parse(key).unwrap_or(0), members.piece("delta"));
        let (Some(item), Some(delta)) = (self.items.get_mut(at), delta) else {
            return;
        };
        if let State::Reasoning { content: chosen } = &mut item.state
            && *chosen.get_or_insert(content) == content
        {
            if part != item.part && item.seen > 0 {
                let separator = item.joiner.join("\n\n".into());
                emit(item, &mut self.next, BlockKind::Thinking, &separator, true, events);
            }
            item.part = part;
            let text = item.joiner.join(delta);
            emit(item, &mut self.next, BlockKind::Thinking, &text, true, events);
        }
    }

    fn arguments(&mut self, members: &Members<'_>, key: &str, events: &mut Vec<Event>) {
        let is_delta = key == "delta";
        let Some(at) = self.find_or_add(members, Kind::Call, is_delta) else {
            return;
        };
        self.start(&Members::default(), events);
        self.identify(at, members, events);
        if let (Some(text), Some(item)) = (members.text(key), self.items.get_mut(at)) {
            let text = item.decode(text, is_delta);
            self.push_arguments(at, &text, is_delta, events);
        }
    }

    /// Reads a call's id and name. Opens its block once the name is known.
    fn identify(&mut self, at: usize, members: &Members<'_>, events: &mut Vec<Event>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let State::Call { call, name, held, .. } = &mut item.state else {
            return;
        };
        if call.is_empty() {
            *call = members.string("call_id").unwrap_or_default().into_owned();
        }
        if let (true, Some(own)) = (name.is_empty(), members.string("name")) {
            *name = flat_name(members.string("namespace").as_deref(), own).into_owned();
        }
        if item.block.is_none() && !name.is_empty() {
            let id = match (call.is_empty(), item.id.is_empty()) {
                (false, _) => call.clone(),
                (true, false) => item.id.clone(),
                (true, true) => format!("call_{}", self.next),
            };
            let kind = BlockKind::ToolCall { id, name: name.clone() };
            let held = std::mem::take(held);
            self.calls = true;
            emit(item, &mut self.next, kind, &held, true, events);
        }
    }

    fn push_arguments(&mut self, at: usize, text: &str, is_delta: bool, events: &mut Vec<Event>) {
        let Some(item) = self.items.get_mut(at) else { return };
        let State::Call { held, name, .. } = &mut item.state else {
            return;
        };
        if item.block.is_some() {
            let kind = BlockKind::ToolCall { id: String::new(), name: name.clone() };
            emit(item, &mut self.next, kind, text, is_delta, events);
        } else if is_delta {
            held.push_str(text);
        } else {
            text.clone_into(held);
            item.joiner = Joiner::default();
        }
    }

    /// Reads a complete item: adds the text that the deltas left out, and closes the item.
    fn complete(&mut self, item: &Members<'_>, index: Option<u64>, events: &mut Vec<Event>) {
        let id = item.string("id").unwrap_or_default();
        let key = match (id.is_empty(), index) {
            (false, _) => id.clone().into_owned(),
            (true, Some(index)) => format!("#{index}"),
            (true, None) => String::new(),
        };
        if !key.is_empty() && !self.done.insert(key) {
            return;
        }
        let kind = item.string("type").unwrap_or_default();
        let Some(state) = State::of(&kind) else {
            return self.dropped.add(format!("answer.{}", kind_name(&kind)));
        };
        let kind = state.kind();
        let at = self.find(&id, index, kind).unwrap_or_else(|| {
            self.add(id.into_owned(), index, state);
            self.items.len() - 1
        });
        match kind {
            Kind::Message => self.complete_message(at, item, events),
            Kind::Reasoning => self.complete_reasoning(at, item, events),
            Kind::Call => self.complete_call(at, item, events),
        }
        let mut item = self.items.remove(at);
        close(&mut item, events);
    }

    fn complete_message(&mut self, at: usize, item: &Members<'_>, events: &mut Vec<Event>) {
        for (part, element) in (0..).zip(item.elements("content")) {
            let Some(members) = element.object() else { continue };
            if let Some(text) = members.text("text") {
                self.text(at, part, BlockKind::Text, text, false, events);
            } else if let Some(text) = members.text("refusal") {
                self.text(at, part, BlockKind::Refusal, text, false, events);
            } else {
                let kind = members.string("type").unwrap_or_default();
                self.dropped.add(format!("answer.{}", kind_name(&kind)));
            }
            drop_beside_text(&members, &mut self.dropped);
        }
    }

    fn complete_reasoning(&mut self, at: usize, members: &Members<'_>, events: &mut Vec<Event>) {
        let texts = |key| {
            let parts = members.elements(key).into_iter().filter_map(Element::object);
            parts.filter_map(|part| part.string("text").map(Cow::into_owned)).collect::<Vec<_>>().join("\n\n")
        };
        let Some(item) = self.items.get_mut(at) else { return };
        let State::Reasoning { content: chosen } = &mut item.state else {
            return;
        };
        let whole = texts("content");
        let is_content = *chosen.get_or_insert(!whole.is_empty());
        let text = if is_content { whole } else { texts("summary") };
        if !text.is_empty() {
            emit(item, &mut self.next, BlockKind::Thinking, &text, false, events);
        }
        if let Some(seal) = members.string("encrypted_content").filter(|seal| !seal.is_empty()) {
            if item.block.is_none() {
                emit(item, &mut self.next, BlockKind::SealedThinking, "", true, events);
            }
            if let Some(block) = item.block {
                let seal = format!("{SEAL}{seal}");
                events.push(Event::Seal { block, seal });
            }
            item.state = State::Reasoning { content: None };
        }
    }

    fn complete_call(&mut self, at: usize, members: &Members<'_>, events: &mut Vec<Event>) {
        self.identify(at, members, events);
        let custom = matches!(self.items.get(at).map(|item| &item.state), Some(State::Call { custom: true, .. }));
        let arguments = if custom {
            members.get("input").map(|input| format!(r#"{{"input":{}}}"#, well_formed(input)).into())
        } else {
            let raw = || members.present("arguments").map(|raw| raw.get().into());
            members.string("arguments").or_else(raw)
        };
        if let Some(arguments) = arguments {
            self.push_arguments(at, &arguments, false, events);
        }
    }
}
