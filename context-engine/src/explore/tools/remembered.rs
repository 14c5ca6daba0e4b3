//! `recall` and `metis`: what the team knows and plans.

use muninn_memory::RecallOptions;
use muninn_repo_tools::Cuts;
use muninn_repo_tools::metis::{MetisLimits, document_by_id, documents};

use super::{Arguments, Caller, Output, Spec, Toolbox, listed};

const MAX_MEMORIES: usize = 6;
const MAX_MEMORY_BYTES: usize = 2_000;

pub(super) const RECALL: Spec = Spec {
    name: "recall",
    description: "Recall what the team has written down: knowledge and what earlier sessions learned.",
    parameters: &[("query", "string", "what it is about")],
    required: 1,
    run: Some(recall),
};

pub(super) const METIS: Spec = Spec {
    name: "metis",
    description: "Planning documents (visions, initiatives, tasks, decisions): one by its id, or a list of all.",
    parameters: &[
        (
            "id",
            "string",
            "the document's id, such as PROJ-T-0001; without it all are listed",
        ),
        ("page", "integer", "which page of a long result"),
    ],
    required: 0,
    run: Some(metis),
};

fn recall(tools: &Toolbox<'_>, arguments: &Arguments, _caller: &Caller<'_>) -> Result<Output, String> {
    let asked = arguments.needed(&["query", "question", "text", "about"])?;
    let options = RecallOptions {
        keep: MAX_MEMORIES,
        ..RecallOptions::default()
    };
    let found = tools.memories.recall(&asked, &options);
    let found: Vec<_> = found
        .iter()
        .filter(|recalled| recalled.score > 0.0)
        .filter_map(|recalled| tools.memories.get(recalled.doc))
        .collect();
    let told = found.iter().map(|memory| {
        let end = memory.text.floor_char_boundary(MAX_MEMORY_BYTES);
        let more = if end < memory.text.len() { " [cut]" } else { "" };
        let date = memory
            .date
            .as_deref()
            .map_or_else(String::new, |date| format!(", {date}"));
        format!(
            "## {} ({}{date})\n{}{more}\n",
            memory.title,
            memory.source,
            &memory.text[..end]
        )
    });
    let summary = format!("{} memories", found.len());
    Ok(listed(
        told,
        &Cuts::default(),
        "nothing is remembered about it",
        summary,
    ))
}

fn metis(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    if let Some(id) = arguments.text(&["id", "document", "code", "name"]) {
        let found = document_by_id(tools.worktree, &id, caller.until.clone()).map_err(|error| error.to_string())?;
        let summary = found.document.title.clone();
        return Ok(listed(
            found.text.lines().map(str::to_owned),
            &Cuts::default(),
            "it is empty",
            summary,
        ));
    }
    let limits = MetisLimits {
        until: caller.until.clone(),
        ..MetisLimits::default()
    };
    let found = documents(tools.worktree, &limits);
    let told = found.documents.iter().map(|document| {
        let phase = document.phase.as_deref().unwrap_or("-");
        format!(
            "{} {} [{phase}] {} ({})",
            document.id, document.kind, document.title, document.path
        )
    });
    let summary = format!("{} documents", found.documents.len());
    Ok(listed(told, &found.cuts, "there are no planning documents", summary))
}
