//! Executes steps: changes conversations and sends requests.

use std::collections::BTreeMap;

use super::conversation::{Conversation, Format, Message, Part, REMINDER, Role, Style};
use super::steps::{KINDS, Step};
use super::world::{SendOptions, TOPICS, World};

/// The model's answers. There are few, so that many conversations have the same answers.
const ANSWERS: [&str; 4] = ["Done.", "I looked at it.", "It is in the file above.", "Shall I change it?"];
const OFF_TOPIC: &str = "Write a haiku about autumn leaves, please.";
const SUMMARY: &str = "This session is being continued from a previous conversation. Summary: things were done.";
const MAX_CONVERSATIONS: usize = 10;

/// The conversations of one run.
#[derive(Default)]
pub(super) struct Run {
    conversations: Vec<Conversation>,
    sessions: usize,
    next: usize,
    /// The number of executed steps by kind.
    pub(super) kinds: BTreeMap<&'static str, usize>,
}

impl Run {
    /// Executes a step.
    ///
    /// # Errors
    /// The oracle's report of a violation.
    pub(super) fn execute(&mut self, world: &mut World, step: &Step) -> Result<(), String> {
        let name = format!("{step:?}");
        let is_this = |kind: &&&str| name.split(' ').next() == Some(kind);
        let kind = KINDS.iter().find(is_this).expect("every kind is listed");
        *self.kinds.entry(kind).or_default() += 1;
        match *step {
            Step::Restart { repository, kill } => world.stop(usize::from(repository % 2), kill),
            Step::EditFiles { repository } => world.edit_files(usize::from(repository % 2)),
            Step::Open { format, named, repository, topic, shape, system, off } => {
                let conversation = Conversation {
                    format: [Format::Messages, Format::Chat, Format::Responses][usize::from(format % 3)],
                    session: self.session(named),
                    repository: usize::from(repository % 4 == 3),
                    system,
                    messages: vec![first_message(world, shape, topic)],
                };
                let options = SendOptions { off, ..SendOptions::PLAIN };
                world.send(&name, &conversation, Style(u32::from(shape)), options)?;
                self.keep(conversation);
            }
            _ => self.change_conversation(world, step, &name)?,
        }
        Ok(())
    }

    /// Executes a step of an existing conversation.
    fn change_conversation(&mut self, world: &mut World, step: &Step, name: &str) -> Result<(), String> {
        let (which, style) = step.conversation();
        if self.conversations.is_empty() {
            self.execute(world, &Step::first(which))?;
        }
        let (which, style) = (usize::from(which) % self.conversations.len(), Style(style));
        let before = self.conversations[which].clone();
        let mut now = before.clone();
        if let Step::Side { kind, .. } = *step {
            let options = make_side_request(&mut now, kind);
            return world.send(name, &now, style, options).map(drop);
        }
        if let Step::Compact { .. } = step {
            let mut side = before.clone();
            side.answer(ANSWERS[0]);
            side.push(Role::User, "CRITICAL: Respond with TEXT ONLY. Summarise the conversation.");
            let options = SendOptions { side: true, ..SendOptions::PLAIN };
            world.send(&format!("{name} (summary)"), &side, style, options)?;
        }
        let branches = self.branch(&mut now, step);
        let options = if branches { SendOptions::PLAIN } else { append(&mut now, step, world) };
        if let Step::FullDisk { blocks, .. } = *step {
            world.fill_disk(now.repository, [0, 64, 200, 600][usize::from(blocks % 4)]);
            world.send(&format!("{name} (full)"), &now, style, options)?;
            world.stop(now.repository, blocks >= 128);
        }
        world.send(name, &now, style, options)?;
        self.conversations[which] = now;
        if branches {
            self.keep(before);
        }
        Ok(())
    }

