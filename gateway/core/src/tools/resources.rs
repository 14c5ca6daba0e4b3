//! Pages of the wiki, memories and receipts by their addresses.

use muninn_context_engine::render::{Ground, heading, neutralize};
use muninn_text::redact;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolSession;
use super::limits::MOST;
use super::result::clean;
use crate::{ListedPage, RecallQuery, RecalledMemory, find_receipt};

const KNOWLEDGE: &str = "muninn://knowledge/";
const MEMORY: &str = "muninn://memory/";
const RECEIPT: &str = "muninn://receipt/";
/// The largest page that is shown, in bytes.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// The characters of a page's path that an address escapes: a name could be a marker, and none stands in a URI.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'<').add(b'>').add(b'[').add(b']').add(b'|').add(b'#');

/// The kind of a resource's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// A page.
    Markdown,
    /// A memory or a receipt.
    Json,
}

/// A resource's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceText {
    /// The text, redacted, bounded and without markers.
    pub text: String,
    pub kind: ResourceKind,
}

/// Whether an address is that of a receipt.
pub(super) fn is_receipt(address: &str) -> bool {
    address.starts_with(RECEIPT)
}

/// The address and the file of each page of the wiki.
pub(super) fn list(session: &ToolSession) -> Vec<(String, String)> {
    let pages = session.workspace.wiki(&session.caller).map(|wiki| wiki.list("")).unwrap_or_default();
    let file = |page: &ListedPage| page.path.file();
    let pages = pages.iter().map(file);
    let address = |file: &str| format!("{KNOWLEDGE}{}", utf8_percent_encode(file, ESCAPED));
    pages.map(|file| (address(&file), heading(&file))).collect()
}

/// Reads a resource; `None` if there is none with this address. Blocks.
pub(super) fn read(session: &ToolSession, address: &str) -> Option<ResourceText> {
    let (mut text, kind) = if let Some(path) = address.strip_prefix(KNOWLEDGE) {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        let text = page(session, path).or_else(|| page(session, &decoded))?;
        (neutralize(&redact(&text), Ground::Prose).into_owned(), ResourceKind::Markdown)
    } else if let Some(id) = address.strip_prefix(MEMORY) {
        (memory(session, id)?, ResourceKind::Json)
    } else {
        let id = address.strip_prefix(RECEIPT)?;
        (receipt(session, id)?, ResourceKind::Json)
    };
    text.truncate(text.floor_char_boundary(MOST));
    Some(ResourceText { text, kind })
}

fn page(session: &ToolSession, path: &str) -> Option<String> {
    let wiki = session.workspace.wiki(&session.caller).ok()?;
    (wiki.size(path) <= MAX_PAGE_BYTES).then(|| wiki.text(path).ok())?
}

fn memory(session: &ToolSession, id: &str) -> Option<String> {
    let query = RecallQuery { question: Some(id.to_owned()), limit: 1, ..RecallQuery::default() };
    let found = session.workspace.recall(&query).ok()?;
    // A text that is no id is searched for.
    let found = found.iter().find(|recalled| recalled.memory.source.contains(id))?;
    Some(json(RecalledMemory::as_json(found)))
}

/// A receipt of the session's worktree. Those of other worktrees do not exist for it.
fn receipt(session: &ToolSession, id: &str) -> Option<String> {
    let store = session.app.store.as_ref()?;
    let receipt = find_receipt(&**store, id).ok()?;
    let is_here = receipt.worktree == session.workspace.root.display().to_string();
    let is_own = receipt.key.as_deref().unwrap_or_default() == session.caller.name();
    serde_json::to_value(&receipt).ok().filter(|_| is_here && is_own).map(json)
}

/// An object with clean texts. A line end in JSON hides where a line begins, so each text is cleaned by itself.
fn json(mut value: Value) -> String {
    clean(&mut value, Ground::Prose);
    value.to_string()
}
