//! Resolving and checking `[explore]` of a user's file: when a model explores, which one, and its limits.

use std::fmt;
use std::time::Duration;

use muninn_base::Until;
use muninn_context_engine::explore::DeepLimits;
use muninn_text::model::ToolMode;
use serde::Deserialize;

use super::chosen::chosen;
use super::chosen_model::ChosenModel;
use super::invalid::{UnknownValue, invalid};
use super::{BackendConfig, ConfigError};

/// Exploring with a model. `Explore` documents the keys.
#[derive(Debug, Clone)]
pub struct ExploreConfig {
    pub mode: ExploreMode,
    /// The explorer. If absent, the request's own backend and model explore.
    pub explorer: Option<ChosenModel>,
    pub deadline: Duration,
    pub tokens: u32,
    /// The limit of tool calls over all turns.
    pub calls: u32,
    pub depth: u32,
    pub turns: u32,
    pub pack_tokens: u32,
    pub max_answer_tokens: u32,
    pub tool_choice: ToolMode,
}

/// Exploring with a model (the deep lane).
// Not in a repository's file: it sends requests, and they cost money.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Explore {
    /// When a model explores if the request does not ask for it: `off`, `background` (each question, for the next
    /// turn), `auto` (questions with weak ranking results, for the next turn) or `inline` (each question, which waits).
    pub(crate) mode: Option<String>,
    /// Backend of the explorer. Absent: the request's own. Required for `background` and `auto`.
    pub(crate) backend: Option<String>,
    /// Model of the explorer. Absent: the request's own. Required for `background` and `auto`.
    pub(crate) model: Option<String>,
    /// Time budget of one exploration, its child explorations included.
    pub(crate) deadline_ms: Option<u64>,
    /// Token budget of one exploration, prompts and answers of all turns together.
    pub(crate) tokens: Option<u32>,
    /// Tool calls of one exploration.
    pub(crate) calls: Option<u32>,
    /// Nesting depth of child explorations; 0 disables them.
    pub(crate) depth: Option<u32>,
    /// Turns of one exploration.
    pub(crate) turns: Option<u32>,
    /// Token budget for places that the explorer cited, in addition to the budget in `[context]`.
    pub(crate) pack_tokens: Option<u32>,
    /// Largest answer of one turn in tokens.
    pub(crate) max_answer_tokens: Option<u32>,
    /// `auto`, or `required` to force tool calls. Some servers refuse `required`.
    pub(crate) tool_choice: Option<String>,
}

impl ExploreConfig {
    /// Returns the limits of an exploration that starts now.
    pub fn limits(&self) -> DeepLimits {
        DeepLimits {
            tokens: u64::from(self.tokens),
            calls: self.calls,
            depth: self.depth,
            turns: self.turns,
            max_answer_tokens: self.max_answer_tokens,
            tool_required: self.tool_choice == ToolMode::Required,
            until: Until::within(self.deadline),
        }
    }
}

/// When a model explores if the request does not ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExploreMode {
    /// Never.
    Off,
    /// In the background of each question, for the next turn.
    Background,
    /// In the background of questions with weak ranking results, for the next turn.
    Auto,
    /// Before each question is forwarded; the request waits.
    Inline,
}

impl ExploreMode {
    /// The value in a configuration file.
    pub fn name(self) -> &'static str {
        match self {
            ExploreMode::Off => "off",
            ExploreMode::Background => "background",
            ExploreMode::Auto => "auto",
            ExploreMode::Inline => "inline",
        }
    }
}

