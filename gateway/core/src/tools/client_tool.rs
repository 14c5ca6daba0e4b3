use std::sync::Arc;

use muninn_backend::access::Door;
use muninn_context_engine::render::Ground;
use muninn_context_engine::tools::{Effect, GitLog, Registry, Tool, ToolDescription};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::model_use::ModelUse;
use super::session::ToolSession;
use super::tool::{InSession, SessionTool};

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

/// A tool as doors offer it.
pub struct ClientTool {
    /// The name, the description and the arguments.
    pub description: ToolDescription,
    /// The set that it belongs to.
    pub set: ToolSet,
    /// Its row in the table of doors.
    pub door: Door,
    /// Words by which a client that loads tools on demand finds it.
    pub hint: &'static str,
    /// The effect of a call.
    pub effect: Effect,
    /// Whether the result is prose or code, which is shown as text only.
    pub is_prose: bool,
    /// Whether calls outside of a repository are answered.
    pub anywhere: bool,
    /// Whether a call asks a model.
    pub model: ModelUse,
    /// The schema of the structured result, of tools whose results other programs read.
    pub output: Option<fn() -> Schema>,
    pub(crate) add: fn(&mut Registry, &Arc<ToolSession>),
}

impl ClientTool {
    pub(crate) fn of_engine<T: Tool>(set: ToolSet, door: Door, add: fn(&mut Registry, &Arc<ToolSession>)) -> Self {
        Self {
            description: T::described(),
            set,
            door,
            hint: T::HINT,
            effect: T::EFFECT,
            is_prose: T::IS_PROSE,
            anywhere: false,
            model: ModelUse::None,
            output: None,
            add,
        }
    }

    /// A tool of the application.
    pub(crate) fn of<T: SessionTool>(set: ToolSet, door: Door) -> Self {
        Self {
            anywhere: T::ANYWHERE,
            model: T::MODEL,
            ..Self::of_engine::<InSession<T>>(set, door, |registry, session| {
                registry.add(InSession::<T>::new(session));
            })
        }
    }

    /// A tool of the application whose result has a schema.
    pub(crate) fn with_output<T: SessionTool<Answer: JsonSchema>>(set: ToolSet, door: Door) -> Self {
        Self {
            output: Some(|| SchemaGenerator::default().into_root_schema_for::<T::Answer>()),
            ..Self::of::<T>(set, door)
        }
    }

    /// The kind of the text of a result. Commit messages are prose, unlike the other answers about code.
    pub(crate) fn ground(&self) -> Ground {
        match self.set {
            ToolSet::Code if self.name() != <GitLog as Tool>::NAME => Ground::Code,
            _ => Ground::Prose,
        }
    }

    /// The name in calls.
    pub fn name(&self) -> &'static str {
        self.description.name
    }
}
