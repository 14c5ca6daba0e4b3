//! The tools `recall` and `metis`: the team's knowledge and plans.

use muninn_recall::RecallOptions;
use muninn_repo_tools::Cuts;
use muninn_repo_tools::metis::{MetisDocument, MetisDocuments, MetisLimits, MetisText, document_by_id, documents};
use muninn_team::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Output, Tool, ToolContext, ToolDescription, ToolError};

const MAX_MEMORIES: usize = 6;
const MAX_MEMORY_BYTES: usize = 2_000;

pub(super) fn tools() -> [Tool; 2] {
    [
        ToolDescription::new("metis", Effect::Reads, "")
            .about("Planning documents (visions, initiatives, tasks, decisions): one by its id, or a list of all.")
            .parameter("id", &["document", "code", "name"])
            .paged()
            .answered(metis, plans),
        ToolDescription::new("recall", Effect::Reads, "")
            .about("Recall what the team has written down: knowledge and what earlier sessions learned.")
            .parameter("query", &["question", "text", "about"])
            .answered(recall, |_, found: &Vec<Memory>| memories(found)),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct MetisArguments {
    /// the document's id, such as PROJ-T-0001; without it all are listed
    id: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PlanningDocuments {
    /// The requested document.
    One(MetisText),
    /// All documents, without their texts.
    All(MetisDocuments),
}

/// Shows planning documents.
fn metis(context: &ToolContext<'_>, arguments: &MetisArguments) -> Result<PlanningDocuments, ToolError> {
    let until = context.until.clone();
    if let Some(id) = &arguments.id {
        return Ok(PlanningDocuments::One(document_by_id(context.worktree, id, until)?));
    }
    let limits = MetisLimits { until, ..MetisLimits::default() };
    Ok(PlanningDocuments::All(documents(context.worktree, &limits)))
}

fn plans(_: &MetisArguments, found: &PlanningDocuments) -> Output {
    let found = match found {
        PlanningDocuments::All(found) => found,
        PlanningDocuments::One(found) => {
            let (lines, title) = (found.text.lines().map(str::to_owned), found.document.title.clone());
            return Output::listed(lines, &Cuts::default(), "it is empty", title);
        }
    };
    let line = |document: &MetisDocument| {
        let phase = document.phase.as_deref().unwrap_or("-");
        let MetisDocument { id, kind, title, path, .. } = document;
        format!("{id} {kind} [{phase}] {title} ({path})")
    };
    let summary = format!("{} documents", found.documents.len());
    let lines = found.documents.iter().map(line);
    Output::listed(lines, &found.cuts, "there are no planning documents", summary)
}

#[derive(Deserialize, JsonSchema)]
struct RecallArguments {
    /// what it is about
    query: String,
}

/// Recalls what the team knows.
fn recall(context: &ToolContext<'_>, arguments: &RecallArguments) -> Result<Vec<Memory>, ToolError> {
    let options = RecallOptions { keep: MAX_MEMORIES, ..RecallOptions::default() };
    let found = context.memories.recall(&arguments.query, &options);
    let found = found.iter().filter(|recalled| recalled.score > 0.0);
    Ok(found.filter_map(|recalled| context.memories.get(recalled.doc).cloned()).collect())
}

fn memories(found: &[Memory]) -> Output {
    let lines = found.iter().map(|memory| {
        let end = memory.text.floor_char_boundary(MAX_MEMORY_BYTES);
        let more = if end < memory.text.len() { " [cut]" } else { "" };
        let date = memory.date.as_deref();
        let date = date.map_or_else(String::new, |date| format!(", {date}"));
        let (title, source, text) = (&memory.title, &memory.source, &memory.text[..end]);
        format!("## {title} ({source}{date})\n{text}{more}\n")
    });
    let summary = format!("{} memories", found.len());
    Output::listed(lines, &Cuts::default(), "nothing is remembered about it", summary)
}
