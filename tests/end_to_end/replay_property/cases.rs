//! Named scenarios that are hard for replay, each minimal.

use super::conversation::{Looks, Part, REMINDER, Who};
use super::story::{PLAIN, ask, in_each_format, opened};
use super::world::How;

#[test]
fn equal_turns_in_two_sessions_stay_separate() {
    in_each_format(|story| {
        let mut first = story.open(Some("a"), 0, "Done.");
        story.change_files();
        let mut second = story.open(Some("b"), 0, "Done.");
        for conversation in [&mut first, &mut second] {
            story.ask(conversation, 1);
        }
        for conversation in [&mut first, &mut second] {
            story.ask(conversation, 2);
        }
    });
}

#[test]
fn a_fork_after_an_answer_keeps_its_history() {
    in_each_format(|story| {
        let mut first = story.open(Some("a"), 0, "Done.");
        story.change_files();
        let mut fork = first.clone();
        fork.session = Some("b".to_owned());
        story.ask(&mut fork, 1);
        story.ask(&mut first, 2);
        story.ask(&mut fork, 3);
    });
}

#[test]
fn a_block_appended_to_an_earlier_message_moves_nothing() {
    in_each_format(|story| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        story.ask(&mut conversation, 1);
        conversation.messages[0].parts.push(Part::Text(REMINDER.to_owned()));
        conversation.messages.truncate(1);
        conversation.answer("Done.");
        story.send(&conversation, "replayed");
    });
}

#[test]
fn reformatted_messages_keep_their_blocks() {
    in_each_format(|story| {
        let mut conversation = opened(story.format, Some("a"), 0);
        conversation.messages[0].parts.push(Part::Image(1));
        story.send(&conversation, "injected");
        for number in 1..12 {
            story.send_so(&conversation, Looks(number * 77_777), How::PLAIN, "replayed");
        }
        for topic in 1..4 {
            story.ask(&mut conversation, topic);
            story.send_so(&conversation, Looks(5), How::PLAIN, "replayed");
        }
    });
}

#[test]
fn restart_between_turns_keeps_blocks() {
    in_each_format(|story| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        for (topic, kill) in [(1, false), (2, true), (3, false), (4, true)] {
            story.world.edit_files(0);
            story.world.stop(0, kill);
            story.ask(&mut conversation, topic);
        }
    });
}

#[test]
fn turn_under_a_locked_ledger_stays_without_block() {
    in_each_format(|story| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        ask(&mut conversation, 1);
        story.send_so(&conversation, PLAIN, How::LOCKED, "failed");
        story.send(&conversation, "replayed");
        story.ask(&mut conversation, 2);
    });
}

#[test]
fn turn_with_context_off_stays_without_block() {
    in_each_format(|story| {
        let mut conversation = opened(story.format, Some("a"), 0);
        story.send_so(&conversation, PLAIN, How::OFF, "off");
        story.send(&conversation, "none");
        story.ask(&mut conversation, 1);
        story.world.stop(0, false);
        conversation.messages.truncate(1);
        story.send(&conversation, "none");
    });
}

#[test]
fn clients_that_name_no_session_keep_their_blocks() {
    in_each_format(|story| {
        let mut conversation = story.open(None, 0, "Done.");
        story.change_files();
        for topic in 1..4 {
            story.ask(&mut conversation, topic);
            story.send(&conversation, "replayed");
        }
    });
}

#[test]
fn two_repositories_share_words_and_state_but_no_block() {
    in_each_format(|story| {
        let mut first = story.open(Some("a"), 0, "Done.");
        let mut second = opened(story.format, Some("a"), 0);
        second.repository = 1;
        story.send(&second, "injected");
        for conversation in [&mut first, &mut second] {
            story.ask(conversation, 1);
        }
    });
}

#[test]
fn concurrent_retries_agree() {
    in_each_format(|story| {
        for session in [Some("a"), Some("b"), None] {
            let conversation = opened(story.format, session, 0);
            story.send_so(&conversation, PLAIN, How::TWICE, "injected");
        }
    });
}

#[test]
fn side_requests_replay_and_add_nothing() {
    in_each_format(|story| {
        let mut conversation = story.open(Some("a"), 0, "Done.");
        let mut side = conversation.clone();
        side.say(Who::User, "[SUGGESTION MODE: Suggest what the user might type next.]");
        story.send_so(&side, PLAIN, How::SIDE, "replayed");
        story.ask(&mut conversation, 1);
    });
}
