//! When a model explores the repository, which one, and what it may spend: `[explore]` of a user's file, checked.

use std::fmt;
use std::time::Duration;

use muninn_context_engine::explore::DeepLimits;
use muninn_memory::model::Choice;
use muninn_repo_tools::Until;

use super::chosen::{ChosenModel, chosen};
use super::raw;
use super::resolve::{UnknownWord, wrong};
use super::{BackendConfig, ConfigError};

/// Exploring with a model.
#[derive(Debug, Clone)]
pub struct ExploreConfig {
    /// When, unless a request says so itself.
    pub mode: ExploreMode,
    /// Who; the request's own backend and model where absent.
    pub explorer: Option<ChosenModel>,
    /// How long one exploration may take, with all that it opens.
    pub deadline: Duration,
    /// Tokens of the model, prompts and answers of all its turns together.
    pub tokens: u32,
    /// Calls of tools, those of all its turns together.
    pub calls: u32,
    /// How deep explorations may open others; 0 for not at all.
    pub depth: u32,
    /// Turns of one exploration.
    pub turns: u32,
    /// Tokens of what it found that are packed, beside the usual budget of a turn.
    pub pack_tokens: u32,
    /// The longest answer of one turn, in the model's tokens.
    pub max_answer_tokens: u32,
    /// Whether the model must call tools; a server may refuse either.
    pub tool_choice: Choice,
}

impl ExploreConfig {
    /// Bounds for an exploration that begins now.
    #[must_use]
    pub fn limits(&self) -> DeepLimits {
        DeepLimits {
            tokens: u64::from(self.tokens),
            calls: self.calls,
            depth: self.depth,
            turns: self.turns,
            max_answer_tokens: self.max_answer_tokens,
            tool_required: self.tool_choice == Choice::Required,
            until: Until::within(self.deadline),
        }
    }
}

/// When a model explores without being asked to by the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExploreMode {
    /// Never.
    Off,
    /// Beside each question, for the turn after it.
    Background,
    /// Beside the questions that ranking answers badly, for the turn after it.
    Auto,
    /// Before each question is sent on, which waits for it.
    Inline,
}

impl ExploreMode {
    const ALL: [ExploreMode; 4] = [
        ExploreMode::Off,
        ExploreMode::Background,
        ExploreMode::Auto,
        ExploreMode::Inline,
    ];

    /// As it is written.
    #[must_use]
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

pub(super) fn explore(
    origin: &str,
    raw: &raw::Explore,
    backends: &[BackendConfig],
) -> Result<ExploreConfig, ConfigError> {
    let key = |name: &str| format!("explore.{name}");
    let at_least_one = |name: &str, written: Option<u32>, default: u32| match written.unwrap_or(default) {
        0 => Err(wrong(
            origin,
            key(name),
            "must be at least 1; mode = \"off\" is how to have none",
        )),
        number => Ok(number),
    };
    let mode = mode(raw.mode.as_deref()).map_err(|error| wrong(origin, key("mode"), error))?;
    let explorer = chosen(
        origin,
        ("explore", "explores"),
        (raw.backend.as_deref(), raw.model.as_deref()),
        backends,
    )?;
    if matches!(mode, ExploreMode::Background | ExploreMode::Auto) && explorer.is_none() {
        let message = format!(
            "`{mode}` asks a model that no request asked for: name who pays for it, with explore.backend and explore.model"
        );
        return Err(wrong(origin, key("mode"), message));
    }
    let deadline = raw.deadline_ms.unwrap_or(30_000);
    if deadline == 0 {
        return Err(wrong(origin, key("deadline_ms"), "must be at least 1"));
    }
    let tokens = at_least_one("tokens", raw.tokens, 60_000)?;
    let max_answer_tokens = at_least_one("max_answer_tokens", raw.max_answer_tokens, 1_024)?;
    if max_answer_tokens > tokens {
        let message = format!("is {max_answer_tokens}, more than all that explore.tokens allows ({tokens})");
        return Err(wrong(origin, key("max_answer_tokens"), message));
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
        tool_choice: tool_choice(raw.tool_choice.as_deref())
            .map_err(|error| wrong(origin, key("tool_choice"), error))?,
    })
}

fn mode(written: Option<&str>) -> Result<ExploreMode, UnknownWord> {
    let Some(written) = written else {
        return Ok(ExploreMode::Off);
    };
    let known = ExploreMode::ALL.into_iter().find(|mode| mode.name() == written);
    known.ok_or_else(|| UnknownWord::new(written, "off, background, auto or inline"))
}

