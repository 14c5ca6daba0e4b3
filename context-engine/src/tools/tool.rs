//! The trait of tools, and their type-erased form in a registry.

use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::arguments::read;
use super::parameter::Parameter;
use super::schema::{ToolDescription, schema_of};
use super::{Output, ToolContext, ToolError};

/// A tool: one kind of question about a worktree.
///
/// The answer is a structured value; doors that print for people render it themselves.
pub trait Tool: Send + Sync {
    /// The arguments. The doc comments of the fields are the parameter descriptions in a model's prompt.
    type Arguments: DeserializeOwned + JsonSchema;
    type Answer: Serialize;

    /// The name in calls.
    const NAME: &'static str;
    /// The description in a model's prompt.
    const DESCRIPTION: &'static str;
    /// The parameters that models can set, in the order of the prompt.
    const PARAMETERS: &'static [Parameter];
    /// Whether results may have several pages.
    const PAGED: bool = true;
    /// Whether several calls are faster together.
    const SHARES_WORK: bool = false;
    /// Words by which a client that loads tools on demand finds this one.
    const HINT: &'static str = "";
    /// The effect of a call.
    const EFFECT: Effect = Effect::Reads;
    /// Whether the result is prose or code, which is shown as text only.
    const IS_PROSE: bool = false;

    /// Describes the tool for a model and for clients.
    fn described() -> ToolDescription
    where
        Self: Sized,
    {
        let schema = schema_of::<Self::Arguments>();
        ToolDescription::with_schema(Self::NAME, Self::DESCRIPTION, &schema, Self::PARAMETERS, Self::PAGED)
    }

    /// Answers one call.
    ///
    /// # Errors
    /// [`ToolError`] with a message for models.
    fn answer(&self, context: &ToolContext<'_>, arguments: &Self::Arguments) -> Result<Self::Answer, ToolError>;

    /// Answers several calls, in their order.
    fn answer_all(&self, context: &ToolContext<'_>, calls: &[Self::Arguments]) -> Vec<Result<Self::Answer, ToolError>> {
        let answer = |arguments| self.answer(context, arguments);
        calls.iter().map(answer).collect()
    }

    /// Answers one call outside of all worktrees.
    ///
    /// # Errors
    /// [`ToolError::NoWorktree`] by a tool that needs one, and the errors of [`Self::answer`].
    fn answer_anywhere(&self, _: &Self::Arguments) -> Result<Self::Answer, ToolError> {
        Err(ToolError::NoWorktree)
    }

    /// Formats the answer as text for a model.
    fn output(&self, arguments: &Self::Arguments, answer: &Self::Answer) -> Output;
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

/// A tool with erased types.
pub(super) trait DynTool: Send + Sync {
    fn described(&self) -> &ToolDescription;

    fn shares_work(&self) -> bool;

    /// Makes a call outside of all worktrees.
    fn run_anywhere(&self, call: &Map<String, Value>) -> Result<Output, ToolError>;

    /// Makes calls, and returns their outputs in order.
    fn run(&self, context: &ToolContext<'_>, calls: &[&Map<String, Value>]) -> Vec<Result<Output, ToolError>>;
}

/// A tool with its argument schema, which is generated once.
pub(super) struct Registered<T> {
    tool: T,
    schema: Value,
    described: ToolDescription,
}

impl<T: Tool> Registered<T> {
    pub(super) fn new(tool: T) -> Self {
        let schema = schema_of::<T::Arguments>();
        Self {
            described: ToolDescription::with_schema(T::NAME, T::DESCRIPTION, &schema, T::PARAMETERS, T::PAGED),
            tool,
            schema,
        }
    }

    fn output(&self, arguments: &T::Arguments, answer: &T::Answer) -> Output {
        Output { structured: to_raw_value(answer).ok(), ..self.tool.output(arguments, answer).limited_and_redacted() }
    }
}

impl<T: Tool> DynTool for Registered<T> {
    fn described(&self) -> &ToolDescription {
        &self.described
    }

    fn shares_work(&self) -> bool {
        T::SHARES_WORK
    }

    fn run_anywhere(&self, call: &Map<String, Value>) -> Result<Output, ToolError> {
        let arguments = read::<T::Arguments>(&self.schema, T::PARAMETERS, call)?;
        let run = || Ok(self.output(&arguments, &self.tool.answer_anywhere(&arguments)?));
        catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(ToolError::Panicked(T::NAME)))
    }

    fn run(&self, context: &ToolContext<'_>, calls: &[&Map<String, Value>]) -> Vec<Result<Output, ToolError>> {
        let (mut readable, mut errors) = (Vec::new(), Vec::new());
        for call in calls {
            let arguments = read::<T::Arguments>(&self.schema, T::PARAMETERS, call);
            errors.push(arguments.map(|arguments| readable.push(arguments)).err());
        }
        let run = || {
            let answers = self.tool.answer_all(context, &readable);
            let pairs = readable.iter().zip(answers);
            let outputs = pairs.map(|(arguments, answer)| Ok(self.output(arguments, &answer?)));
            outputs.collect::<Vec<_>>()
        };
        let mut outputs = catch_unwind(AssertUnwindSafe(run)).unwrap_or_default().into_iter();
        let output = |error: Option<ToolError>| match error {
            Some(error) => Err(error),
            None => outputs.next().unwrap_or(Err(ToolError::Panicked(T::NAME))),
        };
        errors.into_iter().map(output).collect()
    }
}
