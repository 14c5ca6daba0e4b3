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
mod wiki;
mod worklog;

use std::sync::{Arc, LazyLock};

pub use call::{ToolReply, ToolRequest, ToolRequestKind};
pub use resources::{ResourceKind, ResourceText};
pub use result::ToolResult;

use muninn_context_engine::tools::{
    Callers, Definition, Effect, GitLog, Grep, Outline, Read, References, Registry, Symbols, Tool, ToolDescription,
    Tree,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use self::call::ToolSession;

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
    /// The worklog.
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
    fn of<T: Tool>(set: ToolSet, add: fn(&mut Registry, &Arc<ToolSession>)) -> Self {
        Self {
            description: ToolDescription::of_tool::<T>(),
            set,
            hint: T::HINT,
            effect: T::EFFECT,
            is_prose: T::IS_PROSE,
            anywhere: T::ANYWHERE,
            model: ModelUse::None,
            output: None,
            add,
        }
    }

    fn with_model(self, model: ModelUse) -> Self {
        Self { model, ..self }
    }

    /// A tool whose result has a schema.
    fn with_output<T: Tool<Answer: JsonSchema>>(set: ToolSet, add: fn(&mut Registry, &Arc<ToolSession>)) -> Self {
        Self {
            output: Some(|| SchemaGenerator::default().into_root_schema_for::<T::Answer>()),
            ..Self::of::<T>(set, add)
        }
    }

    /// The name in calls.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.description.name
    }
}

