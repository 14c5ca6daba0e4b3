//! The hard scenarios by name, each as small as it can be.

use super::conversation::{Conversation, Format, Looks, Message, Part, Who};
use super::world::{How, TOPICS, World};

const FORMATS: [Format; 3] = [Format::Messages, Format::Chat, Format::Responses];
const PLAIN: Looks = Looks(0);
const REMINDER: &str = "<system-reminder>\nThe user has opened a file.\n</system-reminder>";

fn opened(format: Format, session: Option<&str>, topic: usize) -> Conversation {
    Conversation {
        format,
        session: session.map(str::to_owned),
        repository: 0,
        system: false,
        messages: vec![Message::text(Who::User, TOPICS[topic].2)],
    }
}

/// Each format in a world of its own, with the oracle looking on.
fn in_each_format(scenario: impl Fn(&mut Story, Format)) {
    for format in FORMATS {
        scenario(
            &mut Story {
                world: World::new(),
                format,
            },
            format,
        );
    }
}

struct Story {
    world: World,
    format: Format,
}

impl Story {
    /// Sends a conversation, which must come out so.
    fn send(&mut self, conversation: &Conversation, expected: &str) {
        self.send_so(conversation, PLAIN, How::default(), expected);
    }

    fn send_so(&mut self, conversation: &Conversation, looks: Looks, how: How, expected: &str) {
        let outcome = self
            .world
            .send(expected, conversation, looks, how)
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(outcome, expected, "{:?}", self.format);
    }

    /// Opens a conversation and has it answered.
    fn open(&mut self, session: Option<&str>, topic: usize, answer: &str) -> Conversation {
        let mut conversation = opened(self.format, session, topic);
        self.send(&conversation, "injected");
        conversation.answer(answer);
        conversation
    }

    /// Makes sure that blocks made from now on differ from those before.
    fn change_files(&mut self) {
        self.world.edit_files(0);
        self.world.stop(0, false);
    }
}

fn ask(conversation: &mut Conversation, topic: usize) {
    conversation.answer("Done.");
    conversation.say(Who::User, TOPICS[topic].2);
}

#[test]
fn the_same_words_in_two_sessions_stay_apart() {
    in_each_format(|story, _| {
        let mut first = story.open(Some("a"), 0, "Done.");
        story.change_files();
        let mut second = story.open(Some("b"), 0, "Done.");
        for conversation in [&mut first, &mut second] {
            ask(conversation, 1);
            story.send(conversation, "injected");
        }
        for conversation in [&mut first, &mut second] {
            ask(conversation, 2);
            story.send(conversation, "injected");
        }
    });
}

#[test]
fn a_fork_after_an_answer_keeps_its_history() {
    in_each_format(|story, _| {
        let mut first = story.open(Some("a"), 0, "Done.");
        story.change_files();
        let mut fork = first.clone();
        fork.session = Some("b".to_owned());
        ask(&mut fork, 1);
        story.send(&fork, "injected");
        ask(&mut first, 2);
        story.send(&first, "injected");
        ask(&mut fork, 3);
        story.send(&fork, "injected");
    });
}

#[test]
fn a_block_appended_to_an_earlier_message_moves_nothing() {
    in_each_format(|story, _| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        ask(&mut conversation, 1);
        story.send(&conversation, "injected");
        conversation.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        conversation.messages.truncate(1);
        conversation.answer("Done.");
        story.send(&conversation, "replayed");
    });
}

#[test]
fn looks_change_and_blocks_stay() {
    in_each_format(|story, _| {
        let mut conversation = opened(story.format, Some("a"), 0);
        conversation.messages[0].parts.push(Part::Image(1));
        story.send(&conversation, "injected");
        for number in 1..12 {
            story.send_so(&conversation, Looks(number * 77_777), How::default(), "replayed");
        }
        for topic in 1..4 {
            ask(&mut conversation, topic);
            story.send(&conversation, "injected");
            story.send_so(&conversation, Looks(5), How::default(), "replayed");
        }
    });
}

#[test]
fn a_restart_between_turns_forgets_nothing() {
    in_each_format(|story, _| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        for (topic, kill) in [(1, false), (2, true), (3, false), (4, true)] {
            story.world.edit_files(0);
            story.world.stop(0, kill);
            ask(&mut conversation, topic);
            story.send(&conversation, "injected");
        }
    });
}

