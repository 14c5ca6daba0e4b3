//! Writer of requests.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::chat::Capabilities;
use super::super::request::{Dropped, JsonStr, OutputShape, Part, Request, Tool, ToolChoice};
use super::super::{NameRule, ToolNames, effort, empty_schema};
use super::write_items::{Item, items};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<JsonStr<'a>>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    safety_identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
struct Function<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: &'a RawValue,
    // The default is `true`, with which the backend rewrites the schema.
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Mode(&'static str),
    Tool { r#type: &'static str, name: Cow<'a, str> },
}

#[derive(Serialize)]
struct Effort {
    effort: &'static str,
}

#[derive(Serialize)]
struct TextShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonObject,
    JsonSchema {
        name: &'a str,
        schema: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
}

/// Writes a request. Fields that the format cannot express are counted in `dropped`.
pub(in super::super) fn write_request(request: &Request<'_>, dropped: &mut Dropped, names: &mut ToolNames) -> String {
    // A request needs an input, so a conversation of only system text has no instructions.
    let (first, rest) = match request.split_system() {
        (all, []) => (&[][..], all),
        split => split,
    };
    let reasoning = effort(request, dropped);
    let thinks = reasoning.as_ref().is_some_and(|reasoning| reasoning.effort != "none");
    drop_sampling(request, dropped);
    let body = Body {
        model: &request.model,
        instructions: instructions(first.iter().flat_map(|message| &message.parts), dropped),
        input: items(rest, dropped, names),
        tools: request.tools.iter().map(|tool| function(tool, names)).collect(),
        tool_choice: request.tool_choice.as_ref().map(|choice| tool_choice(choice, names)),
        parallel_tool_calls: request.parallel_tool_calls,
        reasoning,
        text: text_shape(request),
        max_output_tokens: request.sampling.max_tokens,
        temperature: request.sampling.temperature,
        top_p: request.sampling.top_p,
        prompt_cache_key: request.cache_key.as_deref(),
        safety_identifier: request.user.as_deref(),
        metadata: request.metadata,
        include: if thinks { vec!["reasoning.encrypted_content"] } else { Vec::new() },
        store: false,
        stream: request.stream,
    };
    super::super::to_json(&body, request.bytes)
}

fn instructions<'a>(parts: impl Iterator<Item = &'a Part<'a>>, dropped: &mut Dropped) -> Option<JsonStr<'a>> {
    let mut texts: Vec<JsonStr<'a>> = Vec::new();
    for part in parts {
        match part {
            Part::Text { text, .. } if text.is_empty() => {}
            Part::Text { text, .. } => texts.push(text.borrowed()),
            _ => dropped.add("instructions"),
        }
    }
    (!texts.is_empty()).then(|| JsonStr::joined(texts))
}

fn function<'a>(tool: &'a Tool<'_>, names: &mut ToolNames) -> Function<'a> {
    Function {
        r#type: "function",
        name: names.backend_name(&tool.name, NameRule::OPENAI),
        description: tool.description.as_deref(),
        parameters: tool.schema.as_deref().unwrap_or_else(empty_schema),
        strict: tool.strict.unwrap_or(false),
    }
}

fn tool_choice<'a>(choice: &'a ToolChoice<'_>, names: &mut ToolNames) -> Choice<'a> {
    match choice {
        ToolChoice::Auto => Choice::Mode("auto"),
        ToolChoice::None => Choice::Mode("none"),
        ToolChoice::Required => Choice::Mode("required"),
        ToolChoice::Tool(name) => Choice::Tool { r#type: "function", name: names.backend_name(name, NameRule::OPENAI) },
    }
}

/// Returns the effort that is nearest to the wanted one of those that the model takes. Thinking that is switched off is
/// dropped, because models that always think refuse `none` and `minimal`.
fn effort(request: &Request<'_>, dropped: &mut Dropped) -> Option<Effort> {
    let reasoning = &request.reasoning;
    if reasoning.effort.is_none() && reasoning.enabled == Some(false) {
        dropped.add("thinking.disabled");
        return None;
    }
    let by_default = reasoning.enabled.map(|_| "medium");
    let wanted = effort::wanted(reasoning).or(by_default)?;
    Some(Effort { effort: effort::fit(wanted, Capabilities::of(&request.model).efforts, dropped)? })
}

fn text_shape<'a>(request: &'a Request<'_>) -> Option<TextShape<'a>> {
    let format = request.output.as_ref().map(|shape| match shape {
        OutputShape::Json => Format::JsonObject,
        OutputShape::Schema { name, schema, strict } => {
            Format::JsonSchema { name: name.as_deref().unwrap_or("answer"), schema, strict: *strict }
        }
    });
    let verbosity = request.verbosity.as_deref();
    (format.is_some() || verbosity.is_some()).then_some(TextShape { format, verbosity })
}

fn drop_sampling(request: &Request<'_>, dropped: &mut Dropped) {
    let sampling = &request.sampling;
    let unknown = [
        ("top_k", sampling.top_k),
        ("seed", sampling.seed),
        ("presence_penalty", sampling.presence_penalty),
        ("frequency_penalty", sampling.frequency_penalty),
    ];
    for (name, value) in unknown {
        if value.is_some() {
            dropped.add(name);
        }
    }
}
