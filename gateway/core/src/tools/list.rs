use std::sync::LazyLock;

use muninn_context_engine::tools::engine_tools;

use super::client_tool::ClientTool;
use super::{context, explore, journal, memory, personal, reminders, wiki, worklog};

/// All tools of clients, in the order in which doors list them.
pub fn client_tools() -> &'static [ClientTool] {
    static TOOLS: LazyLock<Vec<ClientTool>> = LazyLock::new(|| {
        let mut tools = vec![context::find_context_tool()];
        tools.extend(of_engine(&["definition", "references", "callers"]));
        tools.extend(memory::tools());
        tools.extend(of_engine(&["grep", "read", "tree", "symbols", "outline", "git_log"]));
        tools.push(explore::explore_tool());
        tools.extend(memory::chores());
        tools.extend(wiki::tools());
        tools.extend(journal::tools());
        tools.extend(worklog::tools());
        tools.extend(personal::tools());
        tools.extend(reminders::tools());
        tools.push(personal::log_signal_tool());
        tools
    });
    &TOOLS
}

fn of_engine(names: &[&str]) -> impl Iterator<Item = ClientTool> {
    engine_tools(names).into_iter().map(ClientTool::of_engine)
}
