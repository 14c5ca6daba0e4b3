//! A request in no format: what every client can say and some backend can hear.
//!
//! Borrowed from the client's body wherever it can be. What is opaque to us (JSON schemas, numbers, arguments of tools)
//! stays the text that the client wrote, so that no number loses a digit and no key its place.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

pub use super::json_str::JsonStr;
use crate::wire::surrogates::well_formed;

/// A conversation and how it is to be continued.
#[derive(Debug, Default)]
pub struct Request<'a> {
    /// The model's name.
    pub model: Cow<'a, str>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether a chat client asked for usage at the end of its stream. The other formats always carry it.
    pub stream_usage: bool,
    /// The conversation, oldest first. System text stands where it was said; what a format keeps beside the
    /// conversation (`system`, `instructions`) comes first.
    pub messages: Vec<Message<'a>>,
    /// What the model may call.
    pub tools: Vec<Tool<'a>>,
    /// Whether it must.
    pub tool_choice: Option<ToolChoice<'a>>,
    /// Whether it may make several calls at once.
    pub parallel_tool_calls: Option<bool>,
    /// Length, sampling and stopping.
    pub sampling: Sampling<'a>,
    /// The shape that the answer must have.
    pub output: Option<OutputShape<'a>>,
    /// How much the model is to think.
    pub reasoning: Reasoning<'a>,
    /// How wordy the answer is to be: `low`, `medium` or `high`.
    pub verbosity: Option<Cow<'a, str>>,
    /// The end user, as the client names them.
    pub user: Option<Cow<'a, str>>,
    /// What the client wants prompts to be cached under.
    pub cache_key: Option<Cow<'a, str>>,
    /// Labels without a meaning for the model, a JSON object.
    pub metadata: Option<&'a RawValue>,
    /// How long the client's body is, which tells how long the backend's will be.
    pub bytes: usize,
}

impl Request<'_> {
    /// Replaces halves of surrogate pairs inside the arguments of calls, JSON text that some formats keep in a string and
    /// that backends parse.
    pub(super) fn mend_arguments(&mut self) {
        for part in self.messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let Part::ToolCall(call) = part
                && let Cow::Owned(mended) = well_formed(&call.arguments)
            {
                call.arguments = Cow::Owned(mended);
            }
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// System and developer text.
    System,
    /// The user's side: words, images, results of tools.
    User,
    /// The model's side: words, thinking, calls of tools.
    Assistant,
}

/// What one side said in one go.
#[derive(Debug)]
pub struct Message<'a> {
    /// Who.
    pub speaker: Speaker,
    /// What, in order. May be empty.
    pub parts: Vec<Part<'a>>,
}

