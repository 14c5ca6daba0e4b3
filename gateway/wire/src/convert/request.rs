//! The neutral form of a request: the fields that more than one format has.
//!
//! Values borrow from the client's body where possible. JSON schemas, numbers and arguments of tools stay the client's
//! JSON text, which keeps all digits of numbers and the order of keys.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::value::RawValue;

use crate::surrogates::well_formed;

pub use super::json_str::JsonStr;

/// A conversation with the settings for its next answer.
#[derive(Debug, Default)]
pub struct Request<'a> {
    /// The model's name.
    pub model: Cow<'a, str>,
    /// Whether the client asked for a stream.
    pub stream: bool,
    /// Whether a chat client asked for usage at the end of its stream. The other formats always carry it.
    pub stream_usage: bool,
    /// The conversation, oldest first. System text keeps its position; text of a separate field (`system`,
    /// `instructions`) comes first.
    pub messages: Vec<Message<'a>>,
    /// The tools that the model may call.
    pub tools: Vec<Tool<'a>>,
    /// Whether the model must call a tool.
    pub tool_choice: Option<ToolChoice<'a>>,
    /// Whether the model may make several calls at once.
    pub parallel_tool_calls: Option<bool>,
    /// Length, sampling and stop sequences.
    pub sampling: Sampling<'a>,
    /// The required shape of the answer.
    pub output: Option<OutputShape<'a>>,
    /// The settings for thinking.
    pub reasoning: Reasoning<'a>,
    /// The verbosity of the answer: `low`, `medium` or `high`.
    pub verbosity: Option<Cow<'a, str>>,
    /// The client's name of the end user.
    pub user: Option<Cow<'a, str>>,
    /// The key that the client sent for the backend's prompt cache.
    pub cache_key: Option<Cow<'a, str>>,
    /// Labels for the vendor, a JSON object. The model does not see them.
    pub metadata: Option<&'a RawValue>,
    /// The length of the client's body, in bytes. The backend's body is about as long.
    pub bytes: usize,
}

impl<'a> Request<'a> {
    /// Splits off the system text before the conversation.
    pub(super) fn split_system(&self) -> (&[Message<'a>], &[Message<'a>]) {
        let is_other = |message: &Message<'_>| message.speaker != Speaker::System;
        self.messages.split_at(self.messages.iter().position(is_other).unwrap_or(self.messages.len()))
    }

    /// Replaces halves of surrogate pairs in the arguments of calls. Some formats keep this JSON text in a string, and
    /// backends parse it.
    pub(super) fn repair_arguments(&mut self) {
        for part in self.messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let Part::ToolCall(call) = part
                && let Cow::Owned(repaired) = well_formed(&call.arguments)
            {
                call.arguments = Cow::Owned(repaired);
            }
        }
    }
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// System and developer text.
    System,
    /// The user's side: text, images, results of tools.
    User,
    /// The model's side: text, thinking, calls of tools.
    Assistant,
}

/// A message of a conversation.
#[derive(Debug)]
pub struct Message<'a> {
    /// The author.
    pub speaker: Speaker,
    /// The content, in order. May be empty.
    pub parts: Vec<Part<'a>>,
}

/// A part of a message.
#[derive(Debug)]
pub enum Part<'a> {
    Text {
        text: JsonStr<'a>,
        /// The client's cache marker on the text, kept for formats that have cache markers.
        cache_control: Option<&'a RawValue>,
    },
    Image {
        /// The image's data or location.
        source: Source<'a>,
        /// `low`, `high` or `auto`, if the client set it.
        detail: Option<Cow<'a, str>>,
    },
    /// A file for the model to read.
    Document {
        /// The file's data or location.
        source: Source<'a>,
        /// The file's name.
        name: Option<Cow<'a, str>>,
    },
    /// Thinking of an earlier turn.
    Thinking(Thinking<'a>),
    /// A call that the model made.
    ToolCall(ToolCall<'a>),
    /// The result of a call.
    ToolResult(ToolResult<'a>),
}

impl<'a> Part<'a> {
    /// Returns text without a cache marker.
    pub fn text(text: impl Into<JsonStr<'a>>) -> Part<'a> {
        Part::Text { text: text.into(), cache_control: None }
    }
}

/// The data or the location of an image or a document.
#[derive(Debug, Clone)]
pub enum Source<'a> {
    /// Data in the request.
    Base64 {
        /// The media type, such as `image/png`.
        media_type: Cow<'a, str>,
        /// The bytes in base64.
        data: Cow<'a, str>,
    },
    /// Plain text in the request (documents only).
    Text(Cow<'a, str>),
    /// A URL on the web.
    Url(Cow<'a, str>),
    /// The id of a file that the client's vendor stores. No other backend has it.
    File(Cow<'a, str>),
}

impl Source<'_> {
    /// Returns the data of a data URL, or the URL itself. Parameters of the media type (a charset, a name) are removed, because
    /// models cannot use them.
    pub(super) fn of_url(url: Cow<'_, str>) -> Source<'_> {
        let is_data = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
        let Some(comma) = url.find(',').filter(|_| is_data) else { return Source::Url(url) };
        let mut labels = url[5..comma].split(';').map(str::trim);
        let media_type = labels.next().unwrap_or_default();
        if !labels.any(|label| label.eq_ignore_ascii_case("base64")) {
            let text = percent_decode_str(&url[comma + 1..]).decode_utf8_lossy().into_owned();
            return Source::Text(text.into());
        }
        match &url {
            Cow::Borrowed(url) => {
                let start = url[5..comma].len() - url[5..comma].trim_start().len() + 5;
                Source::Base64 {
                    media_type: url[start..start + media_type.len()].into(),
                    data: url[comma + 1..].into(),
                }
            }
            Cow::Owned(url) => {
                Source::Base64 { media_type: media_type.to_owned().into(), data: url[comma + 1..].to_owned().into() }
            }
        }
    }

    /// Returns an image's URL, which may be a data URL. `None` if only the client's vendor has the image.
    pub(super) fn image_url(&self) -> Option<Cow<'_, str>> {
        match self {
            Source::Base64 { media_type, data } => Some(data_url(media_type, data).into()),
            Source::Url(url) => Some((&**url).into()),
            Source::Text(_) | Source::File(_) => None,
        }
    }
}

/// Returns a base64 data URL.
pub(super) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// Thinking of an earlier turn.
#[derive(Debug, Default)]
pub struct Thinking<'a> {
    /// The thinking or a summary of it. Empty if only the sealed form exists.
    pub text: Cow<'a, str>,
    /// The backend's seal (`signature`, `encrypted_content`, `redacted_thinking`'s `data`). Only that backend can check
    /// it. Muninn's own seals start with [`OUR_SEAL`].
    pub seal: Option<Cow<'a, str>>,
}

/// The prefix of Muninn's own seals. They mark thinking of backends without seals, and this thinking is sent back as
/// plain text. Thinking with a seal of another vendor is useless to a backend and is dropped.
pub const OUR_SEAL: &str = "muninn-";

impl Thinking<'_> {
    /// Whether the thinking came as plain text, from a backend without seals. Only then it is sent back as plain text.
    pub fn is_plain(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.starts_with(OUR_SEAL))
    }
}

/// A call that the model made.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The call's id, repeated in its result.
    pub id: Cow<'a, str>,
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// The arguments as JSON text. Broken calls have arguments that are not an object.
    pub arguments: Cow<'a, str>,
}

