//! The random steps: actions of clients and users, and faults of machines.

use proptest::prelude::*;

/// One step. Numbers are taken modulo the number of choices, so that any step can follow any other.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A new conversation, with or without a session id. `shape` selects the parts beside the question.
    Open { format: u8, named: bool, repository: u8, topic: u8, shape: u8, system: bool, off: bool },
    /// A conversation with the same opening, in another session or without a session id.
    OpenAlike { which: u8, named: bool, elsewhere: bool, style: u32 },
    /// The model answers, and the user asks the next question.
    Ask { which: u8, topic: u8, answer: u8, off: bool, image: bool, style: u32 },
    /// The model calls a tool, and the client sends the result, in some cases with a reminder or a new question.
    Tool { which: u8, number: u8, also: u8, style: u32 },
    /// The same request again, in some cases with the context off.
    Retry { which: u8, off: bool, style: u32 },
    /// The user returns to an earlier turn, and repeats or replaces its question. The old branch is kept.
    Edit { which: u8, back: u8, topic: Option<u8>, style: u32 },
    /// The history continues under a new session id.
    Fork { which: u8, topic: u8, answer: u8, style: u32 },
    /// The client requests a summary of the history, and continues from the summary.
    Compact { which: u8, topic: u8, style: u32 },
    /// The client appends a reminder to an earlier message.
    Append { which: u8, back: u8, style: u32 },
    /// A system message within the conversation, in some cases with a working directory.
    System { which: u8, place: u8, style: u32 },
    /// A side request.
    Side { which: u8, kind: u8, style: u32 },
    /// The conversation continues at the other repository's gateway.
    Move { which: u8, style: u32 },
    /// Two equal requests at the same time.
    Twice { which: u8, topic: u8, answer: u8, style: u32 },
    /// A question while another process holds the ledger's write lock.
    Locked { which: u8, topic: u8, answer: u8, style: u32 },
    /// A question while the disk is full.
    FullDisk { which: u8, topic: u8, answer: u8, blocks: u8, style: u32 },
    /// A gateway is stopped or killed.
    Restart { repository: u8, kill: bool },
    /// All files of a repository change.
    EditFiles { repository: u8 },
}

/// A strategy for all steps. Slow steps are rare.
pub(super) fn step() -> impl Strategy<Value = Step> {
    let any = any::<u8>;
    let style = || prop_oneof![1 => Just(0), 4 => 1..u32::MAX];
    let rarely = || prop::bool::weighted(0.12);
    let coin = prop::bool::ANY;
    prop_oneof![
        4 => (0..3u8, prop::bool::weighted(0.7), any(), any(), any(), coin, rarely()).prop_map(
            |(format, named, repository, topic, shape, system, off)| Step::Open { format, named, repository, topic, shape, system, off }),
        4 => (any(), prop::bool::weighted(0.7), rarely(), style()).prop_map(
            |(which, named, elsewhere, style)| Step::OpenAlike { which, named, elsewhere, style }),
        26 => (any(), any(), any(), rarely(), rarely(), style()).prop_map(
            |(which, topic, answer, off, image, style)| Step::Ask { which, topic, answer, off, image, style }),
        8 => (any(), any(), any(), style()).prop_map(|(which, number, also, style)| Step::Tool { which, number, also, style }),
        8 => (any(), rarely(), style()).prop_map(|(which, off, style)| Step::Retry { which, off, style }),
        6 => (any(), any(), prop::option::of(any()), style()).prop_map(|(which, back, topic, style)| Step::Edit { which, back, topic, style }),
        6 => (any(), any(), any(), style()).prop_map(|(which, topic, answer, style)| Step::Fork { which, topic, answer, style }),
        2 => (any(), any(), style()).prop_map(|(which, topic, style)| Step::Compact { which, topic, style }),
        4 => (any(), any(), style()).prop_map(|(which, back, style)| Step::Append { which, back, style }),
        4 => (any(), any(), style()).prop_map(|(which, place, style)| Step::System { which, place, style }),
        5 => (any(), any(), style()).prop_map(|(which, kind, style)| Step::Side { which, kind, style }),
        2 => (any(), style()).prop_map(|(which, style)| Step::Move { which, style }),
        2 => (any(), any(), any(), style()).prop_map(|(which, topic, answer, style)| Step::Twice { which, topic, answer, style }),
        2 => (any(), any(), any(), style()).prop_map(|(which, topic, answer, style)| Step::Locked { which, topic, answer, style }),
        1 => (any(), any(), any(), any(), style()).prop_map(
            |(which, topic, answer, blocks, style)| Step::FullDisk { which, topic, answer, blocks, style }),
        2 => (any(), coin).prop_map(|(repository, kill)| Step::Restart { repository, kill }),
        4 => any().prop_map(|repository| Step::EditFiles { repository }),
    ]
}

/// The names of all steps.
pub(super) const KINDS: [&str; 17] = [
    "Open", "OpenAlike", "Ask", "Tool", "Retry", "Edit", "Fork", "Compact", "Append", "System", "Side", "Move",
    "Twice", "Locked", "FullDisk", "Restart", "EditFiles",
];

impl Step {
    /// The step that precedes all others if there is no conversation.
    pub(super) fn first(format: u8) -> Step {
        Step::Open { format, named: true, repository: 0, topic: 0, shape: 0, system: false, off: false }
    }

    /// The number of the step's conversation, and the number of its style.
    pub(super) fn conversation(&self) -> (u8, u32) {
        match *self {
            Step::Open { .. } | Step::Restart { .. } | Step::EditFiles { .. } => (0, 0),
            Step::OpenAlike { which, style, .. }
            | Step::Ask { which, style, .. }
            | Step::Tool { which, style, .. }
            | Step::Retry { which, style, .. }
            | Step::Edit { which, style, .. }
            | Step::Fork { which, style, .. }
            | Step::Compact { which, style, .. }
            | Step::Append { which, style, .. }
            | Step::System { which, style, .. }
            | Step::Side { which, style, .. }
            | Step::Move { which, style }
            | Step::Twice { which, style, .. }
            | Step::Locked { which, style, .. }
            | Step::FullDisk { which, style, .. } => (which, style),
        }
    }
}