/// A piece of a message.
#[derive(Debug)]
pub enum Part<'a> {
    /// Words.
    Text {
        /// The words.
        text: JsonStr<'a>,
        /// The client's cache marker on them, kept for targets that know it.
        cache_control: Option<&'a RawValue>,
    },
    /// A picture.
    Image {
        /// Where it is.
        source: Source<'a>,
        /// `low`, `high` or `auto`, where the client says.
        detail: Option<Cow<'a, str>>,
    },
    /// A file for the model to read.
    Document {
        /// Where it is.
        source: Source<'a>,
        /// Its name.
        name: Option<Cow<'a, str>>,
    },
    /// Thinking of an earlier turn.
    Thinking(Thinking<'a>),
    /// A call that the model made.
    ToolCall(ToolCall<'a>),
    /// What came of a call.
    ToolResult(ToolResult<'a>),
}

impl<'a> Part<'a> {
    /// Words without a cache marker.
    #[must_use]
    pub fn text(text: impl Into<JsonStr<'a>>) -> Part<'a> {
        Part::Text {
            text: text.into(),
            cache_control: None,
        }
    }
}

/// Where an image or a document is.
#[derive(Debug, Clone)]
pub enum Source<'a> {
    /// In the request.
    Base64 {
        /// For instance `image/png`.
        media_type: Cow<'a, str>,
        /// The bytes in base64.
        data: Cow<'a, str>,
    },
    /// Plain text in the request (documents only).
    Text(Cow<'a, str>),
    /// On the web.
    Url(Cow<'a, str>),
    /// With the vendor that the client meant, under an id that no other backend knows.
    File(Cow<'a, str>),
}

/// Thinking of an earlier turn.
#[derive(Debug, Default)]
pub struct Thinking<'a> {
    /// The thinking, or a summary of it; may be empty where only the sealed form exists.
    pub text: Cow<'a, str>,
    /// The seal that its backend put on it (`signature`, `encrypted_content`, `redacted_thinking`'s `data`). Only the
    /// backend that made it can check it. One that starts with [`OUR_SEAL`] was put on by us.
    pub seal: Option<Cow<'a, str>>,
}

/// The beginning of a seal that we made, for thinking that came from a backend which seals nothing. Such thinking goes
/// back to it; thinking with any other seal means nothing to another backend and is dropped.
pub const OUR_SEAL: &str = "muninn-";

impl Thinking<'_> {
    /// Whether it came from a backend that gives thinking as plain text, so that it can be given back as such.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.starts_with(OUR_SEAL))
    }
}

/// A call that the model made.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// Its id, which its result names.
    pub id: Cow<'a, str>,
    /// The tool.
    pub name: Cow<'a, str>,
    /// The arguments as JSON text, an object in all but broken calls.
    pub arguments: Cow<'a, str>,
}

/// What came of a call.
#[derive(Debug)]
pub struct ToolResult<'a> {
    /// The call's id.
    pub call: Cow<'a, str>,
    /// Text, images and documents.
    pub parts: Vec<Part<'a>>,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// Something that the model may call.
#[derive(Debug)]
pub struct Tool<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// What it does.
    pub description: Option<Cow<'a, str>>,
    /// The JSON schema of its arguments, as the client wrote it; absent where it takes none.
    pub schema: Option<Cow<'a, RawValue>>,
    /// Whether the arguments must follow the schema to the letter.
    pub strict: Option<bool>,
    /// The client's cache marker, kept for targets that know it.
    pub cache_control: Option<&'a RawValue>,
}

/// Whether the model must call something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice<'a> {
    /// As it likes.
    Auto,
    /// It must not.
    None,
    /// It must call some tool.
    Required,
    /// It must call this one.
    Tool(Cow<'a, str>),
}

/// Length, sampling and stopping. Numbers are the text that the client wrote.
#[derive(Debug, Default)]
pub struct Sampling<'a> {
    /// At most so many tokens.
    pub max_tokens: Option<&'a RawValue>,
    /// `temperature`.
    pub temperature: Option<&'a RawValue>,
    /// `top_p`.
    pub top_p: Option<&'a RawValue>,
    /// `top_k`, which chat completions of most local servers take too.
    pub top_k: Option<&'a RawValue>,
    /// `seed`.
    pub seed: Option<&'a RawValue>,
    /// `presence_penalty`.
    pub presence_penalty: Option<&'a RawValue>,
    /// `frequency_penalty`.
    pub frequency_penalty: Option<&'a RawValue>,
    /// Where to stop.
    pub stop: Vec<Cow<'a, str>>,
}

/// The shape that the answer must have.
#[derive(Debug)]
pub enum OutputShape<'a> {
    /// Some JSON object.
    Json,
    /// JSON that follows a schema.
    Schema {
        /// A name for it; formats without one get it from us.
        name: Option<Cow<'a, str>>,
        /// The schema.
        schema: &'a RawValue,
        /// Whether it must be followed to the letter.
        strict: Option<bool>,
    },
}

/// How much the model is to think.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reasoning<'a> {
    /// `none`, `minimal`, `low`, `medium`, `high` and the like.
    pub effort: Option<Cow<'a, str>>,
    /// A bound in tokens.
    pub budget: Option<u64>,
    /// Switched off (`false`) or on (`true`) in so many words.
    pub enabled: Option<bool>,
}

/// The names of what a conversion had to leave out, with how often each was left out.
///
/// A name is the path of a field (`logit_bias`, `messages.audio`, `tools.web_search`), never a value.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Dropped(BTreeMap<String, u32>);

impl Dropped {
    /// Counts one. Clients may make up any name; those that no API has become one, since names go into headers.
    pub fn add(&mut self, name: impl Into<String>) {
        let name: String = name.into();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        let fits = (1..=64).contains(&name.len()) && name.bytes().all(plain) && self.0.len() < 64;
        let name = if fits || self.0.contains_key(&name) {
            name
        } else {
            "other".to_owned()
        };
        *self.0.entry(name).or_default() += 1;
    }

    /// Names and counts in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}
