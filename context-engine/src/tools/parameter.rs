use serde_json::Value;

/// A parameter that models can set: the field of this name of the arguments' type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// Other names that are accepted.
    pub(super) aliases: &'static [&'static str],
    /// Whether it is described in a model's prompt.
    pub(super) is_described: bool,
    /// Whether a text is taken as it is, of any length.
    pub(super) is_document: bool,
}

impl Parameter {
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(super) fn is_required(&self, schema: &Value) -> bool {
        let mut required = schema["required"].as_array().into_iter().flatten();
        required.any(|name| name == self.name)
    }
}