/// All tools of clients, in the order in which doors list them.
pub fn client_tools() -> &'static [ClientTool] {
    static TOOLS: LazyLock<Vec<ClientTool>> = LazyLock::new(|| {
        use ToolSet::{Code, Journal, Memory, Personal, Wiki, Worklog};
        vec![
            ClientTool::of::<context::FindContext>(Code, |registry, session| {
                registry.add(context::FindContext(Arc::clone(session)));
            }),
            ClientTool::of::<Definition>(Code, |registry, _| registry.add(Definition)),
            ClientTool::of::<References>(Code, |registry, _| registry.add(References)),
            ClientTool::of::<Callers>(Code, |registry, _| registry.add(Callers)),
            ClientTool::of::<memory::Recall>(Memory, |registry, session| {
                registry.add(memory::Recall(Arc::clone(session)));
            }),
            ClientTool::of::<memory::Remember>(Memory, |registry, session| {
                registry.add(memory::Remember(Arc::clone(session)));
            }),
            ClientTool::of::<Grep>(Code, |registry, _| registry.add(Grep)),
            ClientTool::of::<Read>(Code, |registry, _| registry.add(Read)),
            ClientTool::of::<Tree>(Code, |registry, _| registry.add(Tree)),
            ClientTool::of::<Symbols>(Code, |registry, _| registry.add(Symbols)),
            ClientTool::of::<Outline>(Code, |registry, _| registry.add(Outline)),
            ClientTool::of::<GitLog>(Code, |registry, _| registry.add(GitLog)),
            ClientTool::of::<explore::Explore>(Code, |registry, session| {
                registry.add(explore::Explore(Arc::clone(session)));
            })
            .with_model(ModelUse::Explorer),
            ClientTool::of::<memory::Forget>(Memory, |registry, session| {
                registry.add(memory::Forget(Arc::clone(session)));
            }),
            ClientTool::of::<memory::ListConflicts>(Memory, |registry, _| registry.add(memory::ListConflicts)),
            ClientTool::of::<memory::ResolveConflict>(Memory, |registry, session| {
                registry.add(memory::ResolveConflict(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::GetWikiDigest>(Wiki, |registry, session| {
                registry.add(wiki::GetWikiDigest(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::GetWikiContext>(Wiki, |registry, session| {
                registry.add(wiki::GetWikiContext(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::SearchPages>(Wiki, |registry, session| {
                registry.add(wiki::SearchPages(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::GetPage>(Wiki, |registry, session| {
                registry.add(wiki::GetPage(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::CreatePage>(Wiki, |registry, session| {
                registry.add(wiki::CreatePage(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::UpdatePage>(Wiki, |registry, session| {
                registry.add(wiki::UpdatePage(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::MovePage>(Wiki, |registry, session| {
                registry.add(wiki::MovePage(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::DeletePage>(Wiki, |registry, session| {
                registry.add(wiki::DeletePage(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::ListPages>(Wiki, |registry, session| {
                registry.add(wiki::ListPages(Arc::clone(session)));
            }),
            ClientTool::of::<wiki::GetBacklinks>(Wiki, |registry, session| {
                registry.add(wiki::GetBacklinks(Arc::clone(session)));
            }),
            ClientTool::of::<journal::JournalSearch>(Journal, |registry, session| {
                registry.add(journal::JournalSearch(Arc::clone(session)));
            }),
            ClientTool::of::<journal::JournalRead>(Journal, |registry, session| {
                registry.add(journal::JournalRead(Arc::clone(session)));
            }),
            ClientTool::of::<journal::JournalToc>(Journal, |registry, session| {
                registry.add(journal::JournalToc(Arc::clone(session)));
            }),
            ClientTool::of::<journal::JournalListEntries>(Journal, |registry, session| {
                registry.add(journal::JournalListEntries(Arc::clone(session)));
            }),
            ClientTool::of::<journal::JournalWrite>(Journal, |registry, session| {
                registry.add(journal::JournalWrite(Arc::clone(session)));
            }),
            ClientTool::of::<journal::JournalSynthesizeConflict>(Journal, |registry, session| {
                registry.add(journal::JournalSynthesizeConflict(Arc::clone(session)));
            })
            .with_model(ModelUse::Journal),
            ClientTool::of::<worklog::WorklogRead>(Worklog, |registry, session| {
                registry.add(worklog::WorklogRead(Arc::clone(session)));
            }),
            ClientTool::of::<worklog::WorklogAppend>(Worklog, |registry, session| {
                registry.add(worklog::WorklogAppend(Arc::clone(session)));
            }),
            ClientTool::of::<worklog::WorklogMutate>(Worklog, |registry, session| {
                registry.add(worklog::WorklogMutate(Arc::clone(session)));
            }),
            ClientTool::with_output::<personal::GetContext>(Personal, |registry, session| {
                registry.add(personal::GetContext(Arc::clone(session)));
            }),
            ClientTool::with_output::<personal::LogJournal>(Personal, |registry, session| {
                registry.add(personal::LogJournal(Arc::clone(session)));
            }),
            ClientTool::with_output::<personal::GetRecentJournal>(Personal, |registry, session| {
                registry.add(personal::GetRecentJournal(Arc::clone(session)));
            }),
            ClientTool::with_output::<personal::SearchMemory>(Personal, |registry, session| {
                registry.add(personal::SearchMemory(Arc::clone(session)));
            }),
            ClientTool::with_output::<reminders::ScheduleReminder>(Personal, |registry, session| {
                registry.add(reminders::ScheduleReminder(Arc::clone(session)));
            }),
            ClientTool::with_output::<reminders::ScheduleOnce>(Personal, |registry, session| {
                registry.add(reminders::ScheduleOnce(Arc::clone(session)));
            }),
            ClientTool::with_output::<reminders::ListReminders>(Personal, |registry, session| {
                registry.add(reminders::ListReminders(Arc::clone(session)));
            }),
            ClientTool::with_output::<reminders::RemoveReminder>(Personal, |registry, session| {
                registry.add(reminders::RemoveReminder(Arc::clone(session)));
            }),
            ClientTool::with_output::<personal::LogSignal>(Personal, |registry, session| {
                registry.add(personal::LogSignal(Arc::clone(session)));
            }),
        ]
    });
    &TOOLS
}
