//! A request for a backend.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::ToolNames;
use super::super::request::{Dropped, OutputShape, Reasoning, Request, Tool, ToolChoice};
use super::write_content::{self, Content, Message};

/// The longest name of a tool that this format allows, in bytes.
pub(super) const LONGEST_NAME: usize = 128;

/// The longest `metadata.user_id`.
const LONGEST_USER: usize = 256;

/// The tokens of an answer where the client names no bound, which this format requires. All models and most local
/// servers can write so many; thinking comes on top.
const MAX_TOKENS: u64 = 8192;

/// The most that we ask for where the client names no bound, thinking included: what every model that thinks can write.
const MAX_TOKENS_WITH_THINKING: u64 = 32_000;

/// The smallest budget for thinking that the format allows.
const SMALLEST_BUDGET: u64 = 1024;

#[derive(Serialize)]
struct Body<'r> {
    model: &'r str,
    max_tokens: Number<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<Content<'r>>,
    messages: Vec<Message<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Declared<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Number<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'r>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

/// A number that the client wrote, or one of ours.
#[derive(Serialize)]
#[serde(untagged)]
enum Number<'r> {
    Theirs(&'r RawValue),
    Ours(u64),
}

#[derive(Serialize)]
struct Declared<'r> {
    name: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'r str>,
    input_schema: Schema<'r>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<&'r RawValue>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Schema<'r> {
    Theirs(&'r RawValue),
    /// Of a tool without arguments, which must have one too.
    Empty {
        r#type: &'static str,
        properties: Nothing,
    },
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Choice<'r> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_parallel_tool_use: bool,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    budget_tokens: u64,
}

#[derive(Serialize)]
struct OutputConfig<'r> {
    format: Format<'r>,
}

#[derive(Serialize)]
struct Format<'r> {
    r#type: &'static str,
    schema: &'r RawValue,
}

#[derive(Serialize)]
struct Metadata<'r> {
    user_id: &'r str,
}

/// Writes a request; what the format cannot hold is named in `dropped`.
#[must_use]
pub(in super::super) fn write_request(request: &Request<'_>, dropped: &mut Dropped, names: &mut ToolNames) -> String {
    let (system, messages) = write_content::conversation(&request.messages, dropped, names);
    let tools: Vec<_> = request.tools.iter().map(|tool| declared(tool, names)).collect();
    let tool_choice = chosen(request, names);
    let thinking = thinking(request, &messages, dropped);
    let sampling = &request.sampling;
    let max_tokens = match (sampling.max_tokens, &thinking) {
        (Some(max_tokens), _) => Number::Theirs(max_tokens),
        (None, Some(thinking)) => Number::Ours(MAX_TOKENS + thinking.budget_tokens),
        (None, None) => Number::Ours(MAX_TOKENS),
    };
    let (temperature, top_p, top_k) = sampled(request, thinking.is_some(), dropped);
    drop_foreign(request, dropped);
    let body = Body {
        model: &request.model,
        max_tokens,
        system,
        messages,
        tools,
        tool_choice,
        thinking,
        temperature,
        top_p,
        top_k,
        stop_sequences: stop_sequences(&sampling.stop, dropped),
        output_config: output_config(request.output.as_ref(), dropped),
        metadata: user(request.user.as_deref(), dropped).map(|user_id| Metadata { user_id }),
        stream: request.stream,
    };
    // Nothing in it can fail: its keys are strings, and its raw values were read as JSON.
    serde_json::to_string(&body).unwrap_or_default()
}

fn declared<'r>(tool: &'r Tool<'_>, names: &mut ToolNames) -> Declared<'r> {
    Declared {
        name: names.sent(&tool.name, LONGEST_NAME),
        description: tool.description.as_deref(),
        input_schema: match &tool.schema {
            Some(schema) => Schema::Theirs(schema),
            None => Schema::Empty {
                r#type: "object",
                properties: Nothing {},
            },
        },
        strict: tool.strict == Some(true),
        cache_control: tool.cache_control,
    }
}

fn chosen<'r>(request: &'r Request<'_>, names: &mut ToolNames) -> Option<Choice<'r>> {
    if request.tools.is_empty() {
        return None;
    }
    let one_at_a_time = request.parallel_tool_calls == Some(false);
    let (r#type, name) = match &request.tool_choice {
        Some(ToolChoice::Auto) => ("auto", None),
        Some(ToolChoice::None) => ("none", None),
        Some(ToolChoice::Required) => ("any", None),
        Some(ToolChoice::Tool(name)) => ("tool", Some(names.sent(name, LONGEST_NAME))),
        None if one_at_a_time => ("auto", None),
        None => return None,
    };
    Some(Choice {
        r#type,
        name,
        disable_parallel_tool_use: one_at_a_time && r#type != "none",
    })
}

