//! Request bodies shaped like a coding agent's, in each format, and the questions in them.
//!
//! A body is built once and kept as the bytes before and after the newest human message, so that
//! each request can ask something new without the client building JSON while it measures.

pub(crate) mod agent;

use crate::format::Format;

/// Stands for the question while a body is built.
const MARK: &str = "@@QUESTION@@";

/// Room that is kept for a question when a body is built to a size, in bytes.
const QUESTION_ROOM: usize = 80;

/// Distinct questions about this repository, asked in turn.
const QUESTIONS: [&str; 30] = [
    "How are injected blocks replayed on later turns?",
    "Where is the listen address bound and announced?",
    "Which files are never packed, and where is that decided?",
    "How does the ledger compute its key over text blocks?",
    "What happens when the ledger database is locked?",
    "Where are hop-by-hop headers dropped?",
    "How is the token budget of a pack counted?",
    "How does BM25 tokenize identifiers into parts?",
    "Why are tests demoted in the ranking?",
    "Where is a foreign Origin header refused?",
    "How does the walker apply ignore rules?",
    "What makes a request a side request?",
    "How is the newest human turn found in a messages body?",
    "Where is the state directory chosen?",
    "How are unknown configuration keys reported?",
    "Which backend gets the client's own credential?",
    "How does discovery find a local model server?",
    "What does the receipt of a request hold?",
    "How is a symlink out of the worktree refused?",
    "Where are secrets redacted before a pack is written?",
    "How are fence marks inside packed text escaped?",
    "What does the gateway answer when no backend is connected?",
    "How is the upstream request cancelled when the client leaves?",
    "Where is the body limit enforced, and with which status?",
    "How does the index notice that a file has changed?",
    "How are knowledge files under .muninn searched?",
    "What does muninn why print for the latest request?",
    "How does muninn run set the environment of its child?",
    "Where does the benchmark read the memory of the gateway?",
    "How are definition chunks cut out of a Rust file?",
];

/// The question of this number: one of the questions in turn, made unique by a ticket number.
/// Needs no escaping in JSON.
pub fn question(number: u64) -> String {
    let index = (number % QUESTIONS.len() as u64) as usize;
    format!("{} (ticket {number:07})", QUESTIONS[index])
}

/// A request body with a gap for the question.
#[derive(Debug, Clone)]
pub struct Body {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Body {
    /// A request for a stream of about `size` bytes (at least 1,500) from an agent that works in
    /// `directory`: system text, tools, a history of tool turns as long as the size asks for, and
    /// the question.
    pub fn of_agent(format: Format, size: usize, directory: &str) -> Self {
        let tools = if size < 20_000 { 2 } else { agent::TOOLS.len() };
        let text_of = |turns, padding: &str| agent::request(format, directory, tools, turns, padding).to_string();
        let mut turns = 0;
        let mut text = text_of(turns, "");
        loop {
            let longer = text_of(turns + 1, "");
            if longer.len() + QUESTION_ROOM > size {
                break;
            }
            turns += 1;
            text = longer;
        }
        let missing = size.saturating_sub(text.len() + QUESTION_ROOM - MARK.len());
        let text = text_of(turns, &prose(missing));
        let (before, after) = text.split_once(MARK).unwrap_or((&text, ""));
        Self { before: before.as_bytes().to_vec(), after: after.as_bytes().to_vec() }
    }

    /// Length in bytes with this question in it.
    pub fn len_with(&self, question: &str) -> usize {
        self.before.len() + question.len() + self.after.len()
    }

    /// The body with this question in it, in three pieces. All clients of a run share the long
    /// ones: copies would cost the load client more than sending them does.
    pub fn pieces<'a>(&'a self, question: &'a str) -> [&'a [u8]; 3] {
        [&self.before, question.as_bytes(), &self.after]
    }
}

/// Plain words of this many bytes.
fn prose(length: usize) -> String {
    " Read the code before you change it and say which lines you mean.".chars().cycle().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    fn rendered(format: Format, size: usize, number: u64) -> (Value, usize) {
        let body = Body::of_agent(format, size, "/srv/project");
        let question = question(number);
        let out = body.pieces(&question).concat();
        assert_eq!(out.len(), body.len_with(&question));
        (serde_json::from_slice(&out).unwrap(), out.len())
    }

    fn turns(format: Format, body: &Value) -> &Vec<Value> {
        let key = if format == Format::Responses { "input" } else { "messages" };
        body[key].as_array().unwrap()
    }

    #[test]
    fn bodies_have_their_size_and_the_question_last() {
        for format in Format::ALL {
            for size in [2_000, 100_000] {
                let (body, length) = rendered(format, size, 31);
                assert!(length.abs_diff(size) < 60, "{format}: {length} for {size}");
                let last = turns(format, &body).last().unwrap();
                assert_eq!(last["role"], "user", "{format}");
                assert!(last["content"].to_string().contains(&question(31)), "{format}");
                assert!(!body["tools"].as_array().unwrap().is_empty(), "{format}");
                assert_eq!(body["stream"], true, "{format}");
            }
        }
    }

    #[test]
    fn the_long_body_has_a_long_history() {
        for format in Format::ALL {
            let (body, _) = rendered(format, 100_000, 0);
            assert!(turns(format, &body).len() > 100, "{format}");
            assert_eq!(body["tools"].as_array().unwrap().len(), agent::TOOLS.len(), "{format}");
        }
    }

    #[test]
    fn questions_are_distinct_and_need_no_escaping() {
        let many: BTreeSet<String> = (0..100).map(question).collect();
        assert_eq!(many.len(), 100);
        for one in &many {
            assert_eq!(json!(one).to_string(), format!("\"{one}\""));
        }
        assert_eq!(QUESTIONS.iter().collect::<BTreeSet<_>>().len(), 30);
    }
}
