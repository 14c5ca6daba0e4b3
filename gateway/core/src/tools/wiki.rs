//! The tools of the team's wiki: the digest, and pages with their links. Names, arguments and members are those of
//! mind-map, so that its users change nothing.

use std::sync::Arc;

use muninn_context_engine::tools::Effect::{Reads, Replaces, Writes};
use muninn_context_engine::tools::ToolError;
use muninn_notebooks::wiki::{PageChange, WikiError};
use muninn_text::neutral::{Ground, restore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tool::{NoArguments, failed, failed_with_hint, named, tool};
use super::{ClientTool, ToolSession, ToolSet};
use crate::{PageView, Wiki};

/// Number of found pages if the caller names none, and the most that one call shows.
const FOUND: usize = 20;
const MAX_FOUND: usize = 100;
/// The most bytes of a page that a call shows or replaces.
const MAX_PAGE_BYTES: usize = 30_000;
/// Other names that models write for the path of a page, and for its text.
const PATH_ALIASES: &[&str] = &["page", "name"];
const TEXT_ALIASES: &[&str] = &["text", "body", "markdown"];

/// The team's wiki.
fn wiki(session: &ToolSession) -> Result<Arc<Wiki>, ToolError> {
    session.workspace.wiki(&session.caller).map_err(error)
}

fn error(error: WikiError) -> ToolError {
    let hint = match &error {
        WikiError::NoFolder(_) => Some("run `muninn init` first"),
        WikiError::NoPage { .. } => Some("`search_pages` and `list_pages` name the pages"),
        WikiError::Exists(_) => Some("read it with `get_page`, change it with `update_page`"),
        WikiError::Changed { .. } => Some("read it again with `get_page`, and apply the change to that text"),
        _ => None,
    };
    failed_with_hint(error, hint)
}

/// The argument of tools for one page.
#[derive(Deserialize, JsonSchema)]
struct PageArguments {
    /// the page's path without .md, such as http/errors
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct SearchPagesArguments {
    /// words of the pages
    query: String,
    /// how many pages; 20 if absent
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct CreatePageArguments {
    /// the page's path without .md, such as http/errors
    path: String,
    /// the Markdown; [[path]] links to a page
    content: String,
}

#[derive(Deserialize, JsonSchema)]
struct UpdatePageArguments {
    /// the page's path without .md
    path: String,
    /// the whole new Markdown; without front matter the page keeps its own
    content: Option<String>,
    /// keys of the front matter to set; null removes one, the others stay
    frontmatter: Option<Map<String, Value>>,
    /// the etag that get_page gave: the call fails if the page was changed since
    etag: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct MovePageArguments {
    /// the page's path without .md
    from: String,
    /// the new path
    to: String,
}

#[derive(Deserialize, JsonSchema)]
struct ListPagesArguments {
    /// the beginning of the paths, such as http/
    prefix: Option<String>,
}

/// A page as a call shows it.
#[derive(Serialize)]
struct ShownPage {
    #[serde(flatten)]
    page: PageView,
    /// Says that the text was shortened.
    cut: Option<String>,
}

pub(super) fn tools() -> [ClientTool; 10] {
    use ToolSet::Wiki;
    [
        tool("get_wiki_digest", Wiki, Reads, "wiki digest overview start")
            .about(
                "What the team's wiki is about: its terms, areas and recently used pages. Call it at the start of a \
                 conversation.",
            )
            .answered(|session, _: NoArguments| Ok(wiki(session)?.digest())),
        tool("get_wiki_context", Wiki, Reads, "wiki context folders recent pages")
            .about("The wiki's number of pages, folders and last changed pages, and its digest.")
            .answered(|session, _: NoArguments| Ok(wiki(session)?.context())),
        tool("search_pages", Wiki, Reads, "search wiki pages full text")
            .about("Search the wiki's texts; the best pages first, each with the line that matches.")
            .parameter("query", &["q", "text", "question"])
            .parameter("limit", &["max", "count"])
            .answered(|session, arguments: SearchPagesArguments| {
                let limit = arguments.limit.unwrap_or(FOUND).min(MAX_FOUND);
                let found = session.workspace.search_pages(&*wiki(session)?, &arguments.query, limit);
                Ok(named("pages", found))
            }),
        tool("get_page", Wiki, Reads, "read wiki page links backlinks")
            .about("Read a wiki page: its text, front matter, links, backlinks, and the etag for an update.")
            .parameter("path", PATH_ALIASES)
            .answered(|session, arguments: PageArguments| {
                let mut page = wiki(session)?.show(&arguments.path).map_err(error)?;
                let length = page.body.len();
                let end = page.body.floor_char_boundary(MAX_PAGE_BYTES);
                page.body.truncate(end);
                let cut = format!("{end} of {length} bytes are shown; read the file for the rest");
                Ok(ShownPage { page, cut: (end < length).then_some(cut) })
            }),
        tool("create_page", Wiki, Writes, "create write new wiki page")
            .about("Create a wiki page; fails if it exists. Search first, and link to related pages.")
            .parameter("path", PATH_ALIASES)
            .document("content", TEXT_ALIASES)
            .answered(|session, arguments: CreatePageArguments| {
                let path = wiki(session)?.create(&arguments.path, &arguments.content).map_err(error)?;
                Ok(named("path", path))
            }),
        tool("update_page", Wiki, Replaces, "update change edit wiki page")
            .about("Change a wiki page's text or front matter. Read the page first.")
            .parameter("path", PATH_ALIASES)
            .document("content", TEXT_ALIASES)
            .parameter("frontmatter", &["front_matter", "metadata"])
            .parameter("etag", &["version"])
            .answered(update),
        tool("move_page", Wiki, Replaces, "move rename wiki page links")
            .about("Move or rename a wiki page, and change every link to it.")
            .parameter("from", &["path", "source"])
            .parameter("to", &["target", "destination"])
            .answered(|session, arguments: MovePageArguments| {
                wiki(session)?.rename(&arguments.from, &arguments.to).map_err(error)
            }),
        tool("delete_page", Wiki, Replaces, "delete remove wiki page")
            .about("Delete a wiki page; git or a trash folder keeps its text. Lists the links it breaks.")
            .parameter("path", PATH_ALIASES)
            .answered(|session, arguments: PageArguments| wiki(session)?.delete(&arguments.path).map_err(error)),
        tool("list_pages", Wiki, Reads, "list wiki pages folder")
            .about("List the wiki's pages with their titles.")
            .parameter("prefix", &["path", "folder"])
            .answered(|session, arguments: ListPagesArguments| {
                Ok(named("pages", wiki(session)?.list(&arguments.prefix.unwrap_or_default())))
            }),
        tool("get_backlinks", Wiki, Reads, "wiki backlinks who links")
            .about("List the wiki pages that link to a page.")
            .parameter("path", PATH_ALIASES)
            .answered(|session, arguments: PageArguments| {
                Ok(named("pages", wiki(session)?.backlinks(&arguments.path).map_err(error)?))
            }),
    ]
}

/// Changes a page's text or front matter.
fn update(session: &ToolSession, arguments: UpdatePageArguments) -> Result<Value, ToolError> {
    let wiki = wiki(session)?;
    if arguments.content.is_none() && arguments.frontmatter.is_none() {
        return Err(ToolError::Missing("content"));
    }
    let path = arguments.path;
    // A model cannot have read all of such a page.
    if arguments.content.is_some() && wiki.size(&path) > MAX_PAGE_BYTES as u64 {
        return Err(failed(format!("{path} is too long for this tool, which shows the beginning only: edit its file")));
    }
    // The model has read the page without markers.
    let current = wiki.show(&path).map(|page| page.body).unwrap_or_default();
    let content = arguments.content.as_ref().map(|content| restore(content, &current, Ground::Prose));
    let change = PageChange { text: content.as_deref(), front_matter: arguments.frontmatter.as_ref() };
    let etag = wiki.update(&path, &change, arguments.etag.as_deref()).map_err(error)?;
    Ok(json!({"path": path, "etag": etag}))
}
