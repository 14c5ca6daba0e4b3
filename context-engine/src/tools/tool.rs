//! What a tool is, typed and by name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::arguments::read;
use super::schema::{Described, Parameter, schema_of};
use super::{Output, ToolContext, ToolError};

/// A tool: one question, from its arguments to its answer, and the answer in words.
///
/// Doors that print for people render the answer their own way.
pub trait Tool: Send + Sync {
    /// The arguments. The doc comments of its fields are the descriptions of the parameters.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The answer.
    type Answer;

    /// The name that it is called by.
    const NAME: &'static str;
    /// What models are told that it does.
    const DESCRIPTION: &'static str;
    /// What models may give of its arguments, in the order that they are told.
    const PARAMETERS: &'static [Parameter];
    /// Whether its results may be longer than a page.
    const PAGED: bool = true;
    /// Whether calls that are made together share work.
    const SHARES_WORK: bool = false;

    /// Answers one call.
    ///
    /// # Errors
    /// [`ToolError`].
    fn answer(&self, context: &ToolContext<'_>, arguments: &Self::Arguments) -> Result<Self::Answer, ToolError>;

    /// Answers several calls, in their order.
    fn answer_all(&self, context: &ToolContext<'_>, calls: &[Self::Arguments]) -> Vec<Result<Self::Answer, ToolError>> {
        let answer = |arguments| self.answer(context, arguments);
        calls.iter().map(answer).collect()
    }

    /// The answer in words, for a model.
    fn output(&self, arguments: &Self::Arguments, answer: &Self::Answer) -> Output;
}

/// A tool whose types are not known.
pub(super) trait AnyTool: Send + Sync {
    fn described(&self) -> &Described;

    fn shares_work(&self) -> bool;

    /// Makes calls, and returns what each came to, in their order.
    fn run(&self, context: &ToolContext<'_>, calls: &[&Map<String, Value>]) -> Vec<Result<Output, ToolError>>;
}

/// A tool with the schema of its arguments, which is made once.
pub(super) struct Registered<T> {
    tool: T,
    schema: Value,
    described: Described,
}

impl<T: Tool> Registered<T> {
    pub(super) fn new(tool: T) -> Self {
        let schema = schema_of::<T::Arguments>();
        Self {
            described: Described::with_schema(T::NAME, T::DESCRIPTION, &schema, T::PARAMETERS, T::PAGED),
            tool,
            schema,
        }
    }

    fn output(&self, arguments: &T::Arguments, answer: &T::Answer) -> Output {
        self.tool.output(arguments, answer).finished()
    }
}

impl<T: Tool> AnyTool for Registered<T> {
    fn described(&self) -> &Described {
        &self.described
    }

    fn shares_work(&self) -> bool {
        T::SHARES_WORK
    }

    fn run(&self, context: &ToolContext<'_>, calls: &[&Map<String, Value>]) -> Vec<Result<Output, ToolError>> {
        let (mut readable, mut faults) = (Vec::new(), Vec::new());
        for call in calls {
            let arguments = read::<T::Arguments>(&self.schema, T::PARAMETERS, call);
            faults.push(arguments.map(|arguments| readable.push(arguments)).err());
        }
        let run = || {
            let answers = self.tool.answer_all(context, &readable);
            let pairs = readable.iter().zip(answers);
            let outputs = pairs.map(|(arguments, answer)| Ok(self.output(arguments, &answer?)));
            outputs.collect::<Vec<_>>()
        };
        let mut outputs = catch_unwind(AssertUnwindSafe(run)).unwrap_or_default().into_iter();
        let output = |fault: Option<ToolError>| match fault {
            Some(fault) => Err(fault),
            None => outputs.next().unwrap_or(Err(ToolError::Panicked(T::NAME))),
        };
        faults.into_iter().map(output).collect()
    }
}
