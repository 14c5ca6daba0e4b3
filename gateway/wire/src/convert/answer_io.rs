use super::answer::{Answer, Event};
use super::request::Dropped;

/// Reads a backend's answer into neutral events.
pub(crate) trait ReadAnswer: Send {
    /// Reads one server-sent event: its `event:` name (`message` if it has none) and its data.
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>);

    /// Handles the end of the stream. Some backends leave out the last event. If the answer is complete without it, the
    /// reader closes the open blocks and adds [`Event::End`]; else it adds nothing.
    fn end(&mut self, events: &mut Vec<Event>);

    fn whole(&mut self, body: &str, events: &mut Vec<Event>);

    /// Returns the parts of the answer so far that the neutral form does not have.
    fn dropped(&self) -> &Dropped;
}

/// Writes neutral events in the client's format.
pub(crate) trait WriteAnswer: Send {
    /// Writes an event as zero or more complete server-sent events.
    fn event(&mut self, event: &Event, out: &mut String);

    /// Returns the body of a whole answer.
    fn whole(&mut self, answer: &Answer) -> String;
}