/// Thinking, as a budget: older models and local servers know no other way to ask for it.
///
/// It is left out by name where the format refuses it: with a forced call, with too few tokens, and where the
/// conversation goes on after something that was said without thinking.
fn thinking(request: &Request<'_>, messages: &[Message<'_>], dropped: &mut Dropped) -> Option<Thinking> {
    let (budget, is_theirs) = budget(&request.reasoning)?;
    let bound = request
        .sampling
        .max_tokens
        .map(|raw| raw.get().parse::<u64>().unwrap_or(0));
    let budget_tokens = match bound {
        Some(bound) if is_theirs => budget.min(bound.saturating_sub(1)),
        // A budget that the client did not name leaves half of its tokens for the answer.
        Some(bound) => budget.min(bound / 2),
        None => budget.min(MAX_TOKENS_WITH_THINKING - MAX_TOKENS),
    };
    let is_forced =
        !request.tools.is_empty() && matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
    if is_forced || budget_tokens < SMALLEST_BUDGET || !write_content::may_think(messages) {
        dropped.add("reasoning");
        return None;
    }
    Some(Thinking {
        r#type: "enabled",
        budget_tokens,
    })
}

/// The budget that is asked for, and whether it is the client's own number.
fn budget(reasoning: &Reasoning<'_>) -> Option<(u64, bool)> {
    if reasoning.enabled == Some(false) {
        return None;
    }
    if let Some(budget) = reasoning.budget {
        return Some((budget, true));
    }
    let budget = match reasoning.effort.as_deref() {
        Some("none") => return None,
        Some("minimal") => 1024,
        Some("low") => 4096,
        Some("medium") => 16384,
        Some("high" | "xhigh" | "max") => 32768,
        Some(_) => 4096,
        None if reasoning.enabled == Some(true) => 4096,
        None => return None,
    };
    Some((budget, false))
}

/// `temperature`, `top_p` and `top_k` as they may stand together.
fn sampled<'r>(
    request: &Request<'r>,
    thinks: bool,
    dropped: &mut Dropped,
) -> (Option<Number<'r>>, Option<&'r RawValue>, Option<&'r RawValue>) {
    let sampling = &request.sampling;
    let value = |raw: &RawValue| raw.get().parse::<f64>().unwrap_or(1.0);
    if thinks {
        let top_p = sampling.top_p.filter(|top_p| value(top_p) >= 0.95);
        for (name, is_left_out) in [
            ("temperature", sampling.temperature.is_some_and(|raw| value(raw) != 1.0)),
            ("top_p", sampling.top_p.is_some() && top_p.is_none()),
            ("top_k", sampling.top_k.is_some()),
        ] {
            if is_left_out {
                dropped.add(name);
            }
        }
        return (None, top_p, None);
    }
    let temperature = sampling.temperature.map(|raw| {
        // Other formats go up to 2.
        if value(raw) > 1.0 {
            Number::Ours(1)
        } else {
            Number::Theirs(raw)
        }
    });
    // Newer models refuse a request that has both, older ones advise against it.
    let top_p = sampling.top_p.filter(|_| temperature.is_none());
    if top_p.is_none() && sampling.top_p.is_some_and(|raw| value(raw) < 1.0) {
        dropped.add("top_p");
    }
    (temperature, top_p, sampling.top_k)
}

fn stop_sequences<'r>(stop: &'r [Cow<'_, str>], dropped: &mut Dropped) -> Vec<&'r str> {
    let (kept, blank): (Vec<&str>, Vec<&str>) = stop
        .iter()
        .map(|stop| &**stop)
        .partition(|stop| !stop.trim().is_empty());
    // Sequences of white space alone are refused.
    blank.iter().for_each(|_| dropped.add("stop"));
    kept
}

fn output_config<'r>(output: Option<&OutputShape<'r>>, dropped: &mut Dropped) -> Option<OutputConfig<'r>> {
    match output? {
        OutputShape::Json => {
            dropped.add("response_format.json_object");
            None
        }
        OutputShape::Schema { schema, .. } => Some(OutputConfig {
            format: Format {
                r#type: "json_schema",
                schema,
            },
        }),
    }
}

fn user<'r>(user: Option<&'r str>, dropped: &mut Dropped) -> Option<&'r str> {
    let user = user?;
    if user.chars().count() > LONGEST_USER {
        dropped.add("user");
        return None;
    }
    Some(user)
}

/// Names what this format has no place for.
fn drop_foreign(request: &Request<'_>, dropped: &mut Dropped) {
    let sampling = &request.sampling;
    let penalty = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get().parse() != Ok(0.0));
    for (name, is_there) in [
        ("seed", sampling.seed.is_some()),
        ("presence_penalty", penalty(sampling.presence_penalty)),
        ("frequency_penalty", penalty(sampling.frequency_penalty)),
        ("verbosity", request.verbosity.is_some()),
        ("prompt_cache_key", request.cache_key.is_some()),
        ("metadata", request.metadata.is_some()),
    ] {
        if is_there {
            dropped.add(name);
        }
    }
}
