//! Minimal scenarios of bugs that the property test found.

use super::conversation::{Message, Part, REMINDER, Role};
use super::scenario::{PLAIN, Scenario, ask, in_each_format, new_conversation};
use super::world::{SendOptions, TOPICS};

/// A named session writes a newer row at the same turn as an unnamed conversation.
#[test]
fn unnamed_conversation_is_not_matched_to_a_named_one() {
    in_each_format(|scenario| {
        let mut unnamed = scenario.open(None, 0, "Done.");
        scenario.change_files();
        drop(scenario.open(Some("a"), 0, "Done."));
        scenario.ask(&mut unnamed, 1);
    });
}

/// A conversation continues without its session id, and then repeats its first turn.
#[test]
fn conversation_without_its_earlier_session_id_keeps_its_history() {
    in_each_format(|scenario| {
        let mut unnamed = scenario.open(Some("a"), 0, "Done.");
        unnamed.session = None;
        scenario.ask(&mut unnamed, 1);
        scenario.change_files();
        scenario.send(&new_conversation(scenario.format, None, 0), "replayed");
    });
}

/// The client names the working directory for the first time in the middle of a conversation.
#[test]
fn late_working_directory_keeps_the_history() {
    in_each_format(|scenario| {
        let mut conversation = scenario.open(Some("a"), 0, "Done.");
        ask(&mut conversation, 1);
        let elsewhere = scenario.world.repositories[1].display();
        conversation.push(Role::System, format!("# Environment\n - Primary working directory: {elsewhere}\n"));
        scenario.send(&conversation, "replayed");
    });
}

/// A session moves into another repository, where its earlier turn has no block, and goes back to ask another question there.
/// A fork of what it asked first continues that history.
#[test]
fn turn_that_was_absent_belongs_to_the_history_of_its_row() {
    in_each_format(|scenario| {
        let mut moved = scenario.open(Some("a"), 0, "Done.");
        moved.repository = 1;
        let mut edited = moved.clone();
        scenario.ask(&mut moved, 1);
        scenario.ask(&mut edited, 2);
        moved.session = Some("fork".to_owned());
        scenario.ask(&mut moved, 3);
    });
}

/// The opening message of one session is a prefix of another session's opening message.
#[test]
fn prefix_of_a_message_is_not_another_sessions_turn() {
    in_each_format(|scenario| {
        drop(scenario.open(Some("a"), 0, "Done."));
        let mut long = new_conversation(scenario.format, Some("b"), 0);
        long.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        scenario.send(&long, "injected");
        scenario.ask(&mut long, 1);
    });
}

/// Two conversations contain the same text, one after a tool's result and one after its question. A fork of the first
/// must not get the blocks of the second.
#[test]
fn fork_is_recognized_by_an_answer_with_only_tool_calls() {
    in_each_format(|scenario| {
        let mut calling = scenario.open(None, 0, "");
        calling.messages.last_mut().unwrap().parts.push(Part::Call(4));
        let parts = vec![Part::Outcome(4), Part::Text(REMINDER.to_owned())];
        calling.messages.push(Message { role: Role::User, parts });
        scenario.send(&calling, "replayed");
        scenario.change_files();
        let mut other = new_conversation(scenario.format, Some("b"), 0);
        scenario.send(&other, "injected");
        other.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        scenario.send(&other, "replayed");
        let mut answered = other.clone();
        scenario.ask(&mut answered, 2);
        let mut fork = calling.clone();
        fork.session = Some("c".to_owned());
        scenario.ask(&mut fork, 1);
    });
}

/// A fork repeats its first turn, and then continues its history.
#[test]
fn fork_that_repeats_a_turn_keeps_its_history() {
    in_each_format(|scenario| {
        let first = scenario.open(Some("a"), 0, "Done.");
        let mut fork = first;
        fork.session = Some("b".to_owned());
        scenario.ask(&mut fork, 1);
        scenario.change_files();
        scenario.send(&new_conversation(scenario.format, Some("b"), 0), "replayed");
        scenario.ask(&mut fork, 2);
    });
}

/// Two sessions have the same opening and different answers. A fork after a crash has the answer of the first session.
#[test]
fn fork_is_recognized_by_its_answer() {
    in_each_format(|scenario| {
        let mut first = scenario.open(Some("a"), 0, "Done.");
        scenario.change_files();
        let mut second = scenario.open(Some("b"), 0, "I looked at it.");
        for conversation in [&mut first, &mut second] {
            scenario.ask(conversation, 1);
        }
        scenario.world.stop(0, true);
        let mut fork = first.clone();
        fork.messages.truncate(2);
        fork.session = Some("c".to_owned());
        scenario.ask(&mut fork, 2);
    });
}