    /// Applies a step that branches: the unchanged conversation stays open too. Returns false for other steps.
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
                    now.messages[turn] = Message::text(Role::User, question(topic));
                }
            }
            Step::Fork { topic, answer, .. } => {
                now.session = self.session(true);
                ask(now, topic, answer);
            }
            Step::Compact { topic, .. } => {
                let parts = vec![Part::Text(SUMMARY.to_owned()), Part::Text(question(topic))];
                now.messages = vec![Message { role: Role::User, parts }];
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
        if self.conversations.len() < MAX_CONVERSATIONS {
            self.conversations.push(conversation);
        } else {
            self.next = (self.next + 1) % MAX_CONVERSATIONS;
            self.conversations[self.next] = conversation;
        }
    }
}

/// Applies a step that only appends to a conversation. Returns the options for sending it.
fn append(now: &mut Conversation, step: &Step, world: &World) -> SendOptions {
    let mut options = SendOptions::PLAIN;
    match *step {
        Step::Ask { topic, answer, off, image, .. } => {
            ask(now, topic, answer);
            if image {
                now.messages.last_mut().unwrap().parts.push(Part::Image(topic));
            }
            options.off = off;
        }
        Step::Twice { topic, answer, .. } => {
            ask(now, topic, answer);
            options.twice = true;
        }
        Step::Locked { topic, answer, .. } => {
            ask(now, topic, answer);
            options.locked = true;
        }
        Step::FullDisk { topic, answer, .. } => ask(now, topic, answer),
        Step::Tool { number, also, .. } => use_tool(now, number, also),
        Step::Retry { off, .. } => options.off = off,
        Step::System { place, .. } => now.push(Role::System, system_text(world, now.repository, place)),
        _ => {}
    }
    options
}

fn use_tool(now: &mut Conversation, number: u8, also: u8) {
    if !now.awaits_model() {
        return;
    }
    let answer = if number.is_multiple_of(2) { "" } else { ANSWERS[0] };
    let parts = vec![Part::Text(answer.to_owned()), Part::Call(number % 8)];
    now.messages.push(Message { role: Role::Assistant, parts });
    let mut parts = vec![Part::Outcome(number % 8)];
    match also % 4 {
        0 => parts.push(Part::Text(REMINDER.to_owned())),
        1 => parts.push(Part::Text(question(also / 4))),
        _ => {}
    }
    now.messages.push(Message { role: Role::User, parts });
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

/// Turns a conversation into a side request.
fn make_side_request(now: &mut Conversation, kind: u8) -> SendOptions {
    let text = match kind % 4 {
        0 => "[SUGGESTION MODE: Suggest what the user might type next.]",
        1 => "CRITICAL: Respond with TEXT ONLY. Do not call tools.",
        2 => "Generate a concise, single-line task title for this.",
        _ => TOPICS[0].2,
    };
    match now.messages.last_mut() {
        // Some clients append their own text to the user's turn.
        Some(last) if last.role == Role::User && kind % 8 < 4 => last.parts.push(Part::Text(text.to_owned())),
        _ => {
            now.answer(ANSWERS[usize::from(kind / 8) % 2]);
            now.push(Role::User, text);
        }
    }
    SendOptions { side: true, subagent: kind % 4 == 3, ..SendOptions::PLAIN }
}

fn question(topic: u8) -> String {
    match TOPICS.get(usize::from(topic) % (TOPICS.len() + 1)) {
        Some((.., question)) => (*question).to_owned(),
        None => OFF_TOPIC.to_owned(),
    }
}

fn ask(conversation: &mut Conversation, topic: u8, answer: u8) {
    conversation.answer(ANSWERS[usize::from(answer) % ANSWERS.len()]);
    conversation.push(Role::User, question(topic));
}

fn first_message(world: &World, shape: u8, topic: u8) -> Message {
    // There are few opening questions, so that many conversations have the same opening.
    let question = Part::Text(question(topic % 3));
    let reminder = Part::Text(REMINDER.to_owned());
    let parts = match shape % 6 {
        0 => vec![reminder, question],
        1 => vec![question, Part::Image(shape)],
        2 => vec![question, reminder],
        3 => {
            let root = world.repositories[0].display();
            vec![Part::Text(format!("<system-reminder>\nWorking directory: {root}\n</system-reminder>")), question]
        }
        _ => vec![question],
    };
    Message { role: Role::User, parts }
}
