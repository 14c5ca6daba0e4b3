//! Ordering of the events of overlapping blocks.
//!
//! Backends may interleave the arguments of parallel calls. Clients of messages and responses need one block after the
//! other, so the events of a later block wait until the current block is complete.

use std::collections::BTreeMap;

use super::answer::{BlockKind, Event, Failure};
use crate::error::ErrorKind;

/// The limit for the waiting events, in bytes. Without it, a backend that never completes its first call would fill the
/// memory.
const LONGEST: usize = 8 << 20;

/// A buffer that puts the events of overlapping blocks into the order of the blocks.
#[derive(Default)]
pub(super) struct EventOrder {
    /// The open block whose events are forwarded.
    current: Option<Current>,
    /// Events of later blocks, in the order of the blocks.
    waiting: BTreeMap<usize, Vec<Event>>,
    /// The size of the waiting events, in bytes.
    held: usize,
}

struct Current {
    block: usize,
    /// The scan of a call's arguments.
    arguments: Option<ArgumentScan>,
}

impl EventOrder {
    /// Takes an event and calls `emit` with each event that may be sent now, in order.
    pub(super) fn push(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        match event {
            Event::Open { block, .. } => match &self.current {
                None => self.open(block, event, emit),
                Some(current) if current.block != block => {
                    self.waiting.entry(block).or_default().push(event);
                    self.release(emit);
                }
                Some(_) => {}
            },
            Event::Delta { block, .. } | Event::Seal { block, .. } | Event::Close { block } => {
                if self.current.as_ref().is_some_and(|current| current.block == block) {
                    self.forward(event, emit);
                    self.release(emit);
                } else if let Some(events) = self.waiting.get_mut(&block) {
                    self.held += size_of::<Event>();
                    if let Event::Delta { text, .. } = &event {
                        self.held += text.len();
                    }
                    events.push(event);
                    if self.held > LONGEST {
                        emit(Event::Failed(Failure {
                            kind: ErrorKind::BadGateway,
                            message: format!("calls that wait for an earlier one are longer than {} MB", LONGEST >> 20),
                        }));
                    }
                }
                // Else the block is closed: text after complete arguments is ignored.
            }
            Event::Stop(_) | Event::End => {
                self.finish(emit);
                emit(event);
            }
            Event::Start { .. } | Event::Usage(_) | Event::Failed(_) => emit(event),
        }
    }

    fn open(&mut self, block: usize, event: Event, emit: &mut impl FnMut(Event)) {
        let is_call = matches!(&event, Event::Open { kind: BlockKind::ToolCall { .. }, .. });
        self.current = Some(Current { block, arguments: is_call.then(ArgumentScan::default) });
        emit(event);
    }

    /// Forwards an event of the current block.
    fn forward(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        let Some(current) = &mut self.current else { return };
        if let (Event::Delta { text, .. }, Some(arguments)) = (&event, &mut current.arguments) {
            arguments.push(text);
        }
        let closes = matches!(event, Event::Close { .. });
        emit(event);
        if closes {
            self.current = None;
        }
    }

    /// Releases waiting blocks while the current block is closed or is a call with complete arguments.
    fn release(&mut self, emit: &mut impl FnMut(Event)) {
        while !self.waiting.is_empty() {
            match &self.current {
                Some(current) if current.arguments.as_ref().is_some_and(ArgumentScan::is_complete) => {
                    let block = current.block;
                    self.forward(Event::Close { block }, emit);
                }
                Some(_) => return,
                None => {}
            }
            let Some((block, events)) = self.waiting.pop_first() else {
                return;
            };
            if self.waiting.is_empty() {
                self.held = 0;
            }
            for event in events {
                match event {
                    Event::Open { .. } => self.open(block, event, emit),
                    event => self.forward(event, emit),
                }
            }
        }
    }

    /// Closes the current block and releases all others.
    fn finish(&mut self, emit: &mut impl FnMut(Event)) {
        loop {
            if let Some(block) = self.current.as_ref().map(|current| current.block) {
                self.forward(Event::Close { block }, emit);
            }
            if self.waiting.is_empty() {
                return;
            }
            self.release(emit);
        }
    }
}

/// An incremental scan of a call's arguments that detects the end of the JSON object.
#[derive(Default)]
pub(super) struct ArgumentScan {
    depth: usize,
    seen: bool,
    in_string: bool,
    escaped: bool,
}

impl ArgumentScan {
    pub(super) fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                match byte {
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => {
                        self.depth += 1;
                        self.seen = true;
                    }
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }

    /// Whether the text so far is a complete object or array.
    pub(super) fn is_complete(&self) -> bool {
        self.seen && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(block: usize) -> Event {
        let kind = BlockKind::ToolCall { id: format!("call_{block}"), name: "f".to_owned() };
        Event::Open { block, kind }
    }

    fn delta(block: usize, text: &str) -> Event {
        Event::Delta { block, text: text.to_owned() }
    }

    fn ordered(events: Vec<Event>) -> Vec<Event> {
        let (mut order, mut out) = (EventOrder::default(), Vec::new());
        for event in events {
            order.push(event, &mut |event| out.push(event));
        }
        out
    }

    #[test]
    fn complete_call_is_closed_when_the_next_opens_and_an_incomplete_call_delays_it() {
        let out = ordered(vec![
            open(0),
            delta(0, "{}"),
            open(1),
            delta(1, "{\"a"),
            open(2),
            delta(2, "{\"b"),
            delta(1, "\":1}"),
            delta(2, "\":2}"),
            Event::End,
        ]);
        let expected = vec![
            open(0),
            delta(0, "{}"),
            Event::Close { block: 0 },
            open(1),
            delta(1, "{\"a"),
            delta(1, "\":1}"),
            Event::Close { block: 1 },
            open(2),
            delta(2, "{\"b"),
            delta(2, "\":2}"),
            Event::Close { block: 2 },
            Event::End,
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn waiting_events_over_the_limit_fail() {
        let mut events = vec![open(0), open(1)];
        events.extend((0..9).map(|_| delta(1, &"x".repeat(1 << 20))));
        assert!(matches!(ordered(events).last(), Some(Event::Failed(_))));
    }

    proptest! {
        /// For any interleaving of the deltas of parallel calls, each block comes once, whole, and after the previous
        /// one.
        #[test]
        fn interleaved_blocks_are_put_in_order(turns in proptest::collection::vec(0..4_usize, 0..40)) {
            let text = "{\"k\":[1,\"}\"]}";
            let mut at = [0; 4];
            let mut events: Vec<Event> = (0..4).map(open).collect();
            for block in turns.iter().copied().chain((0..4).flat_map(|block| std::iter::repeat_n(block, text.len()))) {
                if at[block] < text.len() {
                    events.push(delta(block, &text[at[block]..=at[block]]));
                    at[block] += 1;
                }
            }
            events.extend((0..4).map(|block| Event::Close { block }));
            events.push(Event::End);
            let out = ordered(events);
            let (mut current, mut closed, mut texts) = (None, 0, vec![String::new(); 4]);
            for event in &out {
                match event {
                    Event::Open { block, .. } => {
                        prop_assert_eq!((current, *block), (None, closed));
                        current = Some(*block);
                    }
                    Event::Delta { block, text } => {
                        prop_assert_eq!(current, Some(*block));
                        texts[*block].push_str(text);
                    }
                    Event::Close { block } => {
                        prop_assert_eq!(current.take(), Some(*block));
                        closed += 1;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(closed, 4);
            prop_assert!(texts.iter().all(|whole| whole == text));
        }
    }
}
