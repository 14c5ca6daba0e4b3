//! What clients, users and machines do: steps, and what they make of conversations.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::conversation::{Conversation, Format, Looks, Message, Part, Who};
use super::world::{How, TOPICS, World};

/// One thing that happens. Numbers are taken modulo whatever there is to choose from, so that any step can follow any.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A new conversation; `named` gives it a session id, `like` the opening words of another one.
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

/// Few, so that conversations go on alike.
const ANSWERS: [&str; 4] = [
    "Done.",
    "I looked at it.",
    "It is in the file above.",
    "Shall I change it?",
];
const OFF_TOPIC: &str = "Write a haiku about autumn leaves, please.";
const REMINDER: &str = "<system-reminder>\nThe user has opened a file.\n</system-reminder>";
const MOST_CONVERSATIONS: usize = 10;

/// The conversations of one run.
#[derive(Default)]
pub(super) struct Run {
    conversations: Vec<Conversation>,
    sessions: usize,
    next: usize,
    pub kinds: BTreeMap<&'static str, usize>,
}

impl Run {
    /// Takes a step.
    ///
    /// # Errors
    /// What the oracle found wrong.
    pub(super) fn take(&mut self, world: &mut World, step: &Step) -> Result<(), String> {
        let name = format!("{step:?}");
        let kind = KINDS
            .iter()
            .find(|kind| name.split(' ').next() == Some(kind))
            .expect("every kind is listed");
        *self.kinds.entry(kind).or_default() += 1;
        match *step {
            Step::Restart { repository, kill } => world.stop(usize::from(repository % 2), kill),
            Step::EditFiles { repository } => world.edit_files(usize::from(repository % 2)),
            Step::Open {
                format,
                named,
                repository,
                topic,
                shape,
                system,
                off,
            } => {
                let conversation = Conversation {
                    format: [Format::Messages, Format::Chat, Format::Responses][usize::from(format % 3)],
                    session: self.session(named),
                    repository: usize::from(repository % 4 == 3),
                    system,
                    messages: vec![first_message(world, shape, topic)],
                };
                world.send(
                    &name,
                    &conversation,
                    Looks(u32::from(shape)),
                    How { off, ..How::default() },
                )?;
                self.keep(conversation);
            }
            _ => self.go_on(world, step, &name)?,
        }
        Ok(())
    }

