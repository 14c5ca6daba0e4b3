use std::collections::HashMap;

/// Who made a reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// The user, who made it or said yes to it.
    Person,
    /// A tool that an agent called.
    Tool,
}

/// The makers of a directory's reminders, by their ids. A reminder without one waits.
pub type Makers = HashMap<String, Maker>;

impl Maker {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Maker::Person => "person",
            Maker::Tool => "tool",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Maker> {
        [Maker::Person, Maker::Tool].into_iter().find(|maker| maker.word() == word)
    }
}
