//! An answer from a backend.

use super::super::ReadAnswer;
use super::super::answer::Event;

/// Reads the events of one answer.
#[derive(Default)]
pub(in super::super) struct Reader {}

impl ReadAnswer for Reader {
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>) {
        let _ = (name, data, events);
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        let _ = events;
    }

    fn whole(&mut self, body: &str, events: &mut Vec<Event>) {
        let _ = (body, events);
    }
}
