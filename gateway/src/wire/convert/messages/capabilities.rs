//! What a model can be asked for, as far as its name tells, and how it is asked to think.
//!
//! The vendor's API refuses a request over a parameter that the model does not know: a budget for thinking with new
//! models, adaptive thinking with old ones, any sampling with the newest. Nothing but the name says which is which, so
//! names of Claude models are read here. Under any other name the oldest form of thinking is used, which is what other
//! servers of this format have taken over.

use serde::Serialize;

use super::super::request::{Reasoning, ToolChoice};

/// `max_tokens` for a client that names none; the format demands one. Every model that is still served can write so
/// much, and an answer of an agent is seldom longer.
pub(super) const MAX_TOKENS: u64 = 8192;

/// The most that is asked for when thinking comes on top of [`MAX_TOKENS`]: what the weakest of the models that think
/// can write.
const MOST_TOKENS: u64 = 32_000;

/// The smallest budget that the API takes.
const LEAST_BUDGET: u64 = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingMode {
    Never,
    Budget,
    Adaptive,
}

/// What a model can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities {
    mode: ThinkingMode,
    /// Whether it takes `temperature`, `top_p` and `top_k`.
    pub sampling: bool,
    /// Whether it refuses `temperature` and `top_p` together.
    pub one_of_both: bool,
    /// Whether it takes the effort `xhigh`.
    xhigh: bool,
    /// Whether it takes the schemas that other vendors call strict.
    pub strict: bool,
}

impl Capabilities {
    pub(super) fn of(model: &str) -> Capabilities {
        let Some((_, rest)) = model.rsplit_once("claude") else {
            return Capabilities {
                mode: ThinkingMode::Budget,
                sampling: true,
                one_of_both: false,
                xhigh: false,
                strict: true,
            };
        };
        let newest = (u32::MAX, 0);
        let version = version(rest).unwrap_or(newest);
        let mode = match version {
            (..3, _) | (3, ..7) => ThinkingMode::Never,
            (3, _) | (4, ..6) => ThinkingMode::Budget,
            _ => ThinkingMode::Adaptive,
        };
        Capabilities {
            mode,
            sampling: version < (4, 7),
            one_of_both: true,
            xhigh: version >= (4, 7),
            strict: false,
        }
    }
}

/// The version in `-opus-4-1-20250805`, `-3-7-sonnet`, `-sonnet-4.5`: the first number and the one right after it.
/// Dates are longer than two digits.
fn version(name: &str) -> Option<(u32, u32)> {
    let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
    let words: Vec<_> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
    let at = words.iter().position(|word| number(word).is_some())?;
    let minor = words.get(at + 1).and_then(|word| number(word)).unwrap_or(0);
    Some((number(words[at])?, minor))
}

/// `thinking`.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Enabled { budget_tokens: u64 },
    // New models keep their thinking to themselves unless they are asked for a summary.
    Adaptive { display: &'static str },
    Disabled,
}

/// How the model is asked to think.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThinkingPlan {
    pub thinking: Option<Thinking>,
    /// `output_config.effort`.
    pub effort: Option<&'static str>,
    /// `max_tokens` where it is not the client's.
    pub max_tokens: Option<u64>,
}

/// What the conversation leaves room for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ConversationEnd {
    /// It ends in the model's own words, which it is to continue.
    pub prefilled: bool,
    /// It ends in results of calls before which the model's thinking is not shown.
    pub thoughtless_loop: bool,
}