impl fmt::Display for ExploreMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) fn explore(origin: &str, raw: &Explore, backends: &[BackendConfig]) -> Result<ExploreConfig, ConfigError> {
    let key = |name: &str| format!("explore.{name}");
    let at_least_one = |name: &str, written: Option<u32>, default: u32| match written.unwrap_or(default) {
        0 => Err(invalid(origin, key(name), "must be at least 1; to disable exploring, set mode = \"off\"")),
        number => Ok(number),
    };
    let unknown =
        |name: &str, value: &str, known: &'static str| Err(invalid(origin, key(name), UnknownValue::new(value, known)));
    let mode = match raw.mode.as_deref() {
        None | Some("off") => ExploreMode::Off,
        Some("background") => ExploreMode::Background,
        Some("auto") => ExploreMode::Auto,
        Some("inline") => ExploreMode::Inline,
        Some(other) => return unknown("mode", other, "off, background, auto or inline"),
    };
    let explorer = chosen(origin, ("explore", "explores"), (raw.backend.as_deref(), raw.model.as_deref()), backends)?;
    if matches!(mode, ExploreMode::Background | ExploreMode::Auto) && explorer.is_none() {
        let message = format!(
            "`{mode}` calls a model on Muninn's own account: name its backend and model with explore.backend and explore.model"
        );
        return Err(invalid(origin, key("mode"), message));
    }
    let deadline = raw.deadline_ms.unwrap_or(30_000);
    if deadline == 0 {
        return Err(invalid(origin, key("deadline_ms"), "must be at least 1"));
    }
    let tokens = at_least_one("tokens", raw.tokens, 60_000)?;
    let max_answer_tokens = at_least_one("max_answer_tokens", raw.max_answer_tokens, 1_024)?;
    if max_answer_tokens > tokens {
        let message = format!("is {max_answer_tokens}, more than the limit explore.tokens ({tokens})");
        return Err(invalid(origin, key("max_answer_tokens"), message));
    }
    Ok(ExploreConfig {
        mode,
        explorer,
        deadline: Duration::from_millis(deadline),
        tokens,
        calls: at_least_one("calls", raw.calls, 64)?,
        depth: raw.depth.unwrap_or(2),
        turns: at_least_one("turns", raw.turns, 6)?,
        pack_tokens: raw.pack_tokens.unwrap_or(2_400),
        max_answer_tokens,
        tool_choice: match raw.tool_choice.as_deref() {
            None | Some("auto") => ToolMode::Auto,
            Some("required") => ToolMode::Required,
            Some(other) => return unknown("tool_choice", other, "auto or required"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::load_text;
    use super::*;

    const BACKENDS: &str = "[[backends]]\nname = \"a\"\nurl = \"http://a\"\ndialect = \"chat\"\n\
                            [[backends]]\nname = \"b\"\nurl = \"http://b\"\ndialect = \"chat\"\n";

    fn resolved(text: &str) -> Result<ExploreConfig, String> {
        let config = load_text(&format!("{BACKENDS}[explore]\n{text}"));
        config.map(|config| config.explore).map_err(|error| error.to_string())
    }

    #[test]
    fn exploring_is_off_by_default_and_every_limit_has_a_value() {
        let explore = load_text("").unwrap().explore;
        assert_eq!((explore.mode, explore.explorer), (ExploreMode::Off, None));
        assert_eq!(explore.deadline, Duration::from_secs(30));
        let (tokens, calls, depth, turns) = (explore.tokens, explore.calls, explore.depth, explore.turns);
        assert_eq!((tokens, calls, depth, turns), (60_000, 64, 2, 6));
        assert_eq!((explore.pack_tokens, explore.max_answer_tokens), (2_400, 1_024));
        assert_eq!(explore.tool_choice, ToolMode::Auto);
    }

    #[test]
    fn every_key_can_be_set() {
        let explore = resolved(
            "mode = \"auto\"\nbackend = \"b\"\nmodel = \"m\"\ndeadline_ms = 1\ntokens = 2\ncalls = 3\ndepth = 0\n\
             turns = 4\npack_tokens = 0\nmax_answer_tokens = 2\ntool_choice = \"required\"\n",
        )
        .unwrap();
        let explorer = ChosenModel { backend: 1, model: "m".to_owned() };
        assert_eq!((explore.mode, explore.explorer), (ExploreMode::Auto, Some(explorer)));
        assert_eq!(explore.deadline, Duration::from_millis(1));
        let (tokens, calls, depth, turns) = (explore.tokens, explore.calls, explore.depth, explore.turns);
        assert_eq!((tokens, calls, depth, turns), (2, 3, 0, 4));
        assert_eq!((explore.pack_tokens, explore.max_answer_tokens), (0, 2));
        assert_eq!(explore.tool_choice, ToolMode::Required);
    }

    #[test]
    fn only_background_and_auto_need_a_named_explorer() {
        assert_eq!(resolved("mode = \"inline\"").unwrap().explorer, None);
        for mode in ["background", "auto"] {
            let error = resolved(&format!("mode = \"{mode}\"")).unwrap_err();
            for words in ["explore.mode", "on Muninn's own account", "explore.backend and explore.model"] {
                assert!(error.contains(words), "{error}");
            }
        }
    }

    #[test]
    fn an_invalid_value_is_reported_with_file_key_and_fix() {
        for (text, words) in [
            ("mode = \"on\"", "explore.mode: `on` is unknown; write off, background, auto or inline"),
            ("backend = \"a\"", "explore.model: is missing: name the model of `a`"),
            ("model = \"m\"", "explore.backend: is missing: name the backend that has `m`"),
            ("backend = \"a\"\nmodel = \"\"", "explore.model: is empty"),
            ("backend = \"c\"\nmodel = \"m\"", "explore.backend: there is no backend `c`; known backends: a, b"),
            ("turns = 0", "explore.turns: must be at least 1"),
            ("calls = 0", "explore.calls: must be at least 1"),
            ("tokens = 0", "explore.tokens: must be at least 1"),
            ("deadline_ms = 0", "explore.deadline_ms: must be at least 1"),
            ("tokens = 1000", "explore.max_answer_tokens: is 1024, more than the limit"),
            ("tool_choice = \"none\"", "explore.tool_choice: `none` is unknown; write auto or required"),
            ("turn = 3", "Did you mean `turns`?"),
        ] {
            let error = resolved(text).unwrap_err();
            assert!(error.contains(words) && error.contains("muninn.toml"), "{text}: {error}");
        }
        let error = load_text("[explore]\nbackend = \"a\"\nmodel = \"m\"\n").unwrap_err();
        assert!(error.to_string().contains("add it as a [[backends]] entry"), "{error}");
    }
}
