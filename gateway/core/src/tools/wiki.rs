//! The tools of the team's wiki: the digest, and pages with their links. Names, arguments and members are those of
//! mind-map, so that its users change nothing.

use std::sync::Arc;

use muninn_context_engine::tools::{Effect, Output, Parameter, ToolError};
use muninn_notebooks::wiki::{Deleted, Digest, Moved, PageChange, WikiError};
use muninn_text::neutral::{Ground, restore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ToolSession;
use super::tool::{NoArguments, SessionTool, failed, failed_with_hint};
use crate::{FoundPage, ListedPage, PageView, Wiki, WikiContext};

/// Number of found pages if the caller names none, and the most that one call shows.
const FOUND: usize = 20;
const MAX_FOUND: usize = 100;
/// The most bytes of a page that a call shows or replaces.
const MAX_PAGE_BYTES: usize = 30_000;

const PATH: Parameter = Parameter::described("path", &["page", "name"]);

/// The team's wiki.
fn wiki(session: &ToolSession) -> Result<Arc<Wiki>, ToolError> {
    session.workspace.wiki().map_err(error)
}

fn error(error: WikiError) -> ToolError {
    let hint = match &error {
        WikiError::NoFolder(_) => Some("run `muninn init` first"),
        WikiError::NoPage(_) => Some("`search_pages` and `list_pages` name the pages"),
        WikiError::Exists(_) => Some("read it with `get_page`, change it with `update_page`"),
        WikiError::Changed { .. } => Some("read it again with `get_page`, and apply the change to that text"),
        _ => None,
    };
    failed_with_hint(error, hint)
}

/// The page is too long for a call.
#[derive(Debug, thiserror::Error)]
#[error("{0} is too long for this tool, which shows the beginning only: edit its file")]
struct TooLong(String);

/// The argument of tools for one page.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct PageArguments {
    /// the page's path without .md, such as http/errors
    path: String,
}

/// The digest of the wiki.
pub(super) struct GetWikiDigest;

impl SessionTool for GetWikiDigest {
    type Arguments = NoArguments;
    type Answer = Digest;

    const NAME: &'static str = "get_wiki_digest";
    const HINT: &'static str = "wiki digest overview start";
    const DESCRIPTION: &'static str = "What the team's wiki is about: its terms, areas and recently used pages. Call it at \
        the start of a conversation.";

    fn answer(session: &ToolSession, _: &NoArguments) -> Result<Digest, ToolError> {
        Ok(wiki(session)?.digest())
    }

    fn output(_: &NoArguments, digest: &Digest) -> Output {
        Output::from_text(digest.markdown.clone())
    }
}

/// The digest in the form of earlier servers.
pub(super) struct GetWikiContext;

impl SessionTool for GetWikiContext {
    type Arguments = NoArguments;
    type Answer = WikiContext;

    const NAME: &'static str = "get_wiki_context";
    const HINT: &'static str = "wiki context folders recent pages";
    const DESCRIPTION: &'static str = "The wiki's number of pages, folders and last changed pages, and its digest.";

    fn answer(session: &ToolSession, _: &NoArguments) -> Result<WikiContext, ToolError> {
        Ok(wiki(session)?.context())
    }
}

/// Searches pages.
pub(super) struct SearchPages;

/// The arguments of [`SearchPages`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SearchPagesArguments {
    /// words of the pages
    query: String,
    /// how many pages; 20 if absent
    limit: Option<usize>,
}

/// Found pages.
#[derive(Debug, Serialize)]
pub(super) struct FoundPages {
    pages: Vec<FoundPage>,
}

impl SessionTool for SearchPages {
    type Arguments = SearchPagesArguments;
    type Answer = FoundPages;

    const NAME: &'static str = "search_pages";
    const HINT: &'static str = "search wiki pages full text";
    const DESCRIPTION: &'static str = "Search the wiki's texts; the best pages first, each with the line that matches.";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::described("query", &["q", "text", "question"]), Parameter::described("limit", &["max", "count"])];

    fn answer(session: &ToolSession, arguments: &SearchPagesArguments) -> Result<FoundPages, ToolError> {
        let limit = arguments.limit.unwrap_or(FOUND).min(MAX_FOUND);
        let pages = wiki(session)?.search(&arguments.query, limit);
        Ok(FoundPages { pages })
    }
}

