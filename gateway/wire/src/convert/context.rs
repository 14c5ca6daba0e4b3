use std::borrow::Cow;
use std::collections::BTreeMap;

use super::responses::ResponseSettings;

/// The facts about a request that the conversion of its answer needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerContext {
    /// The answer's ULID. Each format adds its own prefix.
    pub id: String,
    /// The time of the answer, in seconds since the epoch.
    pub created: i64,
    /// The model's name in the client's request. The answer repeats it.
    pub model: String,
    /// Whether a chat client asked for usage at the end of its stream.
    pub stream_usage: bool,
    /// The settings of a responses request, which the response object repeats.
    pub settings: ResponseSettings,
    /// The stop sequences at which the converter cuts the answer.
    pub stops: Vec<String>,
    /// The tokens of the prompt, for formats whose streams begin with them. They are an estimate: the backend's count comes
    /// with the end of its answer.
    pub input_tokens: Option<u64>,
    /// Tools that have another name in the backend's request.
    pub names: ToolNames,
    /// Tools that the client did not declare as plain functions, by their name in the neutral form.
    pub special: BTreeMap<String, SpecialTool>,
}

/// A tool of the responses format that is not a plain function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialTool {
    /// The tool's type for the client.
    pub kind: SpecialKind,
    /// The tool's namespace, if any.
    pub namespace: Option<String>,
    /// The tool's name in its namespace.
    pub name: String,
}

/// The type of a special tool, as the client declared it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialKind {
    /// A function in a namespace.
    Function,
    /// A tool of type `custom`. Its calls carry free text, which the function carries in `input`.
    Custom,
    /// A search for more tools, which the client runs.
    Search,
}

/// The rule of a format for the names of tools. Only ASCII letters, digits, `-` and `_` are allowed.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// The longest name, in bytes.
    pub longest: usize,
}

impl NameRule {
    /// OpenAI's rule, for chat and responses: "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'".
    pub(super) const OPENAI: NameRule = NameRule { longest: 64 };

    /// Returns a name that follows the rule: this one, or a replacement that ends in its hash.
    pub(super) fn fitting(self, name: &str) -> Cow<'_, str> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if !name.is_empty() && name.len() <= self.longest && name.chars().all(plain) {
            return name.into();
        }
        let kept: String = match name {
            "" => "unknown".to_owned(),
            name => name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect(),
        };
        let hash = &blake3::hash(name.as_bytes()).to_hex()[..HASH_DIGITS];
        let end = kept.len().min(self.longest - HASH_DIGITS - 1);
        format!("{}_{hash}", &kept[..end]).into()
    }
}

/// Replacement names of tools whose own name breaks the [`NameRule`] of the backend's format, mapped to their own
/// names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames(BTreeMap<String, String>);

impl ToolNames {
    /// Returns the name for the backend: the tool's own name if it follows the rule, else a replacement that ends in a
    /// hash of the own name.
    ///
    /// The replacement depends only on the name. It therefore stays the same through a conversation, and two tools
    /// whose names differ only in forbidden letters get two replacements.
    pub fn backend_name<'n>(&mut self, name: &'n str, rule: NameRule) -> Cow<'n, str> {
        let fitting = rule.fitting(name);
        if let Cow::Owned(replacement) = &fitting {
            self.0.insert(replacement.clone(), name.to_owned());
        }
        fitting
    }

    /// Returns the client's name of a tool that the backend calls `backend_name`.
    pub fn client_name<'n>(&'n self, backend_name: &'n str) -> &'n str {
        self.0.get(backend_name).map_or(backend_name, String::as_str)
    }
}

/// The number of hash digits in a replacement name.
pub(crate) const HASH_DIGITS: usize = 12;
