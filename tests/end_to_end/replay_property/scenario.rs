//! Operations of the named scenarios.

use super::conversation::{Conversation, Format, Message, Role, Style};
use super::world::{SendOptions, TOPICS, World};

const FORMATS: [Format; 3] = [Format::Messages, Format::Chat, Format::Responses];
pub(super) const PLAIN: Style = Style(0);

pub(super) fn new_conversation(format: Format, session: Option<&str>, topic: usize) -> Conversation {
    Conversation {
        format,
        session: session.map(str::to_owned),
        repository: 0,
        system: false,
        messages: vec![Message::text(Role::User, TOPICS[topic].2)],
    }
}

/// Runs a scenario for each format in a world of its own. The oracle checks every request.
pub(super) fn in_each_format(run: impl Fn(&mut Scenario)) {
    for format in FORMATS {
        let world = World::new();
        run(&mut Scenario { world, format });
    }
}

/// A world, and the scenario's wire format.
pub(super) struct Scenario {
    pub(super) world: World,
    pub(super) format: Format,
}

impl Scenario {
    /// Sends a conversation, and asserts the outcome.
    pub(super) fn send(&mut self, conversation: &Conversation, expected: &str) {
        self.send_with(conversation, PLAIN, SendOptions::PLAIN, expected);
    }

    pub(super) fn send_with(
        &mut self,
        conversation: &Conversation,
        style: Style,
        options: SendOptions,
        expected: &str,
    ) {
        let outcome = self.world.send(expected, conversation, style, options).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(outcome, expected, "{:?}", self.format);
    }

    /// Opens a conversation, which must get a block, and adds the model's answer.
    pub(super) fn open(&mut self, session: Option<&str>, topic: usize, answer: &str) -> Conversation {
        let mut conversation = new_conversation(self.format, session, topic);
        self.send(&conversation, "injected");
        conversation.answer(answer);
        conversation
    }

    /// Sends the next question, which must get a block.
    pub(super) fn ask(&mut self, conversation: &mut Conversation, topic: usize) {
        ask(conversation, topic);
        self.send(conversation, "injected");
    }

    /// Changes all files and restarts the gateway, so that new blocks differ from earlier ones.
    pub(super) fn change_files(&mut self) {
        self.world.edit_files(0);
        self.world.stop(0, false);
    }
}

pub(super) fn ask(conversation: &mut Conversation, topic: usize) {
    conversation.answer("Done.");
    conversation.push(Role::User, TOPICS[topic].2);
}
