/// An event that does something. All others are accepted and ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session starts, or continues.
    SessionStart,
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A tool was called.
    PostToolUse,
    /// A tool was called, and failed.
    PostToolUseFailure,
    /// The client is about to replace the conversation by a summary.
    PreCompact,
    SessionEnd,
}

impl Event {
    /// The event of a name; `None` for one that is ignored.
    pub fn of(name: &str) -> Option<Event> {
        match name {
            "SessionStart" => Some(Event::SessionStart),
            "UserPromptSubmit" => Some(Event::UserPromptSubmit),
            "PreToolUse" => Some(Event::PreToolUse),
            "PostToolUse" => Some(Event::PostToolUse),
            "PostToolUseFailure" => Some(Event::PostToolUseFailure),
            "PreCompact" => Some(Event::PreCompact),
            "SessionEnd" => Some(Event::SessionEnd),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "SessionStart",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::PostToolUseFailure => "PostToolUseFailure",
            Event::PreCompact => "PreCompact",
            Event::SessionEnd => "SessionEnd",
        }
    }
}
