use std::sync::LazyLock;

use muninn_backend::access::Door;
use muninn_context_engine::tools::{Callers, Definition, GitLog, Grep, Outline, Read, References, Symbols, Tree};

use super::client_tool::{ClientTool, ToolSet};
use super::{context, explore, journal, memory, personal, reminders, wiki, worklog};

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
