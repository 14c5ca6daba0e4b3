//! The tools of clients: those of the engine, and those that need use cases of the application.
//!
//! [`client_tools`] lists all, in a fixed order, with what a door needs to offer them. A door makes a call with
//! [`App::answer_tools`], in its process or in another one. The engine's registry limits each call and redacts its text.

mod call;
mod context;
mod explore;
mod journal;
mod memory;
mod personal;
mod reminders;
mod resources;
mod result;
mod tool;
mod wiki;
mod worklog;

use std::sync::{Arc, LazyLock};

pub use call::{ToolReply, ToolRequest, ToolRequestKind};
pub use resources::{ResourceKind, ResourceText};
pub use result::ToolResult;

use muninn_backend::access::Door;
use muninn_context_engine::render::Ground;
use muninn_context_engine::tools::{
    Callers, Definition, Effect, GitLog, Grep, Outline, Read, References, Registry, Symbols, Tool, ToolDescription,
    Tree,
};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use self::call::ToolSession;
use self::tool::{InSession, SessionTool};

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

/// The model of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelUse {
    /// None.
    None,
    /// The explorer, without which the tool is not offered.
    Explorer,
    /// That of the journal, if there is one.
    Journal,
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
    /// What a call can change.
    pub effect: Effect,
    /// Whether the result is prose or code, which is shown as text only.
    pub is_prose: bool,
    /// Whether calls outside of a repository are answered.
    pub anywhere: bool,
    /// Whether a call asks a model.
    pub model: ModelUse,
    /// The schema of the structured result, of tools whose results other programs read.
    pub output: Option<fn() -> Schema>,
    add: fn(&mut Registry, &Arc<ToolSession>),
}

impl ClientTool {
    fn of_engine<T: Tool>(set: ToolSet, door: Door, add: fn(&mut Registry, &Arc<ToolSession>)) -> Self {
        Self {
            description: ToolDescription::of_tool::<T>(),
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
    fn of<T: SessionTool>(set: ToolSet, door: Door) -> Self {
        Self {
            anywhere: T::ANYWHERE,
            model: T::MODEL,
            ..Self::of_engine::<InSession<T>>(set, door, |registry, session| {
                registry.add(InSession::<T>::new(session));
            })
        }
    }

    /// A tool of the application whose result has a schema.
    fn with_output<T: SessionTool<Answer: JsonSchema>>(set: ToolSet, door: Door) -> Self {
        Self {
            output: Some(|| SchemaGenerator::default().into_root_schema_for::<T::Answer>()),
            ..Self::of::<T>(set, door)
        }
    }

    /// The kind of the text of a result. Commit messages are prose, unlike the other answers about code.
    fn ground(&self) -> Ground {
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

/// All tools of clients, in the order in which doors list them.
pub fn client_tools() -> &'static [ClientTool] {
    static TOOLS: LazyLock<Vec<ClientTool>> = LazyLock::new(|| {
        use Door::{PersonalTools as Owners, ReadTools as Reads, WriteTools as Writes};
        use ToolSet::{Code, Journal, Memory, Personal, Wiki, Worklog};
        vec![
            ClientTool::of::<context::FindContext>(Code, Reads),
            ClientTool::of_engine::<Definition>(Code, Reads, |registry, _| registry.add(Definition)),
            ClientTool::of_engine::<References>(Code, Reads, |registry, _| registry.add(References)),
            ClientTool::of_engine::<Callers>(Code, Reads, |registry, _| registry.add(Callers)),
            ClientTool::of::<memory::Recall>(Memory, Reads),
            ClientTool::of::<memory::Remember>(Memory, Writes),
            ClientTool::of_engine::<Grep>(Code, Reads, |registry, _| registry.add(Grep)),
            ClientTool::of_engine::<Read>(Code, Reads, |registry, _| registry.add(Read)),
            ClientTool::of_engine::<Tree>(Code, Reads, |registry, _| registry.add(Tree)),
            ClientTool::of_engine::<Symbols>(Code, Reads, |registry, _| registry.add(Symbols)),
            ClientTool::of_engine::<Outline>(Code, Reads, |registry, _| registry.add(Outline)),
            ClientTool::of_engine::<GitLog>(Code, Reads, |registry, _| registry.add(GitLog)),
            ClientTool::of::<explore::Explore>(Code, Reads),
            ClientTool::of::<memory::Forget>(Memory, Writes),
            ClientTool::of::<memory::ListConflicts>(Memory, Reads),
            ClientTool::of::<memory::ResolveConflict>(Memory, Writes),
            ClientTool::of::<wiki::GetWikiDigest>(Wiki, Reads),
            ClientTool::of::<wiki::GetWikiContext>(Wiki, Reads),
            ClientTool::of::<wiki::SearchPages>(Wiki, Reads),
            ClientTool::of::<wiki::GetPage>(Wiki, Reads),
            ClientTool::of::<wiki::CreatePage>(Wiki, Writes),
            ClientTool::of::<wiki::UpdatePage>(Wiki, Writes),
            ClientTool::of::<wiki::MovePage>(Wiki, Writes),
            ClientTool::of::<wiki::DeletePage>(Wiki, Writes),
            ClientTool::of::<wiki::ListPages>(Wiki, Reads),
            ClientTool::of::<wiki::GetBacklinks>(Wiki, Reads),
            ClientTool::of::<journal::JournalSearch>(Journal, Reads),
            ClientTool::of::<journal::JournalRead>(Journal, Reads),
            ClientTool::of::<journal::JournalToc>(Journal, Reads),
            ClientTool::of::<journal::JournalListEntries>(Journal, Reads),
            ClientTool::of::<journal::JournalWrite>(Journal, Writes),
            ClientTool::of::<journal::JournalSynthesizeConflict>(Journal, Writes),
            ClientTool::of::<worklog::WorklogRead>(Worklog, Reads),
            ClientTool::of::<worklog::WorklogAppend>(Worklog, Writes),
            ClientTool::of::<worklog::WorklogMutate>(Worklog, Writes),
            ClientTool::with_output::<personal::GetContext>(Personal, Owners),
            ClientTool::with_output::<personal::LogJournal>(Personal, Owners),
            ClientTool::with_output::<personal::GetRecentJournal>(Personal, Owners),
            ClientTool::with_output::<personal::SearchMemory>(Personal, Owners),
            ClientTool::with_output::<reminders::ScheduleReminder>(Personal, Owners),
            ClientTool::with_output::<reminders::ScheduleOnce>(Personal, Owners),
            ClientTool::with_output::<reminders::ListReminders>(Personal, Owners),
            ClientTool::with_output::<reminders::RemoveReminder>(Personal, Owners),
            ClientTool::with_output::<personal::LogSignal>(Personal, Owners),
        ]
    });
    &TOOLS
}
