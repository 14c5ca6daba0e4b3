//! Execution of steps: changes of conversations, and requests.

use std::collections::BTreeMap;

use super::conversation::{Conversation, Format, Looks, Message, Part, REMINDER, Who};
use super::steps::{KINDS, Step};
use super::world::{How, TOPICS, World};

/// Few, so that conversations go on alike.
const ANSWERS: [&str; 4] = [
    "Done.",
    "I looked at it.",
    "It is in the file above.",
    "Shall I change it?",
];
const OFF_TOPIC: &str = "Write a haiku about autumn leaves, please.";
const SUMMARY: &str = "This session is being continued from a previous conversation. Summary: things were done.";
const MOST_CONVERSATIONS: usize = 10;

/// The conversations of one run.
#[derive(Default)]
pub(super) struct Run {
    conversations: Vec<Conversation>,
    sessions: usize,
    next: usize,
    /// How often each kind of step was taken.
    pub(super) kinds: BTreeMap<&'static str, usize>,
}

impl Run {
    /// Takes a step.
    ///
    /// # Errors
    /// What the oracle found wrong.
    pub(super) fn take(&mut self, world: &mut World, step: &Step) -> Result<(), String> {
        let name = format!("{step:?}");
        let is_this = |kind: &&&str| name.split(' ').next() == Some(kind);
        let kind = KINDS.iter().find(is_this).expect("every kind is listed");
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
                let how = How { off, ..How::PLAIN };
                world.send(&name, &conversation, Looks(u32::from(shape)), how)?;
                self.keep(conversation);
            }
            _ => self.go_on(world, step, &name)?,
        }
        Ok(())
    }

    /// A step of an existing conversation.
    fn go_on(&mut self, world: &mut World, step: &Step, name: &str) -> Result<(), String> {
        if self.conversations.is_empty() {
            self.take(world, &Step::first())?;
        }
        let (which, looks) = step.conversation();
        let (which, looks) = (usize::from(which) % self.conversations.len(), Looks(looks));
        let before = self.conversations[which].clone();
        let mut now = before.clone();
        if let Step::Side { kind, .. } = *step {
            let how = ask_aside(&mut now, kind);
            return world.send(name, &now, looks, how).map(drop);
        }
        if let Step::Compact { .. } = step {
            let mut side = before.clone();
            side.answer(ANSWERS[0]);
            side.say(
                Who::User,
                "CRITICAL: Respond with TEXT ONLY. Summarise the conversation.",
            );
            let how = How {
                side: true,
                ..How::PLAIN
            };
            world.send(&format!("{name} (summary)"), &side, looks, how)?;
        }
        let branches = self.branch(&mut now, step);
        let how = if branches {
            How::PLAIN
        } else {
            say(&mut now, step, world)
        };
        if let Step::FullDisk { blocks, .. } = *step {
            world.fill_disk(now.repository, [0, 64, 200, 600][usize::from(blocks % 4)]);
            world.send(&format!("{name} (full)"), &now, looks, how)?;
            world.stop(now.repository, blocks >= 128);
        }
        world.send(name, &now, looks, how)?;
        self.conversations[which] = now;
        if branches {
            self.keep(before);
        }
        Ok(())
    }

    /// Steps after which the conversation as it was stays open beside what became of it; whether this is one.
    fn branch(&mut self, now: &mut Conversation, step: &Step) -> bool {
        match *step {
            Step::OpenAlike { named, elsewhere, .. } => {
                let first = now.human_turns().first().copied().unwrap_or(0);
                now.messages.truncate(first + 1);
                now.session = self.session(named);
                now.repository ^= usize::from(elsewhere);
            }
            Step::Edit { back, topic, .. } => {
                let turns = now.human_turns();
                let turn = turns[turns.len() - 1 - usize::from(back) % turns.len().min(3)];
                now.messages.truncate(turn + 1);
                if let Some(topic) = topic {
                    now.messages[turn] = Message::text(Who::User, question(topic));
                }
            }
            Step::Fork { topic, answer, .. } => {
                now.session = self.session(true);
                ask(now, topic, answer);
            }
            Step::Compact { topic, .. } => {
                let parts = vec![Part::Text(SUMMARY.to_owned()), Part::Text(question(topic))];
                now.messages = vec![Message { who: Who::User, parts }];
            }
            Step::Append { back, .. } => {
                let turns = now.human_turns();
                let turn = turns[turns.len() - 1 - usize::from(back) % turns.len()];
                now.messages[turn].parts.push(Part::Text(REMINDER.to_owned()));
            }
            Step::Move { .. } => now.repository ^= 1,
            _ => return false,
        }
        true
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

/// Steps that only add to a conversation, and what to do while it is sent.
fn say(now: &mut Conversation, step: &Step, world: &World) -> How {
    let mut how = How::PLAIN;
    match *step {
        Step::Ask {
            topic,
            answer,
            off,
            image,
            ..
        } => {
            ask(now, topic, answer);
            if image {
                now.messages.last_mut().unwrap().parts.push(Part::Image(topic));
            }
            how.off = off;
        }
        Step::Twice { topic, answer, .. } => {
            ask(now, topic, answer);
            how.twice = true;
        }
        Step::Locked { topic, answer, .. } => {
            ask(now, topic, answer);
            how.locked = true;
        }
        Step::FullDisk { topic, answer, .. } => ask(now, topic, answer),
        Step::Tool { number, also, .. } => use_tool(now, number, also),
        Step::Retry { off, .. } => how.off = off,
        Step::System { place, .. } => now.say(Who::System, system_text(world, now.repository, place)),
        _ => {}
    }
    how
}

fn use_tool(now: &mut Conversation, number: u8, also: u8) {
    if !now.waits() {
        return;
    }
    let answer = if number.is_multiple_of(2) { "" } else { ANSWERS[0] };
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

fn system_text(world: &World, repository: usize, place: u8) -> String {
    let (here, elsewhere) = (&world.repositories[repository], &world.repositories[1 - repository]);
    let place = match place % 5 {
        0 => here.display().to_string(),
        1 => here.join("src").display().to_string(),
        2 => elsewhere.display().to_string(),
        _ => return "# Skills\n- none\n".to_owned(),
    };
    format!("# Environment\n - Primary working directory: {place}\n")
}

/// Makes a request on the client's own behalf of a conversation.
fn ask_aside(now: &mut Conversation, kind: u8) -> How {
    let text = match kind % 4 {
        0 => "[SUGGESTION MODE: Suggest what the user might type next.]",
        1 => "CRITICAL: Respond with TEXT ONLY. Do not call tools.",
        2 => "Generate a concise, single-line task title for this.",
        _ => TOPICS[0].2,
    };
    match now.messages.last_mut() {
        // Some clients append their own words to the user's turn.
        Some(last) if last.who == Who::User && kind % 8 < 4 => last.parts.push(Part::Text(text.to_owned())),
        _ => {
            now.answer(ANSWERS[usize::from(kind / 8) % 2]);
            now.say(Who::User, text);
        }
    }
    How {
        side: true,
        subagent: kind % 4 == 3,
        ..How::PLAIN
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
