//! What a tool takes: the JSON Schema of its argument type, and the part of it that a model is told.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// What a model is told of a parameter. What is left out, as bounds and defaults, costs tokens and changes no call.
const TOLD_KEYS: [&str; 3] = ["type", "description", "items"];

/// A parameter that models may give.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub(super) name: &'static str,
    aliases: &'static [&'static str],
    told: bool,
}

impl Parameter {
    /// A parameter that models are told of. It is the argument type's field of this name, and is taken by `aliases` too.
    #[must_use]
    pub const fn told(name: &'static str, aliases: &'static [&'static str]) -> Self {
        let told = true;
        Self { name, aliases, told }
    }

    /// A parameter that is taken from models that give it unasked.
    #[must_use]
    pub const fn taken(name: &'static str, aliases: &'static [&'static str]) -> Self {
        let told = false;
        Self { name, aliases, told }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(super) fn is_required(&self, schema: &Value) -> bool {
        let mut required = schema["required"].as_array().into_iter().flatten();
        required.any(|name| name == self.name)
    }
}

/// The JSON Schema of an argument type, in one piece.
pub(super) fn schema_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<A>().to_value()
}

/// The type of a property, whether or not it may be null.
pub(super) fn kind(property: &Value) -> Option<&str> {
    match &property["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// The names of its parameters.
    pub(crate) parameters: Vec<&'static str>,
    /// What is told of each of them, and whether it must be there.
    properties: Vec<(Value, bool)>,
}

impl Described {
    /// A tool that takes an `A` and whose results have one page.
    pub(crate) fn of<A: JsonSchema>(name: &'static str, description: &'static str, parameters: &[Parameter]) -> Self {
        Self::with_schema(name, description, &schema_of::<A>(), parameters, false)
    }

    /// A tool whose arguments have a schema. `paged`: whether its results may have several pages.
    pub(super) fn with_schema(
        name: &'static str,
        description: &'static str,
        schema: &Value,
        parameters: &[Parameter],
        paged: bool,
    ) -> Self {
        let told = parameters.iter().filter(|parameter| parameter.told);
        let (mut parameters, mut properties): (Vec<_>, Vec<_>) = told
            .map(|parameter| {
                let property = property(&schema["properties"][parameter.name]);
                (parameter.name, (property, parameter.is_required(schema)))
            })
            .unzip();
        if paged {
            // Of the output, and so of no argument type.
            let page = json!({"type": "integer", "description": "which page of a long result"});
            parameters.push("page");
            properties.push((page, false));
        }
        Self {
            name,
            description,
            parameters,
            properties,
        }
    }

    /// The schema of its arguments. `strict`: for a backend that holds calls to it, where all must be there and what
    /// is optional may be null.
    pub(crate) fn schema(&self, strict: bool) -> Value {
        let (mut told, mut required) = (Map::new(), Vec::new());
        for (name, (property, is_required)) in self.parameters.iter().zip(&self.properties) {
            let mut property = property.clone();
            if strict && !is_required {
                property["type"] = json!([property["type"], "null"]);
            }
            if strict || *is_required {
                required.push(*name);
            }
            told.insert((*name).to_owned(), property);
        }
        json!({"type": "object", "properties": told, "required": required, "additionalProperties": false})
    }

    /// All of it in words.
    pub(crate) fn words(&self) -> String {
        let mut text = format!("- {}: {}\n", self.name, self.description);
        for (name, (property, is_required)) in self.parameters.iter().zip(&self.properties) {
            let optional = if *is_required { "" } else { ", optional" };
            let told = |key: &str| property[key].as_str().unwrap_or_default();
            let (kind, meaning) = (told("type"), told("description"));
            text.push_str(&format!("    {name} ({kind}{optional}): {meaning}\n"));
        }
        text
    }
}

/// A property as models are told of it.
fn property(schema: &Value) -> Value {
    let told = TOLD_KEYS.iter().filter_map(|key| match (*key, kind(schema)) {
        ("type", Some(kind)) => Some((*key, Value::from(kind))),
        _ => Some((*key, schema.get(*key)?.clone())),
    });
    told.map(|(key, value)| (key.to_owned(), value)).collect()
}
