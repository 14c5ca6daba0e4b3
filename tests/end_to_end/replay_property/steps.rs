//! The steps of clients, users and machines.

use proptest::prelude::*;

/// One thing that happens. Numbers are taken modulo whatever there is to choose from, so that any step can follow any.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A new conversation, in a session with an id or without; `shape` is what stands beside the question.
    Open {
        format: u8,
        named: bool,
        repository: u8,
        topic: u8,
        shape: u8,
        system: bool,
        off: bool,
    },
    /// The same opening words again, in another session or none.
    OpenAlike {
        which: u8,
        named: bool,
        elsewhere: bool,
        looks: u32,
    },
    /// The model answers, the user goes on.
    Ask {
        which: u8,
        topic: u8,
        answer: u8,
        off: bool,
        image: bool,
        looks: u32,
    },
    /// The model calls a tool and the client sends the result, perhaps with something that the user typed meanwhile.
    Tool {
        which: u8,
        number: u8,
        also: u8,
        looks: u32,
    },
    /// The same request once more, perhaps with the context off this time.
    Retry { which: u8, off: bool, looks: u32 },
    /// Back to an earlier turn, which is asked again in the same or other words. The old branch is kept.
    Edit {
        which: u8,
        back: u8,
        topic: Option<u8>,
        looks: u32,
    },
    /// The history goes on under another session's id.
    Fork {
        which: u8,
        topic: u8,
        answer: u8,
        looks: u32,
    },
    /// The client has the history summarised and goes on from the summary.
    Compact { which: u8, topic: u8, looks: u32 },
    /// A block is appended to an earlier message.
    Append { which: u8, back: u8, looks: u32 },
    /// A system message in the middle, perhaps one that names a working directory.
    System { which: u8, place: u8, looks: u32 },
    /// A request on the client's own behalf.
    Side { which: u8, kind: u8, looks: u32 },
    /// The same conversation is sent to the other repository's gateway.
    Move { which: u8, looks: u32 },
    /// Two requests that are the same, at once.
    Twice {
        which: u8,
        topic: u8,
        answer: u8,
        looks: u32,
    },
    /// Somebody else writes to the ledger while a question is asked.
    Locked {
        which: u8,
        topic: u8,
        answer: u8,
        looks: u32,
    },
    /// The disk is full while a question is asked.
    FullDisk {
        which: u8,
        topic: u8,
        answer: u8,
        blocks: u8,
        looks: u32,
    },
    /// A gateway ends, in order or not.
    Restart { repository: u8, kill: bool },
    /// All files of a repository change.
    EditFiles { repository: u8 },
}

/// Any step; what takes long is rare.
pub(super) fn step() -> impl Strategy<Value = Step> {
    let any = any::<u8>;
    let looks = || prop_oneof![1 => Just(0), 4 => 1..u32::MAX];
    let rarely = || prop::bool::weighted(0.12);
    let coin = prop::bool::ANY;
    prop_oneof![
        4 => (0..3u8, prop::bool::weighted(0.7), any(), any(), any(), coin, rarely()).prop_map(
            |(format, named, repository, topic, shape, system, off)| Step::Open { format, named, repository, topic, shape, system, off }),
        4 => (any(), prop::bool::weighted(0.7), rarely(), looks()).prop_map(
            |(which, named, elsewhere, looks)| Step::OpenAlike { which, named, elsewhere, looks }),
        26 => (any(), any(), any(), rarely(), rarely(), looks()).prop_map(
            |(which, topic, answer, off, image, looks)| Step::Ask { which, topic, answer, off, image, looks }),
        8 => (any(), any(), any(), looks()).prop_map(|(which, number, also, looks)| Step::Tool { which, number, also, looks }),
        8 => (any(), rarely(), looks()).prop_map(|(which, off, looks)| Step::Retry { which, off, looks }),
        6 => (any(), any(), prop::option::of(any()), looks()).prop_map(|(which, back, topic, looks)| Step::Edit { which, back, topic, looks }),
        6 => (any(), any(), any(), looks()).prop_map(|(which, topic, answer, looks)| Step::Fork { which, topic, answer, looks }),
        2 => (any(), any(), looks()).prop_map(|(which, topic, looks)| Step::Compact { which, topic, looks }),
        4 => (any(), any(), looks()).prop_map(|(which, back, looks)| Step::Append { which, back, looks }),
        4 => (any(), any(), looks()).prop_map(|(which, place, looks)| Step::System { which, place, looks }),
        5 => (any(), any(), looks()).prop_map(|(which, kind, looks)| Step::Side { which, kind, looks }),
        2 => (any(), looks()).prop_map(|(which, looks)| Step::Move { which, looks }),
        2 => (any(), any(), any(), looks()).prop_map(|(which, topic, answer, looks)| Step::Twice { which, topic, answer, looks }),
        2 => (any(), any(), any(), looks()).prop_map(|(which, topic, answer, looks)| Step::Locked { which, topic, answer, looks }),
        1 => (any(), any(), any(), any(), looks()).prop_map(
            |(which, topic, answer, blocks, looks)| Step::FullDisk { which, topic, answer, blocks, looks }),
        2 => (any(), coin).prop_map(|(repository, kill)| Step::Restart { repository, kill }),
        4 => any().prop_map(|repository| Step::EditFiles { repository }),
    ]
}

/// All names of steps.
pub(super) const KINDS: [&str; 17] = [
    "Open",
    "OpenAlike",
    "Ask",
    "Tool",
    "Retry",
    "Edit",
    "Fork",
    "Compact",
    "Append",
    "System",
    "Side",
    "Move",
    "Twice",
    "Locked",
    "FullDisk",
    "Restart",
    "EditFiles",
];

impl Step {
    /// What comes before any other step.
    pub(super) fn first() -> Step {
        Step::Open {
            format: 0,
            named: true,
            repository: 0,
            topic: 0,
            shape: 0,
            system: false,
            off: false,
        }
    }

    /// The conversation that is meant, and how its request looks.
    pub(super) fn conversation(&self) -> (u8, u32) {
        match *self {
            Step::Open { .. } | Step::Restart { .. } | Step::EditFiles { .. } => (0, 0),
            Step::OpenAlike { which, looks, .. }
            | Step::Ask { which, looks, .. }
            | Step::Tool { which, looks, .. }
            | Step::Retry { which, looks, .. }
            | Step::Edit { which, looks, .. }
            | Step::Fork { which, looks, .. }
            | Step::Compact { which, looks, .. }
            | Step::Append { which, looks, .. }
            | Step::System { which, looks, .. }
            | Step::Side { which, looks, .. }
            | Step::Move { which, looks }
            | Step::Twice { which, looks, .. }
            | Step::Locked { which, looks, .. }
            | Step::FullDisk { which, looks, .. } => (which, looks),
        }
    }
}
