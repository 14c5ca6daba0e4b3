//! The table of limits, a row for each format, and its application to a request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::super::request::{Dropped, OutputShape, Request, Sampling, ToolChoice};
use super::super::{NameRule, chat};
use super::{call_ids, media, schema, stops};
use crate::WireFormat;

/// The limits of a format. `usize::MAX` and empty lists are no limit: nobody has seen one. Sources: the vendors' OpenAPI
/// files (github.com/openai/openai-openapi, 2026-08; Anthropic's of 2026-07) and errors of their servers that people reported.
struct Limits {
    call_id: call_ids::Rule,
    /// The number of tools. OpenAI: "Expected an array with maximum length 128". Anthropic: none known.
    tools: usize,
    /// The rules for the schema of a tool's arguments.
    schema: schema::Rules,
    /// The stop sequences. OpenAI's chat: `StopConfiguration`, 1 to 4. Responses has none, Anthropic no limit, but no blank one.
    stops: stops::Rule,
    /// The least number of tokens to answer with. Responses: "Expected a value >= 16". The others: 1, because 0 of Anthropic
    /// answers nothing and is refused in a stream.
    fewest_tokens: u64,
    /// The highest temperature. OpenAI 2, Anthropic 1.
    temperature: f64,
    /// The longest name of the end user, in characters. OpenAI: `safety_identifier` and `user` 64. Anthropic: `user_id` 512 since
    /// 2026, 256 before, which other servers of the format still have.
    user: usize,
    /// Whether documents in base64 must be PDF. OpenAI's chat: "a base64-encoded data URL with an application/pdf MIME type";
    /// Anthropic: the media type of a base64 document is `application/pdf`. Responses accepts office files and text.
    only_pdf: bool,
}

const CHAT: Limits = Limits {
    call_id: call_ids::Rule::CHAT,
    tools: 128,
    schema: schema::Rules::OPENAI,
    stops: stops::Rule { most: 4, blank: true },
    fewest_tokens: 1,
    temperature: 2.0,
    user: 64,
    only_pdf: true,
};

const NO_STOPS: stops::Rule = stops::Rule { most: 0, blank: true };

const RESPONSES: Limits =
    Limits { call_id: call_ids::Rule::RESPONSES, stops: NO_STOPS, fewest_tokens: 16, only_pdf: false, ..CHAT };

const MESSAGES: Limits = Limits {
    call_id: call_ids::Rule::MESSAGES,
    tools: usize::MAX,
    schema: schema::Rules::ANTHROPIC,
    stops: stops::Rule { most: usize::MAX, blank: false },
    fewest_tokens: 1,
    temperature: 1.0,
    user: 256,
    only_pdf: true,
};

/// The longest `prompt_cache_key` of OpenAI, in characters.
const CACHE_KEY: usize = 64;

/// The number of labels, and the longest name and value of one, in characters. OpenAI: `Metadata`.
const LABELS: (usize, usize, usize) = (16, 64, 512);

/// The rule for the name of an answer's schema. OpenAI: "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'", at most
/// 64 characters.
const SCHEMA_NAME: NameRule = NameRule::OPENAI;

/// Changes what the vendors of a format would refuse.
pub(in super::super) fn fit(to: WireFormat, request: &mut Request<'_>, dropped: &mut Dropped) {
    let limits = match to {
        WireFormat::Chat => CHAT,
        WireFormat::Messages => MESSAGES,
        WireFormat::Responses => RESPONSES,
    };
    request.repair_arguments();
    call_ids::fit(&mut request.messages, limits.call_id, dropped);
    media::fit(&mut request.messages, limits.only_pdf, dropped);
    tools(request, &limits, dropped);
    numbers(&mut request.sampling, &limits, dropped);
    let takes_none = to == WireFormat::Chat && chat::Capabilities::of(&request.model).reasons;
    stops::fit(&mut request.sampling, if takes_none { NO_STOPS } else { limits.stops }, dropped);
    if let Some(OutputShape::Schema { name: Some(name), .. }) = &mut request.output
        && let Cow::Owned(fitting) = SCHEMA_NAME.fitting(name)
    {
        dropped.add("response_format.name");
        *name = Cow::Owned(fitting);
    }
    let is_long = |label: &Cow<'_, str>, longest: usize| label.chars().count() > longest;
    if request.user.take_if(|user| is_long(user, limits.user)).is_some() {
        dropped.add("user");
    }
    // A hash is as stable as the key.
    if let Some(key) = request.cache_key.as_mut().filter(|key| is_long(key, CACHE_KEY)) {
        *key = Cow::Owned(blake3::hash(key.as_bytes()).to_hex().to_string());
        dropped.add("prompt_cache_key");
    }
    labels(&mut request.metadata, dropped);
}

