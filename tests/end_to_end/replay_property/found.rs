//! Regressions that the property test, or writing it, found; each minimal.

use super::conversation::{Message, Part, REMINDER, Who};
use super::story::{PLAIN, ask, in_each_format, opened};
use super::world::How;

/// A named session's newer row does not belong to an unnamed conversation.
#[test]
fn unnamed_conversation_is_not_matched_to_a_named_one() {
    in_each_format(|story| {
        let mut unnamed = story.open(None, 0, "Done.");
        story.change_files();
        drop(story.open(Some("a"), 0, "Done."));
        story.ask(&mut unnamed, 1);
    });
}

/// A conversation goes on without the name that it had, and then asks its first turn again.
#[test]
fn a_conversation_that_lost_its_name_keeps_the_history_it_had() {
    in_each_format(|story| {
        let mut unnamed = story.open(Some("a"), 0, "Done.");
        unnamed.session = None;
        story.ask(&mut unnamed, 1);
        story.change_files();
        story.send(&opened(story.format, None, 0), "replayed");
    });
}

/// The first mention of a working directory may come late, and changes nothing of what was said before.
#[test]
fn a_working_directory_named_in_the_middle_keeps_the_history() {
    in_each_format(|story| {
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
fn prefix_of_a_message_is_not_another_sessions_turn() {
    in_each_format(|story| {
        drop(story.open(Some("a"), 0, "Done."));
        let mut long = opened(story.format, Some("b"), 0);
        long.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&long, "injected");
        story.ask(&mut long, 1);
    });
}

/// One conversation says behind a tool's result what another one says behind its question, and a fork of the first is not
/// taken for one of the second.
#[test]
fn fork_is_recognized_by_an_answer_with_only_tool_calls() {
    in_each_format(|story| {
        let mut calling = story.open(None, 0, "");
        calling.messages.last_mut().unwrap().parts.push(Part::Call(4));
        let parts = vec![Part::Outcome(4), Part::Text(REMINDER.to_owned())];
        calling.messages.push(Message { who: Who::User, parts });
        story.send(&calling, "replayed");
        story.change_files();
        let mut other = opened(story.format, Some("b"), 0);
        story.send(&other, "injected");
        other.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&other, "replayed");
        let mut answered = other.clone();
        story.ask(&mut answered, 2);
        let mut fork = calling.clone();
        fork.session = Some("c".to_owned());
        story.ask(&mut fork, 1);
    });
}

/// A fork asks its first turn again, then goes on where it was.
#[test]
fn a_fork_that_asks_again_keeps_the_history_it_had() {
    in_each_format(|story| {
        let first = story.open(Some("a"), 0, "Done.");
        let mut fork = first;
        fork.session = Some("b".to_owned());
        story.ask(&mut fork, 1);
        story.change_files();
        story.send(&opened(story.format, Some("b"), 0), "replayed");
        story.ask(&mut fork, 2);
    });
}

/// Two sessions open alike and go on in different ways: a fork is told by its answer, also after a crash.
#[test]
fn fork_is_recognized_by_its_answer() {
    in_each_format(|story| {
        let mut first = story.open(Some("a"), 0, "Done.");
        story.change_files();
        let mut second = story.open(Some("b"), 0, "I looked at it.");
        for conversation in [&mut first, &mut second] {
            story.ask(conversation, 1);
        }
        story.world.stop(0, true);
        let mut fork = first.clone();
        fork.messages.truncate(2);
        fork.session = Some("c".to_owned());
        story.ask(&mut fork, 2);
    });
}

/// An image that comes and goes between retries moves no block.
#[test]
fn an_image_dropped_and_added_again_moves_nothing() {
    in_each_format(|story| {
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
    in_each_format(|story| {
        let mut failed = opened(story.format, Some("a"), 0);
        story.send_so(&failed, PLAIN, How::LOCKED, "failed");
        story.ask(&mut failed, 1);
        story.world.stop(0, true);
        drop(story.open(Some("b"), 0, "Done."));
        story.ask(&mut failed, 2);
    });
}

/// What went without is remembered through a crash right afterwards.
#[test]
fn turn_with_context_off_stays_without_block_after_a_crash() {
    in_each_format(|story| {
        let conversation = opened(story.format, Some("a"), 0);
        story.send_so(&conversation, PLAIN, How::OFF, "off");
        story.world.stop(0, true);
        story.send(&conversation, "none");
    });
}

/// Two blocks are appended to an earlier message, one after the other, and the history after it is another one then.
#[test]
fn two_blocks_appended_to_an_earlier_message_move_nothing() {
    in_each_format(|story| {
        let first = story.open(Some("a"), 0, "Done.");
        let mut longer = first;
        for topic in 1..3 {
            longer.messages.truncate(1);
            longer.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
            story.ask(&mut longer, topic);
        }
    });
}

/// A session's turn got longer after it had its block; a fork of it is no fork of a session that opened with all of it.
#[test]
fn a_fork_of_a_turn_that_got_longer_keeps_its_block() {
    in_each_format(|story| {
        let mut other = opened(story.format, Some("a"), 0);
        other.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&other, "injected");
        story.ask(&mut other, 1);
        let mut longer = opened(story.format, Some("b"), 0);
        story.send(&longer, "injected");
        longer.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        story.send(&longer, "replayed");
        longer.answer("I looked at it.");
        longer.session = Some("c".to_owned());
        story.ask(&mut longer, 2);
    });
}

/// A conversation that began elsewhere comes here in the middle, with nothing new; then another one opens alike.
#[test]
fn conversation_joined_midway_takes_no_foreign_block() {
    in_each_format(|story| {
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
        drop(story.open(Some("b"), 0, "Done."));
        story.ask(&mut joined, 1);
    });
}

/// A fork has in its history what went without a moment ago, in another session and under a locked ledger.
#[test]
fn fork_keeps_turns_without_block() {
    in_each_format(|story| {
        let mut first = story.open(Some("a"), 0, "Done.");
        ask(&mut first, 1);
        story.send_so(&first, PLAIN, How::LOCKED, "failed");
        let mut fork = first.clone();
        fork.session = Some("b".to_owned());
        story.ask(&mut fork, 2);
        fork.messages.truncate(3);
        story.send(&fork, "replayed");
    });
}
