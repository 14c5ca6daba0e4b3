//! The parameters of tools: the JSON Schema of the argument type, and the part of it in a model's prompt.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::parameter::Parameter;

/// The schema keys in a model's prompt. Other keys, such as bounds and defaults, cost tokens and do not improve the
/// calls.
const PROMPT_KEYS: [&str; 3] = ["type", "description", "items"];

/// Returns the JSON Schema of an argument type, without references.
pub(super) fn schema_of<A: JsonSchema>() -> Value {
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

/// The description of a tool in a model's prompt.
#[derive(Debug, Clone)]
pub struct ToolDescription {
    /// The name in calls.
    pub name: &'static str,
    /// What the tool does.
    pub description: &'static str,
    /// The names of the described parameters.
    pub(crate) parameters: Vec<&'static str>,
    /// The schema of each, and whether it is required.
    properties: Vec<(Value, bool)>,
}

impl ToolDescription {
    /// Describes a tool with arguments of type `A` whose results have one page.
    pub(crate) fn of<A: JsonSchema>(name: &'static str, description: &'static str, parameters: &[Parameter]) -> Self {
        Self::with_schema(name, description, &schema_of::<A>(), parameters, false)
    }

    /// Describes a tool with an argument schema. `paged` tells whether its results may have several pages.
    pub(super) fn with_schema(
        name: &'static str,
        description: &'static str,
        schema: &Value,
        parameters: &[Parameter],
        paged: bool,
    ) -> Self {
        let described = parameters.iter().filter(|parameter| parameter.is_described);
        let (mut parameters, mut properties): (Vec<_>, Vec<_>) = described
            .map(|parameter| {
                let property = property(&schema["properties"][parameter.name]);
                (parameter.name, (property, parameter.is_required(schema)))
            })
            .unzip();
        if paged {
            // Pages belong to the output, so no argument type has this field.
            let page = json!({"type": "integer", "description": "which page of a long result"});
            parameters.push("page");
            properties.push((page, false));
        }
        Self { name, description, parameters, properties }
    }

    /// Returns the JSON Schema of the arguments: an object with plain types, so that every validator accepts it. `strict` is for backends that enforce it: all properties are required, and
    /// optional ones may be null.
    pub fn schema(&self, strict: bool) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, (property, is_required)) in self.parameters.iter().zip(&self.properties) {
            let mut property = property.clone();
            if strict && !is_required {
                property["type"] = json!([property["type"], "null"]);
            }
            if strict || *is_required {
                required.push(*name);
            }
            properties.insert((*name).to_owned(), property);
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    pub(crate) fn prompt_text(&self) -> String {
        let mut text = format!("- {}: {}\n", self.name, self.description);
        for (name, (property, is_required)) in self.parameters.iter().zip(&self.properties) {
            let optional = if *is_required { "" } else { ", optional" };
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
