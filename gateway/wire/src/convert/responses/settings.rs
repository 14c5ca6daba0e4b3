//! The settings of a request that a response object repeats.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::Members;
use crate::surrogates::well_formed;

/// The settings of a request as the client's JSON text.
///
/// Every response object has all of them, as the vendor's have: a stream has three such objects. Tools and instructions
/// can be large, so the text is copied once for each answer and shared.
#[derive(Debug, Clone, Default)]
pub struct ResponseSettings(Arc<BTreeMap<&'static str, Box<RawValue>>>);

impl PartialEq for ResponseSettings {
    fn eq(&self, other: &ResponseSettings) -> bool {
        self.0.iter().map(|(name, raw)| (name, raw.get())).eq(other.0.iter().map(|(name, raw)| (name, raw.get())))
    }
}

impl Eq for ResponseSettings {}

/// A setting that is repeated.
struct Setting {
    name: &'static str,
    /// The JSON text without a value in the request. If it is an object, its members also complete the request's object.
    default: &'static str,
    /// The characters with which a value begins. Clients with typed readers refuse values of other types.
    begins_with: &'static str,
}

const DIGITS: &str = "-0123456789";

/// The repeated settings. Without a value `store` is false, because no converted answer is stored.
const SETTINGS: [Setting; 14] = [
    Setting { name: "instructions", default: "null", begins_with: "\"" },
    Setting { name: "max_output_tokens", default: "null", begins_with: DIGITS },
    Setting { name: "metadata", default: "{}", begins_with: "{" },
    Setting { name: "parallel_tool_calls", default: "true", begins_with: "tf" },
    Setting { name: "previous_response_id", default: "null", begins_with: "\"" },
    Setting { name: "reasoning", default: r#"{"effort":null,"summary":null}"#, begins_with: "{" },
    Setting { name: "store", default: "false", begins_with: "tf" },
    Setting { name: "temperature", default: "null", begins_with: DIGITS },
    Setting { name: "text", default: r#"{"format":{"type":"text"}}"#, begins_with: "{" },
    Setting { name: "tool_choice", default: r#""auto""#, begins_with: "\"{" },
    Setting { name: "tools", default: "[]", begins_with: "[" },
    Setting { name: "top_p", default: "null", begins_with: DIGITS },
    Setting { name: "truncation", default: r#""disabled""#, begins_with: "\"" },
    Setting { name: "user", default: "null", begins_with: "\"" },
];

impl ResponseSettings {
    /// Copies the settings of a request.
    pub(in super::super) fn of(request: &Members<'_>) -> ResponseSettings {
        let settings = SETTINGS.iter().filter_map(|setting| {
            let raw =
                request.get(setting.name).filter(|raw| raw.starts_with(|first| setting.begins_with.contains(first)))?;
            Some((setting.name, completed(raw, setting.default)?))
        });
        ResponseSettings(Arc::new(settings.collect()))
    }

    /// Returns the JSON text of a setting.
    pub(super) fn get(&self, name: &str) -> &RawValue {
        let default = || {
            let setting = SETTINGS.iter().find(|setting| setting.name == name)?;
            serde_json::from_str(setting.default).ok()
        };
        self.0.get(name).map(|raw| &**raw).or_else(default).unwrap_or(RawValue::NULL)
    }
}

/// Returns a value in one line, because a line break ends a line of an event, with the members of the default object that
/// it does not have.
fn completed(raw: &str, default: &str) -> Option<Box<RawValue>> {
    // Strings have no line breaks: JSON escapes them.
    let mut text = raw.replace(['\n', '\r'], " ");
    if let (Some(value), Some(default)) = (Members::of(raw), Members::of(default)) {
        let missing = default.iter().filter(|(key, _)| value.get(key).is_none());
        let mut first: String = missing.map(|(key, member)| format!("\"{key}\":{},", member.get())).collect();
        if value.iter().next().is_none() {
            first.pop();
        }
        text.insert_str(1, &first);
    }
    RawValue::from_string(well_formed(&text).into_owned()).ok()
}
