//! Capabilities of a model, derived from its name, and the plan for its thinking.
//!
//! The vendor's API refuses a request with a parameter that the model does not support: a thinking budget for new
//! models, adaptive thinking for old ones, sampling for the newest. Only the name identifies the model, so names of
//! Claude models are parsed. All other names get a thinking budget, the oldest form, because other servers of this
//! format support it.

use serde::Serialize;

use super::super::effort;
use super::super::request::{Reasoning, ToolChoice};

/// The default of `max_tokens`, which the format requires. Every model that is still served supports this length, and
/// agents' answers are rarely longer.
pub(super) const MAX_TOKENS: u64 = 8192;

/// The largest `max_tokens` that is set for thinking and answer together: the limit of the weakest model that thinks.
const MOST_TOKENS: u64 = 32_000;

/// The smallest budget that the API accepts, in tokens.
const LEAST_BUDGET: u64 = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingMode {
    Never,
    Budget,
    Adaptive,
}

/// The parameters that a model supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities {
    mode: ThinkingMode,
    /// Whether the model accepts `temperature`, `top_p` and `top_k`.
    pub sampling: bool,
    /// Whether the model refuses `temperature` and `top_p` together.
    pub top_p_excludes_temperature: bool,
    /// The values of `output_config.effort` that the model accepts, from the least to the most.
    efforts: &'static [&'static str],
    /// Whether the model accepts a conversation that ends with its own turn, and continues that turn.
    pub prefill: bool,
    /// Whether the model accepts schemas that are strict for other vendors.
    pub strict: bool,
}

impl Capabilities {
    pub(super) fn of(model: &str) -> Capabilities {
        let Some((_, rest)) = model.rsplit_once("claude") else {
            return Capabilities {
                mode: ThinkingMode::Budget,
                sampling: true,
                top_p_excludes_temperature: false,
                efforts: &[],
                prefill: true,
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
            top_p_excludes_temperature: true,
            efforts: match mode {
                ThinkingMode::Never | ThinkingMode::Budget => &[],
                ThinkingMode::Adaptive if version < (4, 7) => &["low", "medium", "high", "max"],
                ThinkingMode::Adaptive => &["low", "medium", "high", "xhigh", "max"],
            },
            // "This model does not support assistant message prefill."
            prefill: version < (4, 6),
            strict: false,
        }
    }
}

/// Returns the version in names like `-opus-4-1-20250805`, `-3-7-sonnet` or `-sonnet-4.5`: the first number and the one
/// directly after it. Numbers with more than two digits are dates.
fn version(name: &str) -> Option<(u32, u32)> {
    let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
    let words: Vec<_> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
    let at = words.iter().position(|word| number(word).is_some())?;
    let minor = words.get(at + 1).and_then(|word| number(word)).unwrap_or(0);
    Some((number(words[at])?, minor))
}

/// The member `thinking` of a request.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Enabled { budget_tokens: u64 },
    // New models send no thinking unless the request asks for a summary.
    Adaptive { display: &'static str },
    Disabled,
}

/// The settings for thinking in a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThinkingPlan {
    pub thinking: Option<Thinking>,
    /// `output_config.effort`.
    pub effort: Option<&'static str>,
    /// `max_tokens`. `None` keeps the client's value.
    pub max_tokens: Option<u64>,
}

/// The end of a conversation, which may forbid thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ConversationEnd {
    /// Whether the last turn is the model's, which the model must continue.
    pub prefilled: bool,
    /// Whether the last turn has results of calls, and the model's turn before it does not start with thinking.
    pub results_without_thinking: bool,
}

