//! The holdout: a share of the conversations that goes without context, so that the others can be compared with it.

use muninn_ledger::Trial;
use muninn_session::Identity;
use muninn_session::inject::Replay;
use muninn_wire::{Prompt, ToolPart};

/// The group of a conversation; `None` without `[context] holdout`. A conversation that got a block before is not held
/// out.
pub(super) fn trial(share: f64, prompt: &Prompt<'_>, identity: &Identity<'_>, replayed: &Replay) -> Option<Trial> {
    if share <= 0.0 {
        return None;
    }
    let derived = || Some(identity.derived()?.to_string());
    let conversation = identity.session.clone().or_else(derived)?;
    let parts = prompt.messages.iter().flat_map(|message| &message.tools);
    let calls = parts.filter(|part| matches!(part, ToolPart::Result { .. })).count();
    Some(Trial {
        held_out: is_held_out(&conversation, share) && replayed.each_block().next().is_none(),
        calls: u32::try_from(calls).unwrap_or(u32::MAX),
        tokens: None,
    })
}

/// Whether a conversation is in the share that goes without context: the same at each of its requests.
pub(in super::super) fn is_held_out(conversation: &str, share: f64) -> bool {
    let hash = blake3::hash(conversation.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) < share * f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_conversations_is_held_out() {
        let held = |share| (0..2_000).filter(|number| is_held_out(&format!("session {number}"), share)).count();
        assert_eq!((held(0.0), held(1.0)), (0, 2_000));
        assert!((70..130).contains(&held(0.05)), "{}", held(0.05));
        let is_kept = |name: &String| is_held_out(name, 0.05) && !is_held_out(name, 0.2);
        assert!(!(0..2_000).map(|number| format!("session {number}")).any(|name| is_kept(&name)));
    }
}
