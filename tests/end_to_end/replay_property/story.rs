//! Vocabulary of the named scenarios: a world for each format, checked by the oracle.

use super::conversation::{Conversation, Format, Looks, Message, Who};
use super::world::{How, TOPICS, World};

const FORMATS: [Format; 3] = [Format::Messages, Format::Chat, Format::Responses];
pub(super) const PLAIN: Looks = Looks(0);

pub(super) fn opened(format: Format, session: Option<&str>, topic: usize) -> Conversation {
    Conversation {
        format,
        session: session.map(str::to_owned),
        repository: 0,
        system: false,
        messages: vec![Message::text(Who::User, TOPICS[topic].2)],
    }
}

/// Runs a story for each format in its own world, checked by the oracle.
pub(super) fn in_each_format(scenario: impl Fn(&mut Story)) {
    for format in FORMATS {
        let world = World::new();
        scenario(&mut Story { world, format });
    }
}

/// A world, and the format that the story is told in.
pub(super) struct Story {
    pub(super) world: World,
    pub(super) format: Format,
}

impl Story {
    /// Sends a conversation, which must come out so.
    pub(super) fn send(&mut self, conversation: &Conversation, expected: &str) {
        self.send_so(conversation, PLAIN, How::PLAIN, expected);
    }

    pub(super) fn send_so(&mut self, conversation: &Conversation, looks: Looks, how: How, expected: &str) {
        let outcome = self
            .world
            .send(expected, conversation, looks, how)
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(outcome, expected, "{:?}", self.format);
    }

    /// Opens a conversation and has it answered.
    pub(super) fn open(&mut self, session: Option<&str>, topic: usize, answer: &str) -> Conversation {
        let mut conversation = opened(self.format, session, topic);
        self.send(&conversation, "injected");
        conversation.answer(answer);
        conversation
    }

    /// Goes on with a question, which must get a block.
    pub(super) fn ask(&mut self, conversation: &mut Conversation, topic: usize) {
        ask(conversation, topic);
        self.send(conversation, "injected");
    }

    /// Makes sure that blocks made from now on differ from those before.
    pub(super) fn change_files(&mut self) {
        self.world.edit_files(0);
        self.world.stop(0, false);
    }
}

pub(super) fn ask(conversation: &mut Conversation, topic: usize) {
    conversation.answer("Done.");
    conversation.say(Who::User, TOPICS[topic].2);
}