#[test]
fn a_turn_under_a_locked_ledger_stays_without() {
    in_each_format(|story, _| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        ask(&mut conversation, 1);
        let locked = How {
            locked: true,
            ..How::default()
        };
        story.send_so(&conversation, PLAIN, locked, "failed");
        story.send(&conversation, "replayed");
        ask(&mut conversation, 2);
        story.send(&conversation, "injected");
    });
}

#[test]
fn a_turn_with_context_off_stays_without() {
    in_each_format(|story, _| {
        let mut conversation = opened(story.format, Some("a"), 0);
        story.send_so(
            &conversation,
            PLAIN,
            How {
                off: true,
                ..How::default()
            },
            "off",
        );
        story.send(&conversation, "none");
        ask(&mut conversation, 1);
        story.send(&conversation, "injected");
        story.world.stop(0, false);
        conversation.messages.truncate(1);
        story.send(&conversation, "none");
    });
}

#[test]
fn clients_that_name_no_session_keep_their_blocks() {
    in_each_format(|story, _| {
        let mut conversation = story.open(None, 0, "Done.");
        story.change_files();
        for topic in 1..4 {
            ask(&mut conversation, topic);
            story.send(&conversation, "injected");
            story.send(&conversation, "replayed");
        }
    });
}

#[test]
fn two_repositories_share_words_and_state_but_no_block() {
    in_each_format(|story, _| {
        let mut first = story.open(Some("a"), 0, "Done.");
        let mut second = opened(story.format, Some("a"), 0);
        second.repository = 1;
        story.send(&second, "injected");
        for conversation in [&mut first, &mut second] {
            ask(conversation, 1);
            story.send(conversation, "injected");
        }
    });
}

#[test]
fn concurrent_retries_agree() {
    in_each_format(|story, _| {
        for session in [Some("a"), Some("b"), None] {
            let conversation = opened(story.format, session, 0);
            let twice = How {
                twice: true,
                ..How::default()
            };
            story.send_so(&conversation, PLAIN, twice, "injected");
        }
    });
}

#[test]
fn side_requests_replay_and_add_nothing() {
    in_each_format(|story, _| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        let mut side = conversation.clone();
        side.say(Who::User, "[SUGGESTION MODE: Suggest what the user might type next.]");
        story.send_so(
            &side,
            PLAIN,
            How {
                side: true,
                ..How::default()
            },
            "replayed",
        );
        ask(&mut conversation, 1);
        story.send(&conversation, "injected");
    });
}

// Found by the property, or while it was written.

/// A named session's newer row is no unnamed conversation's.
#[test]
fn an_unnamed_conversation_is_not_taken_for_a_named_one() {
    in_each_format(|story, _| {
        let mut unnamed = story.open(None, 0, "Done.");
        story.change_files();
        let _named = story.open(Some("a"), 0, "Done.");
        ask(&mut unnamed, 1);
        story.send(&unnamed, "injected");
    });
}

/// The first mention of a working directory may come late, and changes nothing of what was said before.
#[test]
fn a_working_directory_named_in_the_middle_keeps_the_history() {
    in_each_format(|story, _| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        ask(&mut conversation, 1);
        let elsewhere = story.world.repositories[1].display();
        conversation.say(
            Who::System,
            format!("# Environment\n - Primary working directory: {elsewhere}\n"),
        );
        story.send(&conversation, "replayed");
    });
}

/// One session opens with the words with which another one's opening message only begins.
#[test]
fn the_beginning_of_a_message_is_not_another_sessions_turn() {
    in_each_format(|story, _| {
        let _short = story.open(Some("a"), 0, "Done.");
        let mut long = opened(story.format, Some("b"), 0);
        long.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&long, "injected");
        ask(&mut long, 1);
        story.send(&long, "injected");
    });
}

/// A fork asks its first turn again, then goes on where it was.
#[test]
fn a_fork_that_asks_again_keeps_the_history_it_had() {
    in_each_format(|story, _| {
        let first = story.open(Some("a"), 0, "Done.");
        let mut fork = first;
        fork.session = Some("b".to_owned());
        ask(&mut fork, 1);
        story.send(&fork, "injected");
        story.change_files();
        story.send(&opened(story.format, Some("b"), 0), "replayed");
        ask(&mut fork, 2);
        story.send(&fork, "injected");
    });
}

