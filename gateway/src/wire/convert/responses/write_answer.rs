//! An answer for a client.

use super::super::answer::{Answer, Event};
use super::super::{AnswerContext, WriteAnswer};

/// Writes the events of one answer.
pub(in super::super) struct Writer {
    context: AnswerContext,
}

impl Writer {
    pub(in super::super) fn new(context: AnswerContext) -> Writer {
        Writer { context }
    }
}

impl WriteAnswer for Writer {
    fn event(&mut self, event: &Event, out: &mut String) {
        let _ = (event, out, &self.context);
    }

    fn whole(&mut self, answer: &Answer) -> String {
        let _ = answer;
        String::new()
    }
}
