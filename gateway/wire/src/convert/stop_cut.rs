//! The end of an answer at a stop sequence that the backend's format cannot take.
//!
//! The answer ends before the first place in its text at which a stop sequence begins. Thinking, refusals and arguments of
//! calls are no text. A sequence that begins in one block and ends in the next one is not found, because a client does not
//! see two blocks as one text. The usage of the whole answer, which the backend goes on to write, still follows.

use super::answer::{BlockKind, Event, Stop};

/// A filter of the events of an answer whose blocks are in order.
#[derive(Default)]
pub(super) struct StopCut {
    /// The stop sequences, shortest first.
    stops: Vec<String>,
    text: Option<OpenText>,
    is_cut: bool,
}

/// The open block of text.
struct OpenText {
    block: usize,
    /// The end of the text, if a stop sequence may begin there.
    held: String,
}

impl StopCut {
    pub(super) fn new(mut stops: Vec<String>) -> StopCut {
        // Of two that begin at one place the shorter one is complete first, however the text arrives.
        stops.sort_by_key(String::len);
        StopCut { stops, text: None, is_cut: false }
    }

    /// Whether there is a stop sequence.
    pub(super) fn is_needed(&self) -> bool {
        !self.stops.is_empty()
    }

    /// Takes an event and calls `emit` with each event of the client's answer that is known by now.
    pub(super) fn push(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        if let Event::Open { block, kind: BlockKind::Text } = event
            && self.is_needed()
            && !self.is_cut
        {
            self.text = Some(OpenText { block, held: String::new() });
        }
        let open = self.text.as_ref().map(|open| open.block);
        match event {
            Event::Delta { block, text } if open == Some(block) => self.add(&text, false, emit),
            Event::Close { .. } | Event::Stop(_) | Event::End | Event::Failed(_) => {
                self.add("", true, emit);
                self.text = None;
                self.pass(event, emit);
            }
            event => self.pass(event, emit),
        }
    }

    /// Emits an event, after the cut only the usage and the end. The answer is complete then, so a failure is an end, too.
    fn pass(&self, event: Event, emit: &mut impl FnMut(Event)) {
        match event {
            Event::Failed(_) if self.is_cut => emit(Event::End),
            Event::Usage(_) | Event::End => emit(event),
            event if !self.is_cut => emit(event),
            _ => {}
        }
    }

    /// Adds to the open text, and emits what no stop sequence can begin in. `is_last`: the block is complete.
    fn add(&mut self, text: &str, is_last: bool, emit: &mut impl FnMut(Event)) {
        let Some(OpenText { block, held }) = &mut self.text else { return };
        let block = *block;
        held.push_str(text);
        let (end, stop) = free_text(&self.stops, held, is_last);
        let rest = held.split_off(end);
        let text = std::mem::replace(held, rest);
        if !text.is_empty() {
            emit(Event::Delta { block, text });
        }
        if let Some(stop) = stop {
            emit(Event::Close { block });
            emit(Event::Stop(Stop::Sequence(Some(stop.to_owned()))));
            self.text = None;
            self.is_cut = true;
        }
    }
}

/// Returns the length of the text before the first place at which a stop sequence begins, and this sequence. Unless the text
/// `is_last`, it also ends where a sequence may begin whose end is missing.
fn free_text<'s>(stops: &'s [String], text: &str, is_last: bool) -> (usize, Option<&'s str>) {
    for (at, _) in text.char_indices() {
        let rest = &text[at..];
        if let Some(stop) = stops.iter().find(|stop| rest.starts_with(stop.as_str())) {
            return (at, Some(stop));
        }
        if !is_last && stops.iter().any(|stop| stop.starts_with(rest)) {
            return (at, None);
        }
    }
    (text.len(), None)
}

#[cfg(test)]
mod tests;