/// Two sessions open alike and go on in different ways: a fork is told by its answer, also after a crash.
#[test]
fn a_fork_is_told_by_its_answer() {
    in_each_format(|story, _| {
        let mut first = story.open(Some("a"), 0, "Done.");
        story.change_files();
        let mut second = story.open(Some("b"), 0, "I looked at it.");
        for conversation in [&mut first, &mut second] {
            ask(conversation, 1);
            story.send(conversation, "injected");
        }
        story.world.stop(0, true);
        let mut fork = first.clone();
        fork.messages.truncate(2);
        fork.session = Some("c".to_owned());
        ask(&mut fork, 2);
        story.send(&fork, "injected");
    });
}

/// An image that comes and goes between retries moves no block.
#[test]
fn an_image_dropped_and_added_again_moves_nothing() {
    in_each_format(|story, _| {
        let mut conversation = opened(story.format, Some("a"), 0);
        conversation.messages[0].parts.push(Part::Image(1));
        story.send(&conversation, "injected");
        conversation.messages[0].parts.pop();
        story.send(&conversation, "replayed");
        conversation.messages[0].parts.push(Part::Image(2));
        story.send(&conversation, "replayed");
    });
}

/// A session whose turn went without while the ledger was locked, and is then killed, is no fork of one that opened alike.
#[test]
fn a_turn_that_failed_does_not_take_another_sessions_block() {
    in_each_format(|story, _| {
        let mut failed = opened(story.format, Some("a"), 0);
        story.send_so(
            &failed,
            PLAIN,
            How {
                locked: true,
                ..How::default()
            },
            "failed",
        );
        ask(&mut failed, 1);
        story.send(&failed, "injected");
        story.world.stop(0, true);
        let _other = story.open(Some("b"), 0, "Done.");
        ask(&mut failed, 2);
        story.send(&failed, "injected");
    });
}

/// What went without is remembered through a crash right afterwards.
#[test]
fn a_turn_with_context_off_stays_without_after_a_crash() {
    in_each_format(|story, _| {
        let conversation = opened(story.format, Some("a"), 0);
        story.send_so(
            &conversation,
            PLAIN,
            How {
                off: true,
                ..How::default()
            },
            "off",
        );
        story.world.stop(0, true);
        story.send(&conversation, "none");
    });
}

/// Two blocks are appended to an earlier message, one after the other, and the history after it is another one then.
#[test]
fn two_blocks_appended_to_an_earlier_message_move_nothing() {
    in_each_format(|story, _| {
        let first = story.open(Some("a"), 0, "Done.");
        let mut longer = first;
        for topic in 1..3 {
            longer.messages.truncate(1);
            longer.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
            ask(&mut longer, topic);
            story.send(&longer, "injected");
        }
    });
}

/// A session's turn got longer after it had its block; a fork of it is no fork of a session that opened with all of it.
#[test]
fn a_fork_of_a_turn_that_got_longer_keeps_its_block() {
    in_each_format(|story, _| {
        let mut other = opened(story.format, Some("a"), 0);
        other.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&other, "injected");
        ask(&mut other, 1);
        story.send(&other, "injected");
        let mut longer = opened(story.format, Some("b"), 0);
        story.send(&longer, "injected");
        longer.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&longer, "replayed");
        longer.answer("I looked at it.");
        longer.session = Some("c".to_owned());
        ask(&mut longer, 2);
        story.send(&longer, "injected");
    });
}

/// A conversation that began elsewhere comes here in the middle, with nothing new; then another one opens alike.
#[test]
fn a_conversation_that_joined_in_the_middle_takes_no_other_ones_block() {
    in_each_format(|story, _| {
        let mut joined = opened(story.format, Some("a"), 0);
        let parts = vec![Part::Text("I will look.".to_owned()), Part::Call(1)];
        joined.messages.push(Message {
            who: Who::Assistant,
            parts,
        });
        joined.messages.push(Message {
            who: Who::User,
            parts: vec![Part::Outcome(1)],
        });
        story.send(&joined, "none");
        let _other = story.open(Some("b"), 0, "Done.");
        ask(&mut joined, 1);
        story.send(&joined, "injected");
    });
}
