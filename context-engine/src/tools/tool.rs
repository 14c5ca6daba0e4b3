//! Tools as rows: a description, and the functions that answer calls and format the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::arguments::{check, read};
use super::schema::ToolDescription;
use super::{Output, ToolContext, ToolError};

/// Maximum duration of a call.
pub(super) const MAX_CALL_TIME: Duration = Duration::from_secs(5);

type Run = dyn Fn(&ToolDescription, &ToolContext<'_>, &[&Map<String, Value>]) -> Vec<Output> + Send + Sync;

/// A tool that needs only the engine: one kind of question about a worktree.
pub struct Tool {
    pub description: ToolDescription,
    /// Whether several calls are faster together.
    pub(super) shares_work: bool,
    run: Box<Run>,
}

impl Tool {
    /// Makes calls, and returns their outputs in the same order. An error is the text of its output.
    pub fn run(&self, calls: &[&Map<String, Value>], context: &ToolContext<'_>) -> Vec<Output> {
        let until = context.until.no_later_than(Instant::now() + MAX_CALL_TIME);
        (self.run)(&self.description, &ToolContext { until, ..context.clone() }, calls)
    }
}

impl ToolDescription {
    /// Checks the arguments of a call by their names and types.
    ///
    /// # Errors
    /// [`ToolError`] of the first argument that does not exist, or whose value does not fit.
    pub fn check(&self, call: &Map<String, Value>) -> Result<(), ToolError> {
        check(&self.schema, &self.parameters, call)
    }

    /// The tool with this description. `answer` answers a call with a structured value, `output` formats it as text for a
    /// model.
    pub(super) fn answered<A, R>(
        self,
        answer: fn(&ToolContext<'_>, &A) -> Result<R, ToolError>,
        output: fn(&A, &R) -> Output,
    ) -> Tool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + 'static,
    {
        let answer_all =
            move |context: &ToolContext<'_>, calls: &[A]| calls.iter().map(|call| answer(context, call)).collect();
        Tool { shares_work: false, ..self.answered_together(answer_all, output) }
    }

    /// A tool for which several calls are faster together. `answer_all` answers calls in their order.
    pub(super) fn answered_together<A, R>(
        self,
        answer_all: impl Fn(&ToolContext<'_>, &[A]) -> Vec<Result<R, ToolError>> + Send + Sync + 'static,
        output: fn(&A, &R) -> Output,
    ) -> Tool
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + 'static,
    {
        Tool {
            description: self.with_arguments::<A>(),
            shares_work: true,
            run: Box::new(move |description, context, calls| {
                description.answer_all(calls, |arguments: Vec<A>| {
                    let mut outputs = Vec::new();
                    for (arguments, answer) in arguments.iter().zip(answer_all(context, &arguments)) {
                        outputs.push(answer.map(|answer| Output {
                            structured: to_raw_value(&answer).ok(),
                            ..output(arguments, &answer)
                        }));
                    }
                    outputs
                })
            }),
        }
    }

    /// Reads the arguments of calls, answers the readable ones in their order, and limits and redacts the texts. A panic is
    /// an error. An error is the text of its output.
    pub fn answer_all<A: DeserializeOwned>(
        &self,
        calls: &[&Map<String, Value>],
        answer_all: impl FnOnce(Vec<A>) -> Vec<Result<Output, ToolError>>,
    ) -> Vec<Output> {
        let (mut readable, mut errors) = (Vec::new(), Vec::new());
        for call in calls {
            let arguments = read::<A>(&self.schema, &self.parameters, call);
            errors.push(arguments.map(|arguments| readable.push(arguments)).err());
        }
        let run = || {
            let answers = answer_all(readable).into_iter();
            answers.map(|answer| answer.map(Output::limited_and_redacted)).collect::<Vec<_>>()
        };
        let mut answered = catch_unwind(AssertUnwindSafe(run)).unwrap_or_default().into_iter();
        let mut outputs = Vec::new();
        for error in errors {
            let output = match error {
                Some(error) => Err(error),
                None => answered.next().unwrap_or(Err(ToolError::Panicked(self.name))),
            };
            outputs.push(output.unwrap_or_else(|error| Output::failed(error.to_string())));
        }
        outputs
    }
}
