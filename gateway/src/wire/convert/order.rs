//! One block at a time.
//!
//! Backends may send the arguments of parallel calls in turns. The clients of messages and responses read blocks that
//! follow one another, so a block that opens before the one before it is complete waits until that is.

use std::collections::BTreeMap;

use super::answer::{BlockKind, Event};

/// Puts the events of overlapping blocks into the order of the blocks.
#[derive(Default)]
pub(super) struct InOrder {
    /// The block whose events pass, once one has opened.
    current: Option<Current>,
    /// Events of later blocks, in the order of the blocks.
    waiting: BTreeMap<usize, Vec<Event>>,
}

struct Current {
    block: usize,
    /// For a call, how far its arguments have come.
    arguments: Option<Arguments>,
}

impl InOrder {
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
                    events.push(event);
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
