//! One client's conversation: its next request, and the blocks that the request must hold.

use serde_json::{Value, json};

use crate::load::format::Format;
use crate::load::request::{self as agent, question};

/// Questions of one conversation, after which it is over.
const QUESTIONS: usize = 6;

/// The next request of a conversation, by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Question,
    /// The agent goes on with a tool's result, or without tools a person says "go on".
    Turn,
    Again,
    /// The client asks on its own behalf.
    Side,
}

/// Ten requests, one of which brings a question.
const ROUND: [Step; 10] = [
    Step::Question,
    Step::Turn,
    Step::Turn,
    Step::Again,
    Step::Turn,
    Step::Turn,
    Step::Side,
    Step::Turn,
    Step::Again,
    Step::Turn,
];

pub(super) struct Request {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) format: Format,
    pub(super) streamed: bool,
    pub(super) body: String,
    /// The kind of client, for reports.
    pub(super) kind: String,
}

/// A conversation between two of its requests.
pub(super) struct Conversation {
    number: u64,
    format: Format,
    spoken: Format,
    tools: usize,
    streamed: bool,
    directory: String,
    history: Vec<Value>,
    steps: usize,
    /// The blocks that the newest request of the conversation itself had.
    blocks: Vec<Vec<u8>>,
}

impl Conversation {
    /// The kinds of client take turns: three formats before three formats, with tools and without, streamed and not.
    pub(super) fn new(number: u64, directory: &str) -> Self {
        let at = number as usize;
        Self {
            number,
            format: Format::ALL[at % 3],
            spoken: Format::ALL[at / 3 % 3],
            tools: if (at / 9).is_multiple_of(2) { 4 } else { 0 },
            streamed: at / 18 % 4 != 3,
            directory: directory.to_owned(),
            history: Vec::new(),
            steps: 0,
            blocks: Vec::new(),
        }
    }

    /// Goes on to the next step; `None` if the conversation is over.
    pub(super) fn next(&mut self) -> Option<Step> {
        if self.steps >= QUESTIONS * ROUND.len() {
            return None;
        }
        let step = ROUND[self.steps % ROUND.len()];
        let format = self.format;
        match step {
            Step::Question => {
                if !self.history.is_empty() {
                    self.history.push(agent::assistant(format, "That is how it works."));
                }
                let number = self.number * QUESTIONS as u64 + (self.steps / ROUND.len()) as u64;
                self.history.push(agent::user(format, &question(number)));
            }
            Step::Turn if self.tools > 0 => self.history.extend(agent::call_and_result(format, self.steps)),
            Step::Turn => {
                self.history.push(agent::assistant(format, "Shall I go on?"));
                self.history.push(agent::user(format, "yes, go on"));
            }
            Step::Again | Step::Side => {}
        }
        self.steps += 1;
        Some(step)
    }

    pub(super) fn request(&self, step: Step) -> Request {
        let mut history = self.history.clone();
        if step == Step::Side {
            let words = "[SUGGESTION MODE: say what the user may type next]";
            history.push(agent::assistant(self.format, "Done."));
            history.push(agent::user(self.format, words));
        }
        let mut body = agent::envelope(self.format, &self.directory, self.tools, history, "");
        body["model"] = self.spoken.name().into();
        body["stream"] = self.streamed.into();
        if let Value::Object(members) = &mut body {
            if self.tools == 0 {
                members.remove("tools");
                members.remove("tool_choice");
            }
            if !self.streamed {
                members.remove("stream_options");
            }
        }
        Request {
            id: format!("{}-{}", self.number, self.steps),
            session: format!("soak-{}", self.number),
            format: self.format,
            streamed: self.streamed,
            body: body.to_string(),
            kind: format!(
                "{} -> {}, {} tools, {}",
                self.format,
                self.spoken,
                self.tools,
                if self.streamed { "streamed" } else { "whole" }
            ),
        }
    }

    /// Compares the blocks that arrived with a request with those of the request before, and returns the number of new ones.
    pub(super) fn check(&mut self, step: Step, arrived: &[Vec<u8>]) -> Result<u64, String> {
        let kept = arrived.starts_with(&self.blocks);
        let added = arrived.len().saturating_sub(self.blocks.len());
        if !kept || (added > 0 && step != Step::Question) {
            let text = |blocks: &[Vec<u8>]| -> Vec<String> {
                blocks.iter().map(|block| String::from_utf8_lossy(block).chars().take(120).collect()).collect()
            };
            return Err(format!(
                "conversation {}, step {}: {}",
                self.number,
                self.steps,
                json!({"before": text(&self.blocks), "arrived": text(arrived)})
            ));
        }
        self.blocks = arrived.to_vec();
        Ok(added as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_or_missing_block_is_an_error() {
        let mut conversation = Conversation::new(1, "/srv/project");
        let block = |text: &str| text.as_bytes().to_vec();
        assert_eq!(conversation.check(Step::Question, &[block("a")]), Ok(1));
        assert_eq!(conversation.check(Step::Turn, &[block("a")]), Ok(0));
        assert_eq!(conversation.check(Step::Question, &[block("a"), block("b")]), Ok(1));
        assert!(conversation.check(Step::Turn, &[block("a")]).is_err());
        assert!(conversation.check(Step::Turn, &[block("a"), block("c")]).is_err());
        assert!(conversation.check(Step::Turn, &[block("a"), block("b"), block("c")]).is_err());
    }
}
