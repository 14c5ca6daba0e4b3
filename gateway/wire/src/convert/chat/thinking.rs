use crate::{Members, Text};

/// The prefix of call ids that this format's clients expect.
pub(crate) const CALL: &str = "call_";

/// The members that hold thinking, each with the seal that Muninn gives to it.
///
/// Servers disagree on the member, and some read only the one that they write: vLLM `reasoning`, DeepSeek and most
/// others `reasoning_content`. The seal records which member it was. If a message has both, `reasoning` is used,
/// because a server that writes both (vLLM) reads that one.
pub(crate) const THINKING: [(&str, &str); 2] = [("reasoning", "muninn-2"), ("reasoning_content", "muninn-1")];

/// Returns the thinking in a message or a delta, with its seal.
pub(crate) fn thinking<'a>(members: &Members<'a>) -> Option<(Text<'a>, &'static str)> {
    let non_empty = |member| members.text(member).filter(|text| text.literal() != "\"\"");
    THINKING.into_iter().find_map(|(member, seal)| Some((non_empty(member)?, seal)))
}
