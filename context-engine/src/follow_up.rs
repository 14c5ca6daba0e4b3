//! Detecting follow-up turns. A follow-up turn only continues the conversation.
//!
//! Examples are "yes, do it", "commit this", "the same for the other two" and "erklär das nochmal". A follow-up is
//! short, refers to the conversation or tells the agent to continue, and has almost no content words. Its topic is in
//! the conversation and not in the repository. So the engine does not search the repository for it.
//!
//! Questions are distinguished from commands by their form. "So are these still two stacks?" refers to the conversation
//! and has one content word, like the command "please drop the dots again", but it asks about stacks. So a command with
//! content words can count as a follow-up; a question with content words never does. A question for a way or a place
//! ("how do I undo the last commit?") is never a follow-up, because the conversation does not answer it. The threshold
//! decides whether a question is about the repository. A command is no follow-up if one of its content words is a name
//! in the repository: "and now the same for the tokenizer".

mod recognise;
mod words;

pub(crate) use recognise::{continues, is_follow_up, refers_back};
