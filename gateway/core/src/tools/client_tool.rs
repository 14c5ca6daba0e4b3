use muninn_backend::access::Door;
use muninn_context_engine::render::Ground;
use muninn_context_engine::tools::{Effect, Output, Tool, ToolContext, ToolDescription, ToolError};
use schemars::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model_use::ModelUse;
use super::session::ToolSession;

/// A set of tools that the user can offer to clients by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSet {
    /// Questions about the repository.
    Code,
    /// The team's memory.
    Memory,
    /// The team's wiki.
    Wiki,
    /// The git journal.
    Journal,
    Worklog,
    /// The user's personal memory.
    Personal,
}

impl ToolSet {
    /// All sets with their names.
    pub const EACH: [(&'static str, ToolSet); 6] = [
        ("code", ToolSet::Code),
        ("memory", ToolSet::Memory),
        ("wiki", ToolSet::Wiki),
        ("journal", ToolSet::Journal),
        ("worklog", ToolSet::Worklog),
        ("personal", ToolSet::Personal),
    ];
}

type Run =
    dyn Fn(&ToolDescription, &ToolSession, Option<&ToolContext<'_>>, &Map<String, Value>) -> Output + Send + Sync;

/// A tool as doors offer it.
pub struct ClientTool {
    pub description: ToolDescription,
    /// The set that it belongs to.
    pub set: ToolSet,
    /// Whether a call asks a model.
    pub model: ModelUse,
    /// The schema of the structured result, of tools whose results other programs read.
    pub output: Option<fn() -> Schema>,
    pub(super) run: Box<Run>,
}

impl ClientTool {
    /// A tool of the engine.
    pub(super) fn of_engine(tool: Tool) -> Self {
        Self {
            description: tool.description.clone(),
            set: ToolSet::Code,
            model: ModelUse::None,
            output: None,
            run: Box::new(move |_, _, context, call| match context {
                Some(context) => tool.run(&[call], context).pop().unwrap_or_default(),
                None => Output::failed(ToolError::NoWorktree.to_string()),
            }),
        }
    }

    /// Makes a call. There is no context outside of a repository.
    pub(super) fn run(
        &self,
        session: &ToolSession,
        context: Option<&ToolContext<'_>>,
        call: &Map<String, Value>,
    ) -> Output {
        (self.run)(&self.description, session, context, call)
    }

    /// Its row in the table of doors.
    pub fn door(&self) -> Door {
        match (self.set, self.description.effect) {
            (ToolSet::Personal, _) => Door::PersonalTools,
            (_, Effect::Reads) => Door::ReadTools,
            (_, Effect::Writes | Effect::Replaces) => Door::WriteTools,
        }
    }

    /// What a call does.
    pub fn effect(&self) -> Effect {
        self.description.effect
    }

    /// Whether calls outside of a repository are answered.
    pub(super) fn is_anywhere(&self) -> bool {
        self.set == ToolSet::Personal
    }

    /// The kind of the text of a result. Commit messages are prose, unlike the other answers about code.
    pub(super) fn ground(&self) -> Ground {
        match self.set {
            ToolSet::Code if self.name() != "git_log" => Ground::Code,
            _ => Ground::Prose,
        }
    }

    /// The name in calls.
    pub fn name(&self) -> &'static str {
        self.description.name
    }
}
