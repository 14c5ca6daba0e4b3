//! One block at a time.
//!
//! Backends may send the arguments of parallel calls in turns. The clients of messages and responses read blocks that
//! follow one another, so a block that opens before the one before it is complete waits until that is.

use std::collections::BTreeMap;

use super::answer::{BlockKind, Event, Failure};
use crate::wire::error::ErrorKind;

/// Later blocks may wait with so many bytes. A backend that never ends its first call must not fill the memory.
const LONGEST: usize = 8 << 20;

/// Puts the events of overlapping blocks into the order of the blocks.
#[derive(Default)]
pub(super) struct EventOrder {
    /// The block whose events pass, once one has opened.
    current: Option<Current>,
    /// Events of later blocks, in the order of the blocks.
    waiting: BTreeMap<usize, Vec<Event>>,
    /// Bytes that wait.
    held: usize,
}

struct Current {
    block: usize,
    /// For a call, how far its arguments have come.
    arguments: Option<Arguments>,
}

impl EventOrder {
    /// Takes an event and gives to `pass` all that may go out now, in order.
    pub(super) fn take(&mut self, event: Event, pass: &mut impl FnMut(Event)) {
        match event {
            Event::Open { block, .. } => match &self.current {
                None => self.enter(block, event, pass),
                Some(current) if current.block != block => {
                    self.waiting.entry(block).or_default().push(event);
                    self.go_on(pass);
                }
                Some(_) => {}
            },
            Event::Delta { block, .. } | Event::Seal { block, .. } | Event::Close { block } => {
                if self.current.as_ref().is_some_and(|current| current.block == block) {
                    self.within(event, pass);
                    self.go_on(pass);
                } else if let Some(events) = self.waiting.get_mut(&block) {
                    self.held += size_of::<Event>();
                    if let Event::Delta { text, .. } = &event {
                        self.held += text.len();
                    }
                    events.push(event);
                    if self.held > LONGEST {
                        pass(Event::Failed(Failure {
                            kind: ErrorKind::BadGateway,
                            message: format!(
                                "calls that wait for an earlier one are longer than {} MB",
                                LONGEST >> 20
                            ),
                        }));
                    }
                }
                // Otherwise the block was closed already: what comes after its complete arguments is not part of them.
            }
            Event::Stop(_) | Event::End => {
                self.finish(pass);
                pass(event);
            }
            Event::Start { .. } | Event::Usage(_) | Event::Failed(_) => pass(event),
        }
    }

    fn enter(&mut self, block: usize, event: Event, pass: &mut impl FnMut(Event)) {
        let is_call = matches!(
            &event,
            Event::Open {
                kind: BlockKind::ToolCall { .. },
                ..
            }
        );
        self.current = Some(Current {
            block,
            arguments: is_call.then(Arguments::default),
        });
        pass(event);
    }

    fn within(&mut self, event: Event, pass: &mut impl FnMut(Event)) {
        let Some(current) = &mut self.current else { return };
        if let (Event::Delta { text, .. }, Some(arguments)) = (&event, &mut current.arguments) {
            arguments.take(text);
        }
        let closes = matches!(event, Event::Close { .. });
        pass(event);
        if closes {
            self.current = None;
        }
    }

    /// Lets waiting blocks through, as far as the current one is closed, or complete while others wait.
    fn go_on(&mut self, pass: &mut impl FnMut(Event)) {
        while !self.waiting.is_empty() {
            match &self.current {
                Some(current) if current.arguments.as_ref().is_some_and(Arguments::complete) => {
                    let block = current.block;
                    self.within(Event::Close { block }, pass);
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
                    Event::Open { .. } => self.enter(block, event, pass),
                    event => self.within(event, pass),
                }
            }
        }
    }

    /// Closes what is open and lets everything through.
    fn finish(&mut self, pass: &mut impl FnMut(Event)) {
        loop {
            if let Some(block) = self.current.as_ref().map(|current| current.block) {
                self.within(Event::Close { block }, pass);
            }
            if self.waiting.is_empty() {
                return;
            }
            self.go_on(pass);
        }
    }
}

/// Tells whether the JSON text of a call's arguments is a complete object.
#[derive(Default)]
pub(super) struct Arguments {
    depth: usize,
    seen: bool,
    in_string: bool,
    escaped: bool,
}

impl Arguments {
    pub(super) fn take(&mut self, text: &str) {
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

    pub(super) fn complete(&self) -> bool {
        self.seen && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(block: usize) -> Event {
        let kind = BlockKind::ToolCall {
            id: format!("call_{block}"),
            name: "f".to_owned(),
        };
        Event::Open { block, kind }
    }

    fn delta(block: usize, text: &str) -> Event {
        Event::Delta {
            block,
            text: text.to_owned(),
        }
    }

    fn ordered(events: Vec<Event>) -> Vec<Event> {
        let (mut order, mut out) = (EventOrder::default(), Vec::new());
        for event in events {
            order.take(event, &mut |event| out.push(event));
        }
        out
    }

    #[test]
    fn a_complete_call_ends_when_the_next_begins_and_another_one_waits() {
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
    fn what_waits_is_bounded() {
        let mut events = vec![open(0), open(1)];
        events.extend((0..9).map(|_| delta(1, &"x".repeat(1 << 20))));
        assert!(matches!(ordered(events).last(), Some(Event::Failed(_))));
    }

    proptest! {
        /// However the deltas of parallel calls are mixed, each block comes whole, once, and after the one before it.
        #[test]
        fn blocks_come_one_after_another(turns in proptest::collection::vec(0..4_usize, 0..40)) {
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