impl ThinkingPlan {
    /// `max_tokens` is the client's, where it names one.
    pub(super) fn new(
        capabilities: Capabilities,
        reasoning: &Reasoning<'_>,
        choice: Option<&ToolChoice<'_>>,
        max_tokens: Option<u64>,
        conversation_end: ConversationEnd,
    ) -> ThinkingPlan {
        let effort = reasoning.effort.as_deref();
        let off = reasoning.enabled == Some(false) || effort == Some("none");
        let asked = effort.is_some() || reasoning.budget.is_some() || reasoning.enabled == Some(true);
        let forced = matches!(choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
        let possible = !off && asked && !forced && !conversation_end.prefilled;
        let mut plan = ThinkingPlan {
            max_tokens: max_tokens.is_none().then_some(MAX_TOKENS),
            ..ThinkingPlan::default()
        };
        match capabilities.mode {
            ThinkingMode::Never => {}
            // Some of the models refuse to be switched off; the least effort is as near as one can get with all.
            ThinkingMode::Adaptive if off => plan.effort = Some("low"),
            ThinkingMode::Budget if off => plan.thinking = Some(Thinking::Disabled),
            ThinkingMode::Adaptive => {
                plan.effort = level(effort, reasoning.budget, capabilities.xhigh);
                if possible {
                    plan.thinking = Some(Thinking::Adaptive { display: "summarized" });
                    let room = MAX_TOKENS + budget(plan.effort);
                    plan.max_tokens = plan.max_tokens.map(|_| room.min(MOST_TOKENS));
                }
            }
            ThinkingMode::Budget if possible && !conversation_end.thoughtless_loop => {
                let wanted = reasoning.budget.unwrap_or_else(|| budget(effort)).max(LEAST_BUDGET);
                // A client that names both knows what it leaves for the answer; else that is half of its limit.
                let most = match (max_tokens, reasoning.budget) {
                    (Some(limit), Some(_)) => limit.saturating_sub(1),
                    (Some(limit), None) => limit / 2,
                    (None, _) => MOST_TOKENS - MAX_TOKENS,
                };
                if most >= LEAST_BUDGET {
                    let budget_tokens = wanted.min(most);
                    plan.thinking = Some(Thinking::Enabled { budget_tokens });
                    plan.max_tokens = plan.max_tokens.map(|tokens| tokens + budget_tokens);
                }
            }
            ThinkingMode::Budget => {}
        }
        plan
    }
}

/// What the efforts are worth in tokens. Beyond 32k the vendor sees little gain.
fn budget(effort: Option<&str>) -> u64 {
    match effort {
        Some("minimal") => LEAST_BUDGET,
        Some("low") => 4096,
        Some("high" | "xhigh" | "max") => 32_768,
        _ => 16_384,
    }
}

/// The effort by the name that the API has for it.
fn level(effort: Option<&str>, budget: Option<u64>, xhigh: bool) -> Option<&'static str> {
    match (effort, budget) {
        (Some("minimal" | "low"), _) | (None, Some(..=4096)) => Some("low"),
        (Some("medium"), _) | (None, Some(..=16_384)) => Some("medium"),
        (Some("xhigh"), _) if xhigh => Some("xhigh"),
        (Some("high" | "xhigh"), _) | (None, Some(_)) => Some("high"),
        (Some("max"), _) => Some("max"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_how_its_model_thinks() {
        for (model, mode, sampling) in [
            ("claude-3-5-sonnet-20241022", ThinkingMode::Never, true),
            ("claude-3-opus-20240229", ThinkingMode::Never, true),
            ("claude-2.1", ThinkingMode::Never, true),
            ("claude-3-7-sonnet-latest", ThinkingMode::Budget, true),
            ("claude-sonnet-4-20250514", ThinkingMode::Budget, true),
            ("anthropic.claude-opus-4-5-20251101-v1:0", ThinkingMode::Budget, true),
            ("anthropic/claude-haiku-4.5", ThinkingMode::Budget, true),
            ("claude-opus-4@20250514", ThinkingMode::Budget, true),
            ("claude-sonnet-4-6", ThinkingMode::Adaptive, true),
            ("claude-opus-4-7", ThinkingMode::Adaptive, false),
            ("claude-opus-5-1", ThinkingMode::Adaptive, false),
            ("claude-mythos-preview", ThinkingMode::Adaptive, false),
            ("qwen3-coder", ThinkingMode::Budget, true),
        ] {
            let capabilities = Capabilities::of(model);
            assert_eq!((capabilities.mode, capabilities.sampling), (mode, sampling), "{model}");
        }
    }

    fn plan(model: &str, reasoning: &Reasoning<'_>, max_tokens: Option<u64>) -> ThinkingPlan {
        ThinkingPlan::new(
            Capabilities::of(model),
            reasoning,
            None,
            max_tokens,
            ConversationEnd::default(),
        )
    }

    fn effort(effort: &str) -> Reasoning<'_> {
        Reasoning {
            effort: Some(effort.into()),
            ..Reasoning::default()
        }
    }

    #[test]
    fn an_effort_is_a_budget_that_fits() {
        for (name, limit, budget, max_tokens) in [
            ("minimal", None, Some(1024), Some(9216)),
            ("low", None, Some(4096), Some(12_288)),
            ("high", None, Some(23_808), Some(32_000)),
            ("high", Some(10_000), Some(5000), None),
            ("medium", Some(64_000), Some(16_384), None),
            ("medium", Some(2000), None, None),
        ] {
            let plan = plan("claude-sonnet-4-5", &effort(name), limit);
            assert_eq!(
                plan.thinking,
                budget.map(|budget_tokens| Thinking::Enabled { budget_tokens })
            );
            assert_eq!((plan.max_tokens, plan.effort), (max_tokens, None), "{name} {limit:?}");
        }
    }

    #[test]
    fn a_budget_is_the_clients_as_far_as_it_fits() {
        for (wanted, limit, budget) in [(10_000, 16_000, 10_000), (16_000, 16_000, 15_999), (1, 9000, 1024)] {
            let reasoning = Reasoning {
                budget: Some(wanted),
                ..Reasoning::default()
            };
            let plan = plan("claude-sonnet-4-5", &reasoning, Some(limit));
            let budget_tokens = budget;
            assert_eq!(plan.thinking, Some(Thinking::Enabled { budget_tokens }), "{wanted}");
        }
    }

    #[test]
    fn new_models_think_as_they_like_within_an_effort() {
        for (name, model, level) in [
            ("minimal", "claude-opus-5", "low"),
            ("high", "claude-opus-5", "high"),
            ("xhigh", "claude-opus-4-6", "high"),
            ("xhigh", "claude-opus-5", "xhigh"),
        ] {
            let plan = plan(model, &effort(name), Some(500));
            assert_eq!(plan.effort, Some(level), "{name} {model}");
            assert!(matches!(plan.thinking, Some(Thinking::Adaptive { .. })));
        }
    }

    #[test]
    fn thinking_is_left_out_where_it_would_be_refused() {
        let forced = Some(&ToolChoice::Required);
        let prefilled = ConversationEnd {
            prefilled: true,
            ..ConversationEnd::default()
        };
        let in_loop = ConversationEnd {
            thoughtless_loop: true,
            ..ConversationEnd::default()
        };
        let none = ConversationEnd::default();
        for (model, choice, conversation_end) in [
            ("claude-sonnet-4-5", forced, none),
            ("claude-opus-5", forced, none),
            ("claude-sonnet-4-5", None, prefilled),
            ("claude-sonnet-4-5", None, in_loop),
        ] {
            let plan = ThinkingPlan::new(Capabilities::of(model), &effort("high"), choice, None, conversation_end);
            assert_eq!(plan.thinking, None, "{model} {choice:?} {conversation_end:?}");
        }
        assert_eq!(plan("claude-3-5-haiku", &effort("high"), None).thinking, None);
        assert_eq!(
            plan("claude-sonnet-4-5", &effort("none"), None).thinking,
            Some(Thinking::Disabled)
        );
        assert_eq!(plan("claude-opus-5", &effort("none"), None).effort, Some("low"));
        assert_eq!(plan("claude-opus-5", &Reasoning::default(), None).thinking, None);
    }
}