fn tool_choice(written: Option<&str>) -> Result<Choice, UnknownWord> {
    match written {
        None | Some("auto") => Ok(Choice::Auto),
        Some("required") => Ok(Choice::Required),
        Some(other) => Err(UnknownWord::new(other, "auto or required")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::load_text;
    use super::*;

    const BACKENDS: &str = "[[backends]]\nname = \"a\"\nurl = \"http://a\"\ndialect = \"chat\"\n\
                            [[backends]]\nname = \"b\"\nurl = \"http://b\"\ndialect = \"chat\"\n";

    fn settled(text: &str) -> Result<ExploreConfig, String> {
        let config = load_text(&format!("{BACKENDS}[explore]\n{text}"));
        config.map(|config| config.explore).map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_off_with_every_bound_set() {
        let explore = load_text("").unwrap().explore;
        assert_eq!((explore.mode, explore.explorer), (ExploreMode::Off, None));
        assert_eq!(explore.deadline, Duration::from_secs(30));
        let (tokens, calls, depth, turns) = (explore.tokens, explore.calls, explore.depth, explore.turns);
        assert_eq!((tokens, calls, depth, turns), (60_000, 64, 2, 6));
        assert_eq!((explore.pack_tokens, explore.max_answer_tokens), (2_400, 1_024));
        assert_eq!(explore.tool_choice, Choice::Auto);
    }

    #[test]
    fn everything_can_be_said() {
        let explore = settled(
            "mode = \"auto\"\nbackend = \"b\"\nmodel = \"m\"\ndeadline_ms = 1\ntokens = 2\ncalls = 3\ndepth = 0\n\
             turns = 4\npack_tokens = 0\nmax_answer_tokens = 2\ntool_choice = \"required\"\n",
        )
        .unwrap();
        let explorer = ChosenModel {
            backend: 1,
            model: "m".to_owned(),
        };
        assert_eq!((explore.mode, explore.explorer), (ExploreMode::Auto, Some(explorer)));
        assert_eq!(explore.deadline, Duration::from_millis(1));
        let (tokens, calls, depth, turns) = (explore.tokens, explore.calls, explore.depth, explore.turns);
        assert_eq!((tokens, calls, depth, turns), (2, 3, 0, 4));
        assert_eq!((explore.pack_tokens, explore.max_answer_tokens), (0, 2));
        assert_eq!(explore.tool_choice, Choice::Required);
    }

    #[test]
    fn a_request_that_asks_for_it_pays_for_it() {
        assert_eq!(settled("mode = \"inline\"").unwrap().explorer, None);
        for mode in ["background", "auto"] {
            let error = settled(&format!("mode = \"{mode}\"")).unwrap_err();
            for words in [
                "explore.mode",
                "no request asked for",
                "explore.backend and explore.model",
            ] {
                assert!(error.contains(words), "{error}");
            }
        }
    }

    #[test]
    fn what_cannot_hold_is_named_with_file_key_and_fix() {
        for (text, words) in [
            (
                "mode = \"on\"",
                "explore.mode: `on` is unknown; write off, background, auto or inline",
            ),
            ("backend = \"a\"", "explore.model: is missing: name the model of `a`"),
            (
                "model = \"m\"",
                "explore.backend: is missing: name the backend that has `m`",
            ),
            ("backend = \"a\"\nmodel = \"\"", "explore.model: is empty"),
            (
                "backend = \"c\"\nmodel = \"m\"",
                "explore.backend: there is no backend `c`; there is: a, b",
            ),
            ("turns = 0", "explore.turns: must be at least 1"),
            ("calls = 0", "explore.calls: must be at least 1"),
            ("tokens = 0", "explore.tokens: must be at least 1"),
            ("deadline_ms = 0", "explore.deadline_ms: must be at least 1"),
            ("tokens = 1000", "explore.max_answer_tokens: is 1024, more than all"),
            (
                "tool_choice = \"none\"",
                "explore.tool_choice: `none` is unknown; write auto or required",
            ),
            ("turn = 3", "Did you mean `turns`?"),
        ] {
            let error = settled(text).unwrap_err();
            assert!(
                error.contains(words) && error.contains("muninn.toml"),
                "{text}: {error}"
            );
        }
        let error = load_text("[explore]\nbackend = \"a\"\nmodel = \"m\"\n").unwrap_err();
        assert!(error.to_string().contains("add it as a [[backends]] entry"), "{error}");
    }
}
