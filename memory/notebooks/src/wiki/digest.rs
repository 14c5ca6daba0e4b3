//! The digest of a wiki: what it is about, its areas, and the pages in use, in about a thousand tokens.

use std::collections::BTreeMap;

use muninn_text::neutral::{Ground, neutralize};
use serde::Serialize;

use super::cloud::Term;
use super::pages::Pages;
use super::path::PagePath;

/// The size above which a digest is trimmed, in bytes.
pub const MOST_BYTES: usize = 4_096;
/// The last line of every digest.
const FOOTER: &str = "`muninn wiki digest` shows the live version.";

/// A folder at the top of a wiki.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Area {
    /// The folder.
    pub name: String,
    /// The pages below it.
    pub page_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<PagePath>,
    /// The index page's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Digest {
    /// The number of pages.
    pub page_count: usize,
    /// The terms, the most frequent first.
    pub cloud: Vec<Term>,
    /// The pages in use, the last one first.
    pub recents: Vec<PagePath>,
    /// Their titles.
    #[serde(skip)]
    recent_titles: Vec<String>,
    /// The areas, the largest first, then by name. A page at the top is in none.
    pub areas: Vec<Area>,
    pub markdown: String,
}

impl Digest {
    /// The Markdown, trimmed to at most so many bytes, if they are not 0; see [`Digest::of`].
    pub fn rendered(&self, most_bytes: usize) -> String {
        let recents: Vec<_> = self.recents.iter().zip(&self.recent_titles).collect();
        render(self.page_count, &self.cloud, &recents, &self.areas, most_bytes)
    }

    /// Assembles a digest. Its Markdown has at most `most_bytes` bytes, if they are not 0: the pages in use are trimmed
    /// first, then the terms. Areas are trimmed only if they exceed the bound alone, and then the digest says so.
    pub fn of(pages: &Pages, cloud: Vec<Term>, recents: Vec<PagePath>, most_bytes: usize) -> Digest {
        let areas = areas(pages);
        let title = |path| pages.get(path).map(|page| page.title.clone()).unwrap_or_default();
        let recent_titles = recents.iter().map(title).collect();
        let mut digest =
            Digest { page_count: pages.len(), cloud, recents, recent_titles, areas, markdown: String::new() };
        digest.markdown = digest.rendered(most_bytes);
        digest
    }
}

/// The names of an area's index page, the first that exists.
const INDEX_NAMES: [&str; 3] = ["index", "readme", "_index"];

fn areas(pages: &Pages) -> Vec<Area> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for area in pages.iter().filter_map(|page| page.path.area()) {
        *counts.entry(area).or_default() += 1;
    }
    let index = |name: &str| {
        let paths = INDEX_NAMES.iter().filter_map(|index| PagePath::new(&format!("{name}/{index}")).ok());
        let mut found = paths.filter_map(|path| pages.get(&path));
        found.next()
    };
    let mut areas: Vec<Area> = counts
        .into_iter()
        .map(|(name, page_count)| {
            let index = index(name);
            Area {
                name: name.to_owned(),
                page_count,
                index: index.map(|page| page.path.clone()),
                title: index.map(|page| page.title.clone()),
            }
        })
        .collect();
    areas.sort_by(|a, b| b.page_count.cmp(&a.page_count).then_with(|| a.name.cmp(&b.name)));
    areas
}

/// A page in use and its title.
type Recent<'d> = (&'d PagePath, &'d String);

fn quoted(title: &str) -> String {
    format!("\"{}\"", title.replace(['\n', '\r'], " "))
}

/// A title behind its page, unless it says no more than the page's name.
fn titled(page: &PagePath, title: &str) -> String {
    let is_name = title.is_empty() || title.eq_ignore_ascii_case(page.name());
    if is_name { String::new() } else { format!(": {}", quoted(title)) }
}

fn render(count: usize, cloud: &[Term], recents: &[Recent<'_>], areas: &[Area], most: usize) -> String {
    let most = if most == 0 { usize::MAX } else { most };
    let text = |terms: usize, pages: usize| layout(count, &cloud[..terms], &recents[..pages], areas, areas.len());
    let fits = |text: &String| text.len() <= most;
    // The most pages that fit, and if not even none does, the most terms.
    let (terms, pages) = (cloud.len(), recents.len());
    let fewer_pages = (0..=pages).rev().map(|pages| text(terms, pages));
    let fewer_terms = (0..terms).rev().map(|terms| text(terms, 0));
    let fewer_areas = (0..areas.len()).rev().map(|shown| layout(count, &[], &[], areas, shown));
    let mut texts = fewer_pages.chain(fewer_terms).chain(fewer_areas);
    texts.find(fits).unwrap_or_else(|| layout(count, &[], &[], areas, 0))
}

fn layout(count: usize, cloud: &[Term], recents: &[Recent<'_>], areas: &[Area], shown: usize) -> String {
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let mut text = format!("This wiki contains {} across {}.", plural(count, "page"), plural(areas.len(), "area"));
    if !cloud.is_empty() {
        let terms: Vec<&str> = cloud.iter().map(|term| &*term.term).collect();
        text.push_str(&format!(" About:\n{}", terms.join(", ")));
    }
    text.push('\n');
    if !areas.is_empty() {
        text.push_str("\n## Areas\n");
    }
    for area in &areas[..shown] {
        text.push_str(&format!("- {} ({})", area.name, area.page_count));
        if let (Some(index), Some(title)) = (&area.index, &area.title) {
            text.push_str(&format!(" — {index}: {}", quoted(title)));
        }
        text.push('\n');
    }
    if shown < areas.len() {
        text.push_str(&format!("- … and {} more areas, left out for size\n", areas.len() - shown));
    }
    if !recents.is_empty() {
        text.push_str("\n## Recently active\n");
    }
    for (page, title) in recents {
        text.push_str(&format!("- {page}{}\n", titled(page, title)));
    }
    text.push_str(&format!("\n{FOOTER}\n"));
    // Names and titles are those of files: agents read the digest at the start of a conversation.
    neutralize(&text, Ground::Prose).into_owned()
}