/// Fits the tools: each name once, no more than the limit, and their schemas. The tool that the model must call stays.
fn tools(request: &mut Request<'_>, limits: &Limits, dropped: &mut Dropped) {
    let all = request.tools.len();
    let mut names = BTreeSet::new();
    request.tools.retain(|tool| names.insert(tool.name.clone().into_owned()));
    dropped.add_all("tools.duplicate", all - request.tools.len());
    if let Some(ToolChoice::Tool(chosen)) = &request.tool_choice
        && let Some(at) = request.tools.iter().position(|tool| tool.name == *chosen).filter(|at| *at >= limits.tools)
    {
        request.tools.swap(limits.tools - 1, at);
    }
    dropped.add_all("tools", request.tools.len().saturating_sub(limits.tools));
    request.tools.truncate(limits.tools);
    for tool in &mut request.tools {
        let before = tool.schema.take();
        let (schema, changed) = schema::fit(before, limits.schema);
        tool.schema = schema;
        for name in &changed {
            dropped.add(format!("tools.schema.{name}"));
        }
        // A schema that was changed is no longer one that a vendor can enforce.
        if !changed.is_empty() && tool.strict == Some(true) {
            tool.strict = Some(false);
            dropped.add("tools.strict");
        }
    }
    if request.tools.is_empty() {
        request.parallel_tool_calls = None;
        if request.tool_choice.take().is_some_and(|choice| choice != ToolChoice::Auto) {
            dropped.add("tool_choice");
        }
    }
}

/// Moves numbers into their ranges. OpenAI: temperature to 2, `top_p` to 1, penalties from -2 to 2.
fn numbers(sampling: &mut Sampling<'_>, limits: &Limits, dropped: &mut Dropped) {
    let mut within = |name: &str, value: &mut Option<&RawValue>, least: f64, most: f64| {
        let Some(number) = value.and_then(|raw| raw.get().parse::<f64>().ok()) else { return };
        let bound = if number < least {
            least
        } else if number > most {
            most
        } else {
            return;
        };
        dropped.add(name);
        *value = literal(bound);
    };
    within("temperature", &mut sampling.temperature, 0.0, limits.temperature);
    within("top_p", &mut sampling.top_p, 0.0, 1.0);
    within("presence_penalty", &mut sampling.presence_penalty, -2.0, 2.0);
    within("frequency_penalty", &mut sampling.frequency_penalty, -2.0, 2.0);
    #[expect(clippy::cast_precision_loss, reason = "the bounds are small")]
    let fewest = limits.fewest_tokens as f64;
    // Servers of one machine take a negative number as "no limit".
    let tokens = sampling.max_tokens.and_then(|raw| raw.get().parse::<f64>().ok());
    if tokens.is_some_and(|tokens| tokens < 0.0) {
        sampling.max_tokens = None;
        dropped.add("max_tokens");
    } else if tokens.is_some_and(|tokens| tokens < fewest) {
        sampling.max_tokens = literal(fewest);
        dropped.add("max_tokens");
    }
}

/// The JSON text of one of the bounds, which are whole numbers.
fn literal(bound: f64) -> Option<&'static RawValue> {
    let text = ["-2", "0", "1", "2", "16"].into_iter().find(|text| text.parse() == Ok(bound))?;
    serde_json::from_str(text).ok()
}

/// Leaves out labels that are not a few short strings.
fn labels(metadata: &mut Option<&RawValue>, dropped: &mut Dropped) {
    let (count, name, value) = LABELS;
    let Some(raw) = *metadata else { return };
    let labels: Result<BTreeMap<Cow<'_, str>, Cow<'_, str>>, _> = serde_json::from_str(raw.get());
    let is_short =
        |(key, text): (&Cow<'_, str>, &Cow<'_, str>)| key.chars().count() <= name && text.chars().count() <= value;
    if !labels.is_ok_and(|labels| labels.len() <= count && labels.iter().all(is_short)) {
        dropped.add("metadata");
        *metadata = None;
    }
}