/// The result of a call.
#[derive(Debug)]
pub struct ToolResult<'a> {
    /// The call's id.
    pub call: Cow<'a, str>,
    /// Text, images and documents.
    pub parts: Vec<Part<'a>>,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A tool that the model may call.
#[derive(Debug)]
pub struct Tool<'a> {
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// The description for the model.
    pub description: Option<Cow<'a, str>>,
    /// The JSON schema of the arguments, as the client wrote it. `None` if the tool takes no arguments.
    pub schema: Option<Cow<'a, RawValue>>,
    /// Whether the arguments must follow the schema exactly.
    pub strict: Option<bool>,
    /// The client's cache marker, kept for formats that have cache markers.
    pub cache_control: Option<&'a RawValue>,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice<'a> {
    /// The model decides.
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call some tool.
    Required,
    /// The model must call the tool of this name.
    Tool(Cow<'a, str>),
}

/// Length, sampling and stop sequences. Numbers are the client's JSON text.
#[derive(Debug, Default)]
pub struct Sampling<'a> {
    /// The largest number of tokens in the answer.
    pub max_tokens: Option<&'a RawValue>,
    /// `temperature`.
    pub temperature: Option<&'a RawValue>,
    /// `top_p`.
    pub top_p: Option<&'a RawValue>,
    /// `top_k`. Most local servers accept it in chat completions too.
    pub top_k: Option<&'a RawValue>,
    /// `seed`.
    pub seed: Option<&'a RawValue>,
    /// `presence_penalty`.
    pub presence_penalty: Option<&'a RawValue>,
    /// `frequency_penalty`.
    pub frequency_penalty: Option<&'a RawValue>,
    /// The stop sequences. A backend gets those that its format takes.
    pub stop: Vec<Cow<'a, str>>,
    /// The others, at which the converter cuts the answer.
    pub cut: Vec<Cow<'a, str>>,
}

/// The required shape of the answer.
#[derive(Debug)]
pub enum OutputShape<'a> {
    /// A JSON object.
    Json,
    /// JSON that follows a schema.
    Schema {
        /// The schema's name. The writers of formats that require one fill in a default.
        name: Option<Cow<'a, str>>,
        schema: &'a RawValue,
        /// Whether the answer must follow the schema exactly.
        strict: Option<bool>,
    },
}

/// The settings for thinking.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reasoning<'a> {
    /// The effort: `none`, `minimal`, `low`, `medium`, `high` or another name.
    pub effort: Option<Cow<'a, str>>,
    /// The budget, in tokens.
    pub budget: Option<u64>,
    /// Whether the client switched thinking on or off explicitly.
    pub enabled: Option<bool>,
}

/// The fields that a conversion left out or changed, with counts.
///
/// A name is the path of a field (`logit_bias`, `messages.audio`, `tools.web_search`), never a value. Names of an answer
/// begin with `answer.` (`answer.citations`, `answer.web_search_call`).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Dropped(BTreeMap<String, u32>);

impl Dropped {
    /// Counts a field. Names go into headers and clients can invent them, so a name that no API would use counts as
    /// `other`, and so does every new name after the 64th.
    pub fn add(&mut self, name: impl Into<String>) {
        let name: String = name.into();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        let fits = (1..=64).contains(&name.len()) && name.bytes().all(plain) && self.0.len() < 64;
        let name = if fits || self.0.contains_key(&name) { name } else { "other".to_owned() };
        *self.0.entry(name).or_default() += 1;
    }

    /// Counts a field at most once, however often an answer repeats it.
    pub(super) fn add_once(&mut self, name: &str) {
        if !self.0.contains_key(name) {
            self.add(name);
        }
    }

    /// Counts a field so many times.
    pub(super) fn add_all(&mut self, name: &str, count: usize) {
        (0..count).for_each(|_| self.add(name));
    }

    /// Adds the counts of another conversion.
    pub fn append(&mut self, other: Dropped) {
        for (name, count) in other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// Returns the names and counts, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}