/// Reads a page.
pub(super) struct GetPage;

/// A page as a call shows it.
#[derive(Debug, Serialize)]
pub(super) struct ShownPage {
    #[serde(flatten)]
    page: PageView,
    /// Says that the text was shortened.
    cut: Option<String>,
}

impl SessionTool for GetPage {
    type Arguments = PageArguments;
    type Answer = ShownPage;

    const NAME: &'static str = "get_page";
    const HINT: &'static str = "read wiki page links backlinks";
    const DESCRIPTION: &'static str =
        "Read a wiki page: its text, front matter, links, backlinks, and the etag for an update.";
    const PARAMETERS: &'static [Parameter] = &[PATH];

    fn answer(session: &ToolSession, arguments: &PageArguments) -> Result<ShownPage, ToolError> {
        let wiki = wiki(session)?;
        let mut page = wiki.show(&arguments.path).map_err(error)?;
        let length = page.body.len();
        let end = page.body.floor_char_boundary(MAX_PAGE_BYTES);
        page.body.truncate(end);
        let cut = (end < length).then(|| format!("{} of {length} bytes are shown; read the file for the rest", end));
        Ok(ShownPage { page, cut })
    }
}

/// Creates a page.
pub(super) struct CreatePage;

/// The arguments of [`CreatePage`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct CreatePageArguments {
    /// the page's path without .md, such as http/errors
    path: String,
    /// the Markdown; [[path]] links to a page
    content: String,
}

/// A page that was written.
#[derive(Debug, Serialize)]
pub(super) struct WrittenPage {
    path: String,
    etag: Option<String>,
}

impl SessionTool for CreatePage {
    type Arguments = CreatePageArguments;
    type Answer = WrittenPage;

    const NAME: &'static str = "create_page";
    const HINT: &'static str = "create write new wiki page";
    const DESCRIPTION: &'static str =
        "Create a wiki page; fails if it exists. Search first, and link to related pages.";
    const PARAMETERS: &'static [Parameter] = &[PATH, Parameter::document("content", &["text", "body", "markdown"])];
    const EFFECT: Effect = Effect::Writes;

    fn answer(session: &ToolSession, arguments: &CreatePageArguments) -> Result<WrittenPage, ToolError> {
        let path = wiki(session)?.create(&arguments.path, &arguments.content).map_err(error)?;
        Ok(WrittenPage { path: path.to_string(), etag: None })
    }

    fn output(_: &CreatePageArguments, page: &WrittenPage) -> Output {
        Output::from_text(format!("Created page: {}", page.path))
    }
}

/// Replaces a page's text.
pub(super) struct UpdatePage;

/// The arguments of [`UpdatePage`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct UpdatePageArguments {
    /// the page's path without .md
    path: String,
    /// the whole new Markdown; without front matter the page keeps its own
    content: Option<String>,
    /// keys of the front matter to set; null removes one, the others stay
    frontmatter: Option<Map<String, Value>>,
    /// the etag that get_page gave: the call fails if the page was changed since
    etag: Option<String>,
}

impl SessionTool for UpdatePage {
    type Arguments = UpdatePageArguments;
    type Answer = WrittenPage;

    const NAME: &'static str = "update_page";
    const HINT: &'static str = "update change edit wiki page";
    const DESCRIPTION: &'static str = "Change a wiki page's text or front matter. Read the page first.";
    const PARAMETERS: &'static [Parameter] = &[
        PATH,
        Parameter::document("content", &["text", "body", "markdown"]),
        Parameter::described("frontmatter", &["front_matter", "metadata"]),
        Parameter::described("etag", &["version"]),
    ];
    const EFFECT: Effect = Effect::Replaces;

    fn answer(session: &ToolSession, arguments: &UpdatePageArguments) -> Result<WrittenPage, ToolError> {
        let wiki = wiki(session)?;
        if arguments.content.is_none() && arguments.frontmatter.is_none() {
            return Err(ToolError::Missing("content"));
        }
        // A model cannot have read all of such a page.
        if arguments.content.is_some() && wiki.size(&arguments.path) > MAX_PAGE_BYTES as u64 {
            return Err(failed(TooLong(arguments.path.clone())));
        }
        // The model has read the page without markers.
        let current = wiki.show(&arguments.path).map(|page| page.body).unwrap_or_default();
        let content = arguments.content.as_ref().map(|content| restore(content, &current, Ground::Prose));
        let change = PageChange { text: content.as_deref(), front_matter: arguments.frontmatter.as_ref() };
        let etag = wiki.update(&arguments.path, &change, arguments.etag.as_deref());
        Ok(WrittenPage { path: arguments.path.clone(), etag: Some(etag.map_err(error)?) })
    }

    fn output(_: &UpdatePageArguments, page: &WrittenPage) -> Output {
        Output::from_text(format!("Updated page: {}", page.path))
    }
}

