//! Minimal scenarios that are difficult for replay.

use super::conversation::{Part, REMINDER, Role, Style};
use super::scenario::{PLAIN, ask, in_each_format, new_conversation};
use super::world::SendOptions;

#[test]
fn equal_turns_in_two_sessions_stay_separate() {
    in_each_format(|scenario| {
        let mut first = scenario.open(Some("a"), 0, "Done.");
        scenario.change_files();
        let mut second = scenario.open(Some("b"), 0, "Done.");
        for conversation in [&mut first, &mut second] {
            scenario.ask(conversation, 1);
        }
        for conversation in [&mut first, &mut second] {
            scenario.ask(conversation, 2);
        }
    });
}

#[test]
fn fork_after_an_answer_keeps_its_history() {
    in_each_format(|scenario| {
        let mut first = scenario.open(Some("a"), 0, "Done.");
        scenario.change_files();
        let mut fork = first.clone();
        fork.session = Some("b".to_owned());
        scenario.ask(&mut fork, 1);
        scenario.ask(&mut first, 2);
        scenario.ask(&mut fork, 3);
    });
}

#[test]
fn text_appended_to_an_earlier_message_moves_no_block() {
    in_each_format(|scenario| {
        let mut conversation = scenario.open(Some("a"), 0, "Done.");
        scenario.ask(&mut conversation, 1);
        conversation.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        conversation.messages.truncate(1);
        conversation.answer("Done.");
        scenario.send(&conversation, "replayed");
    });
}

#[test]
fn reformatted_messages_keep_their_blocks() {
    in_each_format(|scenario| {
        let mut conversation = new_conversation(scenario.format, Some("a"), 0);
        conversation.messages[0].parts.push(Part::Image(1));
        scenario.send(&conversation, "injected");
        for number in 1..12 {
            scenario.send_with(&conversation, Style(number * 77_777), SendOptions::PLAIN, "replayed");
        }
        for topic in 1..4 {
            scenario.ask(&mut conversation, topic);
            scenario.send_with(&conversation, Style(5), SendOptions::PLAIN, "replayed");
        }
    });
}

#[test]
fn restart_between_turns_keeps_blocks() {
    in_each_format(|scenario| {
        let mut conversation = scenario.open(Some("a"), 0, "Done.");
        for (topic, kill) in [(1, false), (2, true), (3, false), (4, true)] {
            scenario.world.edit_files(0);
            scenario.world.stop(0, kill);
            scenario.ask(&mut conversation, topic);
        }
    });
}

#[test]
fn turn_under_a_locked_ledger_stays_without_block() {
    in_each_format(|scenario| {
        let mut conversation = scenario.open(Some("a"), 0, "Done.");
        ask(&mut conversation, 1);
        scenario.send_with(&conversation, PLAIN, SendOptions::LOCKED, "failed");
        scenario.send(&conversation, "replayed");
        scenario.ask(&mut conversation, 2);
    });
}

#[test]
fn turn_with_context_off_stays_without_block() {
    in_each_format(|scenario| {
        let mut conversation = new_conversation(scenario.format, Some("a"), 0);
        scenario.send_with(&conversation, PLAIN, SendOptions::OFF, "off");
        scenario.send(&conversation, "none");
        scenario.ask(&mut conversation, 1);
        scenario.world.stop(0, false);
        conversation.messages.truncate(1);
        scenario.send(&conversation, "none");
    });
}

#[test]
fn clients_that_name_no_session_keep_their_blocks() {
    in_each_format(|scenario| {
        let mut conversation = scenario.open(None, 0, "Done.");
        scenario.change_files();
        for topic in 1..4 {
            scenario.ask(&mut conversation, topic);
            scenario.send(&conversation, "replayed");
        }
    });
}

#[test]
fn repositories_with_equal_words_and_one_ledger_share_no_block() {
    in_each_format(|scenario| {
        let mut first = scenario.open(Some("a"), 0, "Done.");
        let mut second = new_conversation(scenario.format, Some("a"), 0);
        second.repository = 1;
        scenario.send(&second, "injected");
        for conversation in [&mut first, &mut second] {
            scenario.ask(conversation, 1);
        }
    });
}

#[test]
fn concurrent_retries_get_the_same_block() {
    in_each_format(|scenario| {
        for session in [Some("a"), Some("b"), None] {
            let conversation = new_conversation(scenario.format, session, 0);
            scenario.send_with(&conversation, PLAIN, SendOptions::TWICE, "injected");
        }
    });
}

#[test]
fn side_requests_get_replay_only() {
    in_each_format(|scenario| {
        let mut conversation = scenario.open(Some("a"), 0, "Done.");
        let mut side = conversation.clone();
        side.push(Role::User, "[SUGGESTION MODE: Suggest what the user might type next.]");
        scenario.send_with(&side, PLAIN, SendOptions::SIDE, "replayed");
        scenario.ask(&mut conversation, 1);
    });
}