    /// Steps of an existing conversation.
    fn go_on(&mut self, world: &mut World, step: &Step, name: &str) -> Result<(), String> {
        if self.conversations.is_empty() {
            let open = Step::Open {
                format: 0,
                named: true,
                repository: 0,
                topic: 0,
                shape: 0,
                system: false,
                off: false,
            };
            self.take(world, &open)?;
        }
        let (which, looks) = step.conversation();
        let which = usize::from(which) % self.conversations.len();
        let before = self.conversations[which].clone();
        let mut now = before.clone();
        let mut how = How::default();
        // Whether the conversation as it was stays open beside what becomes of it.
        let mut branches = false;
        match *step {
            Step::Open { .. } | Step::Restart { .. } | Step::EditFiles { .. } => {}
            Step::OpenAlike { named, elsewhere, .. } => {
                let first = now.human_turns().first().copied().unwrap_or(0);
                now.messages.truncate(first + 1);
                now.session = self.session(named);
                now.repository ^= usize::from(elsewhere);
                branches = true;
            }
            Step::Ask {
                topic,
                answer,
                off,
                image,
                ..
            } => {
                ask(&mut now, topic, answer);
                if image {
                    now.messages.last_mut().unwrap().parts.push(Part::Image(topic));
                }
                how.off = off;
            }
            Step::Tool { number, also, .. } => {
                let answer = if number % 2 == 0 { "" } else { ANSWERS[0] };
                if now.waits() {
                    let parts = vec![Part::Text(answer.to_owned()), Part::Call(number % 8)];
                    now.messages.push(Message {
                        who: Who::Assistant,
                        parts,
                    });
                    let mut parts = vec![Part::Outcome(number % 8)];
                    match also % 4 {
                        0 => parts.push(Part::Text(REMINDER.to_owned())),
                        1 => parts.push(Part::Text(question(also / 4))),
                        _ => {}
                    }
                    now.messages.push(Message { who: Who::User, parts });
                }
            }
            Step::Retry { off, .. } => how.off = off,
            Step::Edit { back, topic, .. } => {
                let turns = now.human_turns();
                let turn = turns[turns.len() - 1 - usize::from(back) % turns.len().min(3)];
                now.messages.truncate(turn + 1);
                if let Some(topic) = topic {
                    now.messages[turn] = Message::text(Who::User, question(topic));
                }
                branches = true;
            }
            Step::Fork { topic, answer, .. } => {
                now.session = self.session(true);
                ask(&mut now, topic, answer);
                branches = true;
            }
            Step::Compact { topic, .. } => {
                let mut side = now.clone();
                side.answer(ANSWERS[0]);
                side.say(
                    Who::User,
                    "CRITICAL: Respond with TEXT ONLY. Summarise the conversation.",
                );
                world.send(
                    &format!("{name} (summary)"),
                    &side,
                    Looks(looks),
                    How { side: true, ..how },
                )?;
                let summary =
                    "This session is being continued from a previous conversation. Summary: things were done.";
                let parts = vec![Part::Text(summary.to_owned()), Part::Text(question(topic))];
                now.messages = vec![Message { who: Who::User, parts }];
                branches = true;
            }
            Step::Append { back, .. } => {
                let turns = now.human_turns();
                let turn = turns[turns.len() - 1 - usize::from(back) % turns.len()];
                now.messages[turn].parts.push(Part::Text(REMINDER.to_owned()));
                branches = true;
            }
            Step::System { place, .. } => {
                let root = |number: usize| world.repositories[number].display().to_string();
                let text = match place % 5 {
                    0 => format!(
                        "# Environment\n - Primary working directory: {}\n",
                        root(now.repository)
                    ),
                    1 => format!(
                        "# Environment\n - Primary working directory: {}/src\n",
                        root(now.repository)
                    ),
                    2 => format!(
                        "# Environment\n - Primary working directory: {}\n",
                        root(1 - now.repository)
                    ),
                    _ => "# Skills\n- none\n".to_owned(),
                };
                now.say(Who::System, text);
            }
            Step::Side { kind, .. } => {
                how.side = true;
                how.subagent = kind % 4 == 3;
                let text = match kind % 4 {
                    0 => "[SUGGESTION MODE: Suggest what the user might type next.]",
                    1 => "CRITICAL: Respond with TEXT ONLY. Do not call tools.",
                    2 => "Generate a concise, single-line task title for this.",
                    _ => TOPICS[0].2,
                };
                let text = Part::Text(text.to_owned());
                match now.messages.last_mut() {
                    // Some clients append their own words to the user's turn.
                    Some(last) if last.who == Who::User && kind % 8 < 4 => last.parts.push(text),
                    _ => {
                        now.answer(ANSWERS[usize::from(kind / 8) % 2]);
                        now.messages.push(Message {
                            who: Who::User,
                            parts: vec![text],
                        });
                    }
                }
                world.send(name, &now, Looks(looks), how)?;
                return Ok(());
            }
            Step::Move { .. } => {
                now.repository ^= 1;
                branches = true;
            }
            Step::Twice { topic, answer, .. } => {
                ask(&mut now, topic, answer);
                how.twice = true;
            }
            Step::Locked { topic, answer, .. } => {
                ask(&mut now, topic, answer);
                how.locked = true;
            }
            Step::FullDisk {
                topic, answer, blocks, ..
            } => {
                world.fill_disk(now.repository, [0, 64, 200, 600][usize::from(blocks % 4)]);
                ask(&mut now, topic, answer);
                world.send(&format!("{name} (full)"), &now, Looks(looks), how)?;
                world.stop(now.repository, blocks >= 128);
            }
        }
        world.send(name, &now, Looks(looks), how)?;
        self.conversations[which] = now;
        if branches {
            self.keep(before);
        }
        Ok(())
    }

    fn session(&mut self, named: bool) -> Option<String> {
        self.sessions += 1;
        named.then(|| format!("session-{}", self.sessions))
    }

    fn keep(&mut self, conversation: Conversation) {
        if self.conversations.len() < MOST_CONVERSATIONS {
            self.conversations.push(conversation);
        } else {
            self.next = (self.next + 1) % MOST_CONVERSATIONS;
            self.conversations[self.next] = conversation;
        }
    }
}

impl Step {
    fn conversation(&self) -> (u8, u32) {
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

fn question(topic: u8) -> String {
    match TOPICS.get(usize::from(topic) % (TOPICS.len() + 1)) {
        Some((.., question)) => (*question).to_owned(),
        None => OFF_TOPIC.to_owned(),
    }
}

fn ask(conversation: &mut Conversation, topic: u8, answer: u8) {
    conversation.answer(ANSWERS[usize::from(answer) % ANSWERS.len()]);
    conversation.say(Who::User, question(topic));
}

fn first_message(world: &World, shape: u8, topic: u8) -> Message {
    // Few questions open conversations, so that many open alike.
    let question = Part::Text(question(topic % 3));
    let reminder = Part::Text(REMINDER.to_owned());
    let parts = match shape % 6 {
        0 => vec![reminder, question],
        1 => vec![question, Part::Image(shape)],
        2 => vec![question, reminder],
        3 => {
            let root = world.repositories[0].display();
            vec![
                Part::Text(format!(
                    "<system-reminder>\nWorking directory: {root}\n</system-reminder>"
                )),
                question,
            ]
        }
        _ => vec![question],
    };
    Message { who: Who::User, parts }
}