impl ThinkingPlan {
    /// Plans the thinking. `max_tokens` is the client's value, if any.
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
        let mut plan =
            ThinkingPlan { max_tokens: max_tokens.is_none().then_some(MAX_TOKENS), ..ThinkingPlan::default() };
        match capabilities.mode {
            ThinkingMode::Never => {}
            // Some of these models refuse to switch thinking off. All accept the lowest effort.
            ThinkingMode::Adaptive if off => plan.effort = Some("low"),
            ThinkingMode::Budget if off => plan.thinking = Some(Thinking::Disabled),
            ThinkingMode::Adaptive => {
                plan.effort =
                    effort::wanted(reasoning).and_then(|wanted| effort::nearest(wanted, capabilities.efforts));
                if possible {
                    plan.thinking = Some(Thinking::Adaptive { display: "summarized" });
                    let room = MAX_TOKENS + budget(plan.effort);
                    plan.max_tokens = plan.max_tokens.map(|_| room.min(MOST_TOKENS));
                }
            }
            ThinkingMode::Budget if possible && !conversation_end.results_without_thinking => {
                let wanted = reasoning.budget.unwrap_or_else(|| budget(effort)).max(LEAST_BUDGET);
                // A client that sets both values leaves room for the answer. Else half of its limit is kept for the
                // answer.
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

    /// Whether the plan has the effort that the client named. The most budget of a model is the effort `high`.
    pub(super) fn has_effort(&self, effort: &str) -> bool {
        match (&self.thinking, self.effort) {
            (_, Some(planned)) => planned == effort,
            (Some(Thinking::Enabled { .. }), None) => matches!(effort, "minimal" | "low" | "medium" | "high"),
            (Some(Thinking::Disabled) | None, None) => effort == "none",
            (Some(Thinking::Adaptive { .. }), None) => false,
        }
    }
}

/// Returns the budget of an effort, in tokens. The vendor reports little gain beyond 32k.
fn budget(effort: Option<&str>) -> u64 {
    match effort {
        Some("minimal") => LEAST_BUDGET,
        Some("low") => 4096,
        Some("high" | "xhigh" | "max") => 32_768,
        _ => 16_384,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_mode_and_sampling_are_derived_from_the_name() {
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
        ThinkingPlan::new(Capabilities::of(model), reasoning, None, max_tokens, ConversationEnd::default())
    }

    fn effort(effort: &str) -> Reasoning<'_> {
        Reasoning { effort: Some(effort.into()), ..Reasoning::default() }
    }

    #[test]
    fn effort_becomes_a_budget_within_the_limit() {
        for (name, limit, budget, max_tokens) in [
            ("minimal", None, Some(1024), Some(9216)),
            ("low", None, Some(4096), Some(12_288)),
            ("high", None, Some(23_808), Some(32_000)),
            ("high", Some(10_000), Some(5000), None),
            ("medium", Some(64_000), Some(16_384), None),
            ("medium", Some(2000), None, None),
        ] {
            let plan = plan("claude-sonnet-4-5", &effort(name), limit);
            assert_eq!(plan.thinking, budget.map(|budget_tokens| Thinking::Enabled { budget_tokens }));
            assert_eq!((plan.max_tokens, plan.effort), (max_tokens, None), "{name} {limit:?}");
        }
    }

    #[test]
    fn clients_budget_is_clamped_to_the_limits() {
        for (wanted, limit, budget) in [(10_000, 16_000, 10_000), (16_000, 16_000, 15_999), (1, 9000, 1024)] {
            let reasoning = Reasoning { budget: Some(wanted), ..Reasoning::default() };
            let plan = plan("claude-sonnet-4-5", &reasoning, Some(limit));
            let budget_tokens = budget;
            assert_eq!(plan.thinking, Some(Thinking::Enabled { budget_tokens }), "{wanted}");
        }
    }

    #[test]
    fn new_models_get_adaptive_thinking_with_an_effort() {
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
    fn thinking_is_omitted_if_the_api_would_refuse_it() {
        let forced = Some(&ToolChoice::Required);
        let prefilled = ConversationEnd { prefilled: true, ..ConversationEnd::default() };
        let after_results = ConversationEnd { results_without_thinking: true, ..ConversationEnd::default() };
        let none = ConversationEnd::default();
        for (model, choice, conversation_end) in [
            ("claude-sonnet-4-5", forced, none),
            ("claude-opus-5", forced, none),
            ("claude-sonnet-4-5", None, prefilled),
            ("claude-sonnet-4-5", None, after_results),
        ] {
            let plan = ThinkingPlan::new(Capabilities::of(model), &effort("high"), choice, None, conversation_end);
            assert_eq!(plan.thinking, None, "{model} {choice:?} {conversation_end:?}");
        }
        assert_eq!(plan("claude-3-5-haiku", &effort("high"), None).thinking, None);
        assert_eq!(plan("claude-sonnet-4-5", &effort("none"), None).thinking, Some(Thinking::Disabled));
        assert_eq!(plan("claude-opus-5", &effort("none"), None).effort, Some("low"));
        assert_eq!(plan("claude-opus-5", &Reasoning::default(), None).thinking, None);
    }
}
