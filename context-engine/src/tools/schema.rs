//! The parameters of tools: the JSON Schema of the argument type, and the part of it in a model's prompt.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::parameter::Parameter;

/// The schema keys in a model's prompt. Other keys, such as bounds and defaults, cost tokens and do not improve the
/// calls.
const PROMPT_KEYS: [&str; 3] = ["type", "description", "items"];

/// Returns the JSON Schema of an argument type, without references.
fn schema_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<A>().to_value()
}

/// Returns the type of a property, ignoring `null`.
pub(super) fn kind(property: &Value) -> Option<&str> {
    match &property["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It adds something.
    Writes,
    /// It replaces or removes something.
    Replaces,
}

/// The description of a tool for models and clients, and the reader of its arguments.
#[derive(Debug, Clone)]
pub struct ToolDescription {
    /// The name in calls.
    pub name: &'static str,
    /// Words by which a client that loads tools on demand finds it.
    pub hint: &'static str,
    /// What the tool does.
    pub description: &'static str,
    pub effect: Effect,
    /// Whether the result is prose or code, which is shown as text only.
    pub is_prose: bool,
    /// Whether results may have several pages.
    is_paged: bool,
    /// The parameters, in the order of the prompt.
    pub(super) parameters: Vec<Parameter>,
    /// The JSON Schema of the arguments' type. The doc comments of the fields are the parameters' descriptions.
    pub(super) schema: Value,
}

impl ToolDescription {
    /// Begins the description of a tool without parameters, whose results have one page.
    pub fn new(name: &'static str, effect: Effect, hint: &'static str) -> Self {
        let (parameters, schema) = (Vec::new(), Value::Null);
        Self { name, hint, description: "", effect, is_prose: false, is_paged: false, parameters, schema }
    }

    /// Sets what the tool does, in words.
    pub fn about(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// Adds a parameter: the arguments' field of this name. `aliases` are accepted, too.
    pub fn parameter(mut self, name: &'static str, aliases: &'static [&'static str]) -> Self {
        self.parameters.push(Parameter { name, aliases, is_described: true, is_document: false });
        self
    }

    /// Adds a parameter for a text that is taken as it is: its line ends and its length stay.
    pub fn document(mut self, name: &'static str, aliases: &'static [&'static str]) -> Self {
        self.parameters.push(Parameter { name, aliases, is_described: true, is_document: true });
        self
    }

    /// Adds a parameter that is accepted from models but not described.
    pub(super) fn accepted(mut self, name: &'static str, aliases: &'static [&'static str]) -> Self {
        self.parameters.push(Parameter { name, aliases, is_described: false, is_document: false });
        self
    }

    pub fn paged(self) -> Self {
        Self { is_paged: true, ..self }
    }

    pub fn prose(self) -> Self {
        Self { is_prose: true, ..self }
    }

    /// Sets the type of the arguments.
    pub fn with_arguments<A: JsonSchema>(self) -> Self {
        Self { schema: schema_of::<A>(), ..self }
    }

    /// Returns a field of the arguments' type that no call can give, because it has no parameter.
    pub fn field_without_parameter(&self) -> Option<&str> {
        let fields = self.schema["properties"].as_object().into_iter().flat_map(Map::keys);
        fields.map(String::as_str).find(|field| !self.parameters.iter().any(|parameter| parameter.name == *field))
    }

    /// The described parameters: name, schema, and whether it is required.
    fn properties(&self) -> Vec<(&'static str, Value, bool)> {
        let mut properties = Vec::new();
        for parameter in self.parameters.iter().filter(|parameter| parameter.is_described) {
            let property = property(&self.schema["properties"][parameter.name]);
            properties.push((parameter.name, property, parameter.is_required(&self.schema)));
        }
        if self.is_paged {
            // Pages belong to the output, so no argument type has this field.
            let page = json!({"type": "integer", "description": "which page of a long result"});
            properties.push(("page", page, false));
        }
        properties
    }

    /// The first described parameter.
    pub(crate) fn first_parameter(&self) -> Option<&'static str> {
        self.properties().first().map(|(name, ..)| *name)
    }

    /// Returns the JSON Schema of the arguments: an object with plain types, so that every validator accepts it. `strict` is for backends that enforce it: all properties are required, and
    /// optional ones may be null.
    pub fn schema(&self, strict: bool) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, mut property, is_required) in self.properties() {
            if strict && !is_required {
                property["type"] = json!([property["type"], "null"]);
            }
            if strict || is_required {
                required.push(name);
            }
            properties.insert(name.to_owned(), property);
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    pub(crate) fn prompt_text(&self) -> String {
        let mut text = format!("- {}: {}\n", self.name, self.description);
        for (name, property, is_required) in self.properties() {
            let optional = if is_required { "" } else { ", optional" };
            let text_of = |key: &str| property[key].as_str().unwrap_or_default();
            let (kind, meaning) = (text_of("type"), text_of("description"));
            text.push_str(&format!("    {name} ({kind}{optional}): {meaning}\n"));
        }
        text
    }
}

/// Reduces the schema of a property to the keys of a model's prompt.
fn property(schema: &Value) -> Value {
    let keys = PROMPT_KEYS.iter().filter_map(|key| match (*key, kind(schema)) {
        ("type", Some(kind)) => Some((*key, Value::from(kind))),
        _ => Some((*key, schema.get(*key)?.clone())),
    });
    keys.map(|(key, value)| (key.to_owned(), value)).collect()
}
