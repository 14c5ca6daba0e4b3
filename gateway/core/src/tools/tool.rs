//! The trait of tools that need the application, and what their answers share.

use std::error::Error;
use std::marker::PhantomData;
use std::sync::Arc;

use muninn_context_engine::tools::{Effect, Output, Parameter, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ModelUse, ToolSession};

/// A tool that needs the circumstances of its call. [`InSession`] makes it a [`Tool`] of the engine's registry, whose
/// items of the same names say what they mean.
pub(crate) trait SessionTool: 'static {
    /// The arguments.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The answer.
    type Answer: Serialize;

    const NAME: &'static str;
    const HINT: &'static str;
    const DESCRIPTION: &'static str;
    const PARAMETERS: &'static [Parameter] = &[];
    const EFFECT: Effect = Effect::Reads;
    const PAGED: bool = false;
    const IS_PROSE: bool = false;
    /// Whether calls outside of a repository are answered.
    const ANYWHERE: bool = false;
    /// The model that a call can ask.
    const MODEL: ModelUse = ModelUse::None;

    /// Answers a call.
    fn answer(session: &ToolSession, arguments: &Self::Arguments) -> Result<Self::Answer, ToolError>;

    /// Formats the answer as text for a model.
    fn output(_: &Self::Arguments, answer: &Self::Answer) -> Output {
        json(answer)
    }
}

/// A tool with the circumstances of its call.
pub(super) struct InSession<T> {
    session: Arc<ToolSession>,
    // The tool itself has no value.
    tool: PhantomData<fn() -> T>,
}

impl<T> InSession<T> {
    pub(super) fn new(session: &Arc<ToolSession>) -> Self {
        Self { session: Arc::clone(session), tool: PhantomData }
    }
}

impl<T: SessionTool> Tool for InSession<T> {
    type Arguments = T::Arguments;
    type Answer = T::Answer;

    const NAME: &'static str = T::NAME;
    const HINT: &'static str = T::HINT;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const PARAMETERS: &'static [Parameter] = T::PARAMETERS;
    const EFFECT: Effect = T::EFFECT;
    const PAGED: bool = T::PAGED;
    const IS_PROSE: bool = T::IS_PROSE;

    fn answer(&self, _: &ToolContext<'_>, arguments: &T::Arguments) -> Result<T::Answer, ToolError> {
        T::answer(&self.session, arguments)
    }

    fn answer_anywhere(&self, arguments: &T::Arguments) -> Result<T::Answer, ToolError> {
        if T::ANYWHERE { T::answer(&self.session, arguments) } else { Err(ToolError::NoWorktree) }
    }

    fn output(&self, arguments: &T::Arguments, answer: &T::Answer) -> Output {
        T::output(arguments, answer)
    }
}

/// No arguments.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct NoArguments {}

/// An answer as indented JSON.
pub(super) fn json(answer: &impl Serialize) -> Output {
    Output::from_text(serde_json::to_string_pretty(answer).unwrap_or_default())
}

/// An error of the application.
pub(super) fn failed(error: impl Error + Send + Sync + 'static) -> ToolError {
    ToolError::Application(Box::new(error))
}

/// An error of the application with its remedy, if there is one.
pub(super) fn failed_with_hint(error: impl Error + Send + Sync + 'static, hint: Option<&'static str>) -> ToolError {
    match hint {
        Some(hint) => failed(Hinted { error, hint }),
        None => failed(error),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{error}; {hint}")]
struct Hinted<E: Error> {
    error: E,
    hint: &'static str,
}
