//! The rows of the application's tools, and what their answers share.

use std::collections::BTreeMap;
use std::error::Error;

use muninn_context_engine::tools::{Effect, Output, ToolDescription, ToolError};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use super::client_tool::{ClientTool, ToolSet};
use super::{ModelUse, ToolSession};

/// The row of a tool without its handler.
pub(super) struct ToolRow {
    description: ToolDescription,
    set: ToolSet,
    model: ModelUse,
}

/// Begins a row. `hint` has the words by which a client that loads tools on demand finds the tool.
pub(super) fn tool(name: &'static str, set: ToolSet, effect: Effect, hint: &'static str) -> ToolRow {
    ToolRow { description: ToolDescription::new(name, effect, hint), set, model: ModelUse::None }
}

impl ToolRow {
    pub(super) fn about(self, description: &'static str) -> Self {
        Self { description: self.description.about(description), ..self }
    }

    /// Adds a parameter; see [`ToolDescription::parameter`].
    pub(super) fn parameter(self, name: &'static str, aliases: &'static [&'static str]) -> Self {
        Self { description: self.description.parameter(name, aliases), ..self }
    }

    /// Adds a parameter for a text of any length; see [`ToolDescription::document`].
    pub(super) fn document(self, name: &'static str, aliases: &'static [&'static str]) -> Self {
        Self { description: self.description.document(name, aliases), ..self }
    }

    /// Results may have several pages.
    pub(super) fn paged(self) -> Self {
        Self { description: self.description.paged(), ..self }
    }

    /// A call can ask this model.
    pub(super) fn asks(self, model: ModelUse) -> Self {
        Self { model, ..self }
    }

    /// The tool whose calls `answer` answers with a structured value.
    pub(super) fn answered<A, R>(self, answer: fn(&ToolSession, A) -> Result<R, ToolError>) -> ClientTool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + 'static,
    {
        // Clients get the text only of a value that is nested too deeply to be read again.
        self.answered_with(answer, |answer| serde_json::to_string_pretty(answer).unwrap_or_default())
    }

    /// The tool whose structured answers have a schema, because other programs read them.
    pub(super) fn answered_with_schema<A, R>(self, answer: fn(&ToolSession, A) -> Result<R, ToolError>) -> ClientTool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
    {
        ClientTool { output: Some(|| SchemaGenerator::default().into_root_schema_for::<R>()), ..self.answered(answer) }
    }

    /// The tool whose answers are shown as text only.
    pub(super) fn answered_as_text<A, R>(
        self,
        answer: fn(&ToolSession, A) -> Result<R, ToolError>,
        text: fn(&R) -> String,
    ) -> ClientTool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + 'static,
    {
        Self { description: self.description.prose(), ..self }.answered_with(answer, text)
    }

    fn answered_with<A, R>(
        self,
        answer: fn(&ToolSession, A) -> Result<R, ToolError>,
        text: fn(&R) -> String,
    ) -> ClientTool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + 'static,
    {
        let output = move |session: &ToolSession, arguments: A| -> Result<Output, ToolError> {
            let answer = answer(session, arguments)?;
            let mut output = Output::from_text(text(&answer));
            output.structured = to_raw_value(&answer).ok();
            Ok(output)
        };
        let description = self.description.with_arguments::<A>();
        debug_assert_eq!(description.field_without_parameter(), None, "{}", description.name);
        ClientTool {
            description,
            set: self.set,
            model: self.model,
            output: None,
            run: Box::new(move |description, session, _, call| {
                let outputs = description.answer_all(&[call], |arguments: Vec<A>| {
                    arguments.into_iter().map(|arguments| output(session, arguments)).collect()
                });
                outputs.into_iter().next().unwrap_or_default()
            }),
        }
    }
}

/// No arguments.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NoArguments {}

/// An object with one member.
pub(super) fn named<T>(name: &'static str, value: T) -> BTreeMap<&'static str, T> {
    BTreeMap::from([(name, value)])
}

/// An error of the application.
pub(super) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> ToolError {
    ToolError::Application(error.into())
}

/// An error of the application with its remedy, if there is one.
pub(super) fn failed_with_hint(error: impl Error + Send + Sync + 'static, hint: Option<&str>) -> ToolError {
    match hint {
        Some(hint) => failed(format!("{error}; {hint}")),
        None => failed(error),
    }
}
