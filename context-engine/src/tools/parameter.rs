use serde_json::Value;

/// A parameter that models can set.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub(super) name: &'static str,
    aliases: &'static [&'static str],
    pub(crate) is_described: bool,
    /// Whether a text is taken as it is, of any length.
    pub(super) is_document: bool,
}

impl Parameter {
    /// Creates a parameter that is described in a model's prompt. It is the argument type's field of this name;
    /// `aliases` are accepted, too.
    pub const fn described(name: &'static str, aliases: &'static [&'static str]) -> Self {
        let is_described = true;
        Self { name, aliases, is_described, is_document: false }
    }

    /// Creates a parameter that is accepted from models but not described.
    pub const fn accepted(name: &'static str, aliases: &'static [&'static str]) -> Self {
        let is_described = false;
        Self { name, aliases, is_described, is_document: false }
    }

    /// Creates a described parameter for a text that is written as it is: its line ends and its length stay.
    pub const fn document(name: &'static str, aliases: &'static [&'static str]) -> Self {
        Self { name, aliases, is_described: true, is_document: true }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(super) fn is_required(&self, schema: &Value) -> bool {
        let mut required = schema["required"].as_array().into_iter().flatten();
        required.any(|name| name == self.name)
    }
}