/// Moves a page.
pub(super) struct MovePage;

/// The arguments of [`MovePage`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct MovePageArguments {
    /// the page's path without .md
    from: String,
    /// the new path
    to: String,
}

impl SessionTool for MovePage {
    type Arguments = MovePageArguments;
    type Answer = Moved;

    const NAME: &'static str = "move_page";
    const HINT: &'static str = "move rename wiki page links";
    const DESCRIPTION: &'static str = "Move or rename a wiki page, and change every link to it.";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::described("from", &["path", "source"]), Parameter::described("to", &["target", "destination"])];
    const EFFECT: Effect = Effect::Replaces;

    fn answer(session: &ToolSession, arguments: &MovePageArguments) -> Result<Moved, ToolError> {
        wiki(session)?.rename(&arguments.from, &arguments.to).map_err(error)
    }

    fn output(_: &MovePageArguments, moved: &Moved) -> Output {
        let links = moved.rewritten.len();
        Output::from_text(format!("Moved page: {} to {}; links changed in {links} pages", moved.from, moved.to))
    }
}

/// Deletes a page.
pub(super) struct DeletePage;

impl SessionTool for DeletePage {
    type Arguments = PageArguments;
    type Answer = Deleted;

    const NAME: &'static str = "delete_page";
    const HINT: &'static str = "delete remove wiki page";
    const DESCRIPTION: &'static str =
        "Delete a wiki page; git or a trash folder keeps its text. Lists the links it breaks.";
    const PARAMETERS: &'static [Parameter] = &[PATH];
    const EFFECT: Effect = Effect::Replaces;

    fn answer(session: &ToolSession, arguments: &PageArguments) -> Result<Deleted, ToolError> {
        wiki(session)?.delete(&arguments.path).map_err(error)
    }

    fn output(_: &PageArguments, deleted: &Deleted) -> Output {
        Output::from_text(format!("Deleted page: {}", deleted.path))
    }
}

/// Lists pages.
pub(super) struct ListPages;

/// The arguments of [`ListPages`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ListPagesArguments {
    /// the beginning of the paths, such as http/
    prefix: Option<String>,
}

/// Listed pages.
#[derive(Debug, Serialize)]
pub(super) struct ListedPages {
    pages: Vec<ListedPage>,
}

impl SessionTool for ListPages {
    type Arguments = ListPagesArguments;
    type Answer = ListedPages;

    const NAME: &'static str = "list_pages";
    const HINT: &'static str = "list wiki pages folder";
    const DESCRIPTION: &'static str = "List the wiki's pages with their titles.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("prefix", &["path", "folder"])];

    fn answer(session: &ToolSession, arguments: &ListPagesArguments) -> Result<ListedPages, ToolError> {
        let pages = wiki(session)?.list(arguments.prefix.as_deref().unwrap_or_default());
        Ok(ListedPages { pages })
    }
}

/// Lists the pages that link to a page.
pub(super) struct GetBacklinks;

impl SessionTool for GetBacklinks {
    type Arguments = PageArguments;
    type Answer = ListedPages;

    const NAME: &'static str = "get_backlinks";
    const HINT: &'static str = "wiki backlinks who links";
    const DESCRIPTION: &'static str = "List the wiki pages that link to a page.";
    const PARAMETERS: &'static [Parameter] = &[PATH];

    fn answer(session: &ToolSession, arguments: &PageArguments) -> Result<ListedPages, ToolError> {
        let pages = wiki(session)?.backlinks(&arguments.path).map_err(error)?;
        Ok(ListedPages { pages })
    }
}
