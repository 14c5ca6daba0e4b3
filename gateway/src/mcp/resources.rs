//! Resources: knowledge pages, memories and receipts by their addresses.

use std::sync::Arc;

use muninn_memory::redact;
use muninn_repo_tools::{RelPath, read_text};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::result::MOST;
use crate::app::{RecallQuery, RecalledMemory, ToolSession, find_receipt, list_knowledge};

const KNOWLEDGE: &str = "muninn://knowledge/";
const MEMORY: &str = "muninn://memory/";
const RECEIPT: &str = "muninn://receipt/";
/// The directory of the pages.
const PAGES: &str = ".muninn/knowledge";
/// The largest page that is shown, in bytes.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// The addresses that are not listed one by one.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, about: &str, kind: &str| {
        ResourceTemplate::new(uri, name)
            .with_description(about)
            .with_mime_type(kind)
    };
    vec![
        template(
            "muninn://knowledge/{+path}",
            "knowledge",
            "A page of the team's knowledge",
            "text/markdown",
        ),
        template(
            "muninn://memory/{id}",
            "memory",
            "A memory by its id or any unambiguous part of it",
            "application/json",
        ),
        template(
            "muninn://receipt/{id}",
            "receipt",
            "What was added to a prompt, and why",
            "application/json",
        ),
    ]
}

/// The knowledge pages.
pub(super) fn list(session: &ToolSession) -> Vec<Resource> {
    let Some(engine) = &session.workspace.engine else {
        return Vec::new();
    };
    let pages = list_knowledge(engine.worktree()).into_iter();
    let pages = pages.filter_map(|page| {
        let path = page
            .path
            .as_str()
            .strip_prefix(PAGES)?
            .trim_start_matches('/')
            .to_owned();
        Some(Resource::new(format!("{KNOWLEDGE}{path}"), path).with_mime_type("text/markdown"))
    });
    pages.collect()
}

/// Reads a resource. Blocks.
///
/// # Errors
/// An error of the protocol if there is no such resource.
pub(super) fn read(session: &Arc<ToolSession>, uri: &str) -> Result<ResourceContents, ErrorData> {
    let missing = || ErrorData::resource_not_found(format!("there is no resource {uri}"), Some(json!({"uri": uri})));
    let (text, kind) = if let Some(path) = uri.strip_prefix(KNOWLEDGE) {
        (page(session, path).ok_or_else(missing)?, "text/markdown")
    } else if let Some(id) = uri.strip_prefix(MEMORY) {
        (memory(session, id).ok_or_else(missing)?, "application/json")
    } else if let Some(id) = uri.strip_prefix(RECEIPT) {
        (receipt(session, id).ok_or_else(missing)?, "application/json")
    } else {
        return Err(missing());
    };
    let end = text.floor_char_boundary(MOST);
    Ok(ResourceContents::text(redact(&text[..end]), uri).with_mime_type(kind))
}

fn page(session: &ToolSession, path: &str) -> Option<String> {
    let worktree = session.workspace.engine.as_ref()?.worktree();
    let path = RelPath::new(&format!("{PAGES}/{path}")).ok()?;
    let file = read_text(worktree, &path, MAX_PAGE_BYTES).ok()?;
    Some(file.text)
}

fn memory(session: &ToolSession, id: &str) -> Option<String> {
    let query = RecallQuery {
        question: Some(id.to_owned()),
        limit: 1,
        ..RecallQuery::default()
    };
    let found = session.workspace.recall(&query).ok()?;
    // A text that is no id is searched for.
    let found = found.iter().find(|recalled| recalled.memory.source.contains(id))?;
    Some(RecalledMemory::as_json(found).to_string())
}

/// A receipt of the session's worktree. Those of other worktrees do not exist for it.
fn receipt(session: &ToolSession, id: &str) -> Option<String> {
    let store = session.app.store.as_ref()?;
    let receipt = find_receipt(&**store, id).ok()?;
    let is_here = receipt.worktree == session.workspace.root.display().to_string();
    let is_own = receipt.key.as_deref().unwrap_or_default() == session.caller.name();
    serde_json::to_string(&receipt).ok().filter(|_| is_here && is_own)
}
