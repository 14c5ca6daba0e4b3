//! The prompts of an explorer's model.

use crate::render::{Ground, neutralize};

/// Maximum number of candidates in the prompt.
pub(super) const CANDIDATES: usize = 15;

const ROLE: &str = "\
You explore a git repository to find the places in its code that answer a question. You do not change anything and you do
not solve the task: you find the few places that somebody who does has to read.

How to work:
- The candidates come from a search by words. They are often right, and sometimes miss what matters.
- Make several independent calls in one turn: up to 8 run at the same time. Never make a call a second time.
- Search for names and words that the code would use, not for the words of the question alone. Follow definitions and
  callers instead of guessing paths. Read the lines that you need, not whole files.
- Look until you know, not longer: two or three turns are enough for most questions.
- Commit. When you have seen the places, call `final` with their paths and line numbers, the most important first. Cite
  only lines that you have seen in results.
";

const CANDIDATES_HEAD: &str = "\nCandidates, best first:\n";
const TREE_HEAD: &str = "\nThe repository:\n";

const RECURSION: &str = "\
- `explore` opens an exploration of its own for a part of the question. Use it only where a part needs many calls, with a
  complete question and a scope; several of them run at the same time.
";

/// Returns the system prompt. The prompt is the same in all turns, so that a backend can cache it. `tools` is the
/// description of the tools as text, for a backend without tool support.
pub(super) fn system(turns: u32, deeper: bool, tools: Option<&str>) -> String {
    let mut text = ROLE.to_owned();
    if deeper {
        text.push_str(RECURSION);
    }
    text.push_str(&format!("- You have {turns} turns in all.\n"));
    if let Some(tools) = tools {
        text.push_str("\nTools:\n");
        text.push_str(tools);
        text.push_str(
            "\nWrite each call on lines of its own, like this, and nothing after the last one:\n<tool_call>{\"name\": \
             \"grep\", \"arguments\": {\"pattern\": \"fn refill\"}}</tool_call>\n",
        );
    }
    text
}

/// Returns the first message: the question, the scope, the candidates and the directory tree.
pub(super) fn opening(question: &str, scope: Option<&str>, candidates: &[String], tree: &str) -> String {
    let mut text = format!("Question:\n{}\n", question.trim());
    if let Some(scope) = scope {
        text.push_str(&format!("\nLook in {scope} only.\n"));
    }
    if !candidates.is_empty() {
        text.push_str(CANDIDATES_HEAD);
        for candidate in candidates {
            text.push_str(&format!("- {}\n", neutralize(candidate, Ground::Code)));
        }
    }
    if !tree.is_empty() {
        text.push_str(TREE_HEAD);
        text.push_str(&neutralize(tree, Ground::Code));
    }
    text
}

/// Extracts the question and the scope from the first message. Unlike the candidates and the tree, these two parts do
/// not depend on the repository's state.
pub(super) fn question_and_scope(opening: &str) -> &str {
    let ends = [CANDIDATES_HEAD, TREE_HEAD].into_iter().filter_map(|head| opening.find(head));
    opening[..ends.min().unwrap_or(opening.len())].trim()
}

/// The message that is sent before the last turn.
pub(super) const LAST_TURN: &str =
    "This is your last turn. Call `final` now with the best places that you have seen, as `path:first-last`.";

/// The message that is sent after a turn with repeated calls only.
pub(super) const REPEATED: &str =
    "All of these calls were made before, and their results stand above. Make other calls, or call `final`.";
