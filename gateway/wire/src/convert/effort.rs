//! The names of efforts. Each model takes some of them, and its vendor refuses a request with another one.

use std::borrow::Cow;

use super::request::{Dropped, Reasoning};
use crate::Members;

/// All names, from the least effort to the most.
const NAMES: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The name in a [`Dropped`] of an effort that a writer replaced or left out.
pub(super) const DROPPED: &str = "reasoning.effort";

/// Reads an effort. A value that is no name, such as the numbers of Codex, is counted in `dropped` as `path`.
pub(super) fn read<'a>(members: &Members<'a>, key: &str, path: &str, dropped: &mut Dropped) -> Option<Cow<'a, str>> {
    let name = members.string(key);
    if name.is_none() && members.present(key).is_some() {
        dropped.add(path);
    }
    name.filter(|name| !name.is_empty())
}

/// Returns the effort that a request asks for. A budget in tokens becomes the effort with about the same cost.
pub(super) fn wanted<'r>(reasoning: &'r Reasoning<'_>) -> Option<&'r str> {
    match (reasoning.effort.as_deref(), reasoning.budget) {
        (Some(effort), _) => Some(effort),
        (None, Some(..=4096)) => Some("low"),
        (None, Some(..=16_384)) => Some("medium"),
        (None, Some(_)) => Some("high"),
        (None, None) => None,
    }
}

/// Returns the supported effort that is nearest to `effort`, and the one nearer to `medium` of two. `None` if the name is
/// unknown, or if nothing is supported. `supported` has the order of the efforts.
pub(super) fn nearest(effort: &str, supported: &[&'static str]) -> Option<&'static str> {
    let rank = |name: &str| NAMES.iter().position(|known| *known == name);
    let rank_wanted = rank(effort)?;
    let at_most = supported.iter().rev().find(|name| rank(name) <= Some(rank_wanted));
    let at_least = supported.iter().find(|name| rank(name) >= Some(rank_wanted));
    let found = if Some(rank_wanted) < rank("medium") { at_least.or(at_most) } else { at_most.or(at_least) };
    found.copied()
}

/// Returns the [`nearest`] effort, and counts a replaced or unknown one.
pub(super) fn fit(effort: &str, supported: &[&'static str], dropped: &mut Dropped) -> Option<&'static str> {
    let fitting = nearest(effort, supported);
    if fitting != Some(effort) {
        dropped.add(DROPPED);
    }
    fitting
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::WireFormat::{self, Chat, Messages, Responses};
    use crate::convert::request;

    /// Returns the effort or the budget that a backend gets, and the names of what it does not get.
    fn converted(from: WireFormat, to: WireFormat, model: &str, effort: &Value) -> (String, String) {
        let settings = match from {
            Chat => json!({"reasoning_effort": effort, "max_tokens": 64_000}),
            Messages => json!({"output_config": {"effort": effort}, "max_tokens": 64_000}),
            Responses => json!({"reasoning": {"effort": effort}, "max_output_tokens": 64_000}),
        };
        let mut body = json!({"model": model, from.conversation(): [{"role": "user", "content": "a"}]});
        body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let converted = request(from, to, &body.to_string()).unwrap();
        let sent: Value = serde_json::from_str(&converted.body).unwrap();
        let paths = [
            "/reasoning_effort",
            "/reasoning/effort",
            "/output_config/effort",
            "/thinking/budget_tokens",
            "/thinking/type",
        ];
        let value = paths
            .iter()
            .find_map(|path| sent.pointer(path))
            .map_or("-".to_owned(), |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let dropped: Vec<_> = converted.dropped.iter().map(|(name, _)| name).collect();
        (value, dropped.join(" "))
    }

    /// Efforts as clients send them: all names, one that no vendor knows, and a number.
    fn efforts() -> Vec<Value> {
        let names = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];
        names.map(Value::from).into_iter().chain([json!(0.7)]).collect()
    }

    /// The effort that the backend gets for each of [`efforts`], in their order. `!` marks an effort that differs from the
    /// client's, and is named.
    #[test]
    fn each_effort_arrives_or_is_named() {
        let others = "none !low low medium high !high !high !- !-";
        let openai = [
            ("qwen3-coder", others),
            ("gpt-oss-120b", others),
            ("gpt-4o", "!- !- !- !- !- !- !- !- !-"),
            ("gpt-5-chat-latest", "!- !- !- !- !- !- !- !- !-"),
            ("o3", "!low !low low medium high !high !high !- !-"),
            ("gpt-5-mini", "!minimal minimal low medium high !high !high !- !-"),
            ("gpt-5-pro", "!high !high !high !high high !high !high !- !-"),
            ("openai/gpt-5.1", "none !low low medium high !high !high !- !-"),
            ("gpt-5.1-codex", "!low !low low medium high !high !high !- !-"),
            ("gpt-5.2", "none !low low medium high xhigh !xhigh !- !-"),
            ("gpt-5.3-codex", "!low !low low medium high xhigh !xhigh !- !-"),
            ("gpt-5.6", "none !low low medium high xhigh max !- !-"),
            ("gpt-6.2-astra", "none !low low medium high xhigh max !- !-"),
        ];
        let anthropic = [
            ("claude-3-5-haiku", "- !- !- !- !- !- !- !- !-"),
            ("claude-sonnet-4-5", "disabled 1024 4096 16384 32000 !32000 !32000 !16384 !-"),
            ("claude-opus-4-6", "!low !low low medium high !high max !adaptive !-"),
            ("claude-opus-5", "!low !low low medium high xhigh max !adaptive !-"),
            ("qwen3-coder", "disabled 1024 4096 16384 32000 !32000 !32000 !16384 !-"),
        ];
        for (from, to) in [
            (Messages, Chat),
            (Responses, Chat),
            (Chat, Responses),
            (Messages, Responses),
            (Chat, Messages),
            (Responses, Messages),
        ] {
            let table = if to == Messages { &anthropic[..] } else { &openai };
            for (model, expected) in table {
                for (effort, expected) in efforts().iter().zip(expected.split(' ')) {
                    let case = format!("{from:?} to {to:?}, {model}: {effort}");
                    let (value, dropped) = converted(from, to, model, effort);
                    assert_eq!(value, expected.trim_start_matches('!'), "{case}");
                    let own_name = match from {
                        Chat => "reasoning_effort",
                        Messages => "output_config.effort",
                        Responses => "reasoning.effort",
                    };
                    let name = if effort.is_number() { own_name } else { "reasoning.effort" };
                    assert_eq!(dropped, if expected.starts_with('!') { name } else { "" }, "{case}");
                }
            }
        }
    }
}