/// Retries of a turn have an image, no image, and another image.
#[test]
fn image_that_changes_between_retries_moves_no_block() {
    in_each_format(|scenario| {
        let mut conversation = new_conversation(scenario.format, Some("a"), 0);
        conversation.messages[0].parts.push(Part::Image(1));
        scenario.send(&conversation, "injected");
        conversation.messages[0].parts.pop();
        scenario.send(&conversation, "replayed");
        conversation.messages[0].parts.push(Part::Image(2));
        scenario.send(&conversation, "replayed");
    });
}

/// A session has a turn without a block, because the ledger was locked. The gateway is killed, and another session has
/// the same opening.
#[test]
fn failed_turn_does_not_get_another_sessions_block() {
    in_each_format(|scenario| {
        let mut failed = new_conversation(scenario.format, Some("a"), 0);
        scenario.send_with(&failed, PLAIN, SendOptions::LOCKED, "failed");
        scenario.ask(&mut failed, 1);
        scenario.world.stop(0, true);
        drop(scenario.open(Some("b"), 0, "Done."));
        scenario.ask(&mut failed, 2);
    });
}

/// The gateway is killed right after a turn without a block.
#[test]
fn turn_with_context_off_stays_without_block_after_a_crash() {
    in_each_format(|scenario| {
        let conversation = new_conversation(scenario.format, Some("a"), 0);
        scenario.send_with(&conversation, PLAIN, SendOptions::OFF, "off");
        scenario.world.stop(0, true);
        scenario.send(&conversation, "none");
    });
}

/// The client appends text to an earlier message twice, and continues with another history each time.
#[test]
fn two_texts_appended_to_an_earlier_message_move_no_block() {
    in_each_format(|scenario| {
        let first = scenario.open(Some("a"), 0, "Done.");
        let mut longer = first;
        for topic in 1..3 {
            longer.messages.truncate(1);
            longer.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
            scenario.ask(&mut longer, topic);
        }
    });
}

/// The client appends text to a turn that has its block, and forks. Another session began with the longer text.
#[test]
fn fork_of_a_lengthened_turn_keeps_its_block() {
    in_each_format(|scenario| {
        let mut other = new_conversation(scenario.format, Some("a"), 0);
        other.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        scenario.send(&other, "injected");
        scenario.ask(&mut other, 1);
        let mut longer = new_conversation(scenario.format, Some("b"), 0);
        scenario.send(&longer, "injected");
        longer.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        scenario.send(&longer, "replayed");
        longer.answer("I looked at it.");
        longer.session = Some("c".to_owned());
        scenario.ask(&mut longer, 2);
    });
}

/// The first request of a conversation ends with a tool's result. Then another session has the same opening.
#[test]
fn conversation_joined_midway_takes_no_foreign_block() {
    in_each_format(|scenario| {
        let mut joined = new_conversation(scenario.format, Some("a"), 0);
        let parts = vec![Part::Text("I will look.".to_owned()), Part::Call(1)];
        joined.messages.push(Message { role: Role::Assistant, parts });
        joined.messages.push(Message { role: Role::User, parts: vec![Part::Outcome(1)] });
        scenario.send(&joined, "none");
        drop(scenario.open(Some("b"), 0, "Done."));
        scenario.ask(&mut joined, 1);
    });
}

/// A fork's history contains a turn without a block, which another session sent a moment ago while the ledger was
/// locked.
#[test]
fn fork_keeps_turns_without_block() {
    in_each_format(|scenario| {
        let mut first = scenario.open(Some("a"), 0, "Done.");
        ask(&mut first, 1);
        scenario.send_with(&first, PLAIN, SendOptions::LOCKED, "failed");
        let mut fork = first.clone();
        fork.session = Some("b".to_owned());
        scenario.ask(&mut fork, 2);
        fork.messages.truncate(3);
        scenario.send(&fork, "replayed");
    });
}

/// A session moves into another repository, where its first turn has no block, and asks something else in place of its second
/// question. Forks of the second question continue after different answers.
#[test]
fn text_of_an_answer_proves_the_history_of_a_fork() {
    in_each_format(|scenario| {
        let mut moved = scenario.open(Some("a"), 0, "Done.");
        let opening = moved.clone();
        scenario.ask(&mut moved, 1);
        moved.repository = 1;
        scenario.send(&moved, "injected");
        let fork = |scenario: &mut Scenario, session: &str, answer: &str, topic: usize| {
            let mut fork = moved.clone();
            fork.session = Some(session.to_owned());
            fork.answer(answer);
            fork.push(Role::User, TOPICS[topic].2);
            scenario.send(&fork, "injected");
        };
        fork(scenario, "b", "Done.", 2);
        let mut edited = opening;
        edited.repository = 1;
        scenario.ask(&mut edited, 3);
        fork(scenario, "c", "I looked at it.", 3);
    });
}
