//! The pages of a wiki as its files are: titles, aliases and links, and who links to whom.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use muninn_repo_tools::front_matter::FrontMatter;
use serde::Serialize;

use super::links::{Link, LinkStyle, Targets, links};
use super::path::{PagePath, folded};
use crate::knowledge::{Listing, is_placeholder};
use crate::markdown::sections;

/// The most bytes of a page. Larger files are no pages.
pub(super) const MOST_BYTES: u64 = 4 << 20;
/// The most pages of a wiki, and the most bytes of all.
const MOST_PAGES: usize = 50_000;
const MOST_TOTAL_BYTES: u64 = 512 << 20;

/// A page without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its path.
    pub path: PagePath,
    /// The title: from the front matter, else the first heading, else the file's name.
    pub title: String,
    /// Other names, from the front matter.
    pub aliases: Vec<String>,
    /// Its links, in order.
    pub links: Vec<Link>,
    /// The time of the file's last change.
    pub modified: SystemTime,
    /// The file, relative to the wiki. Its name may be decomposed (NFD).
    pub file: String,
    size: u64,
    /// The first byte of the text below the front matter.
    body: usize,
    /// Whether the title is the file's name.
    is_untitled: bool,
}

/// A link that leads to no page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BrokenLink {
    /// The page with the link.
    pub page: PagePath,
    /// The target as it is written.
    pub target: String,
}

/// All pages at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    pages: BTreeMap<PagePath, Arc<Page>>,
    /// The page of each path in lower case.
    paths: HashMap<String, PagePath>,
    /// The only page of each name, title and alias in lower case; `None` if there are several.
    names: HashMap<String, Option<PagePath>>,
    backlinks: BTreeMap<PagePath, Vec<PagePath>>,
    broken: Vec<BrokenLink>,
    /// Files that are no pages, with the reason.
    pub notes: Vec<String>,
}

impl Pages {
    /// Reads the pages below a directory. Those whose file is as it was in `before` are not read again.
    #[must_use]
    pub fn read(root: &Path, style: LinkStyle, before: &Pages) -> Pages {
        let listing = Listing::with_bounds(root, MOST_PAGES, MOST_BYTES, MOST_TOTAL_BYTES);
        let mut pages = Pages {
            notes: listing.skipped.iter().map(ToString::to_string).collect(),
            ..Pages::default()
        };
        for listed in &listing.files {
            let file = listed.path.as_str();
            // The folders of git, of editors and of forges.
            if file.split('/').any(|part| part.starts_with('.')) {
                continue;
            }
            let Some(path) = PagePath::of_file(file) else {
                pages.notes.push(format!("{file}: its name is no path of a page"));
                continue;
            };
            let known = before
                .pages
                .get(&path)
                .filter(|known| known.is(file, listed.size, listed.modified));
            let page = match known {
                Some(known) => Ok(Some(Arc::clone(known))),
                None => Page::read(root, &path, file, (listed.size, listed.modified)).map(|page| page.map(Arc::new)),
            };
            match page {
                Ok(Some(page)) => pages.add(page),
                Ok(None) => {}
                Err(error) => pages.notes.push(format!("{file}: {error}")),
            }
        }
        pages.link(style);
        pages
    }

    fn add(&mut self, page: Arc<Page>) {
        let key = page.path.folded();
        if let Some(other) = self.paths.get(&key) {
            self.notes
                .push(format!("{}: differs from {other} in case or form only", page.file));
            return;
        }
        self.paths.insert(key, page.path.clone());
        self.pages.insert(page.path.clone(), page);
    }

    /// The pages as they are after a page was moved. Its text does not change.
    pub(super) fn moved(&self, from: &PagePath, to: &PagePath, file: &str, style: LinkStyle) -> Pages {
        let mut after = Pages::default();
        for page in self.pages.values() {
            after.add(match page.path == *from {
                true => Arc::new(page.moved(to, file)),
                false => Arc::clone(page),
            });
        }
        after.link(style);
        after
    }

    /// The folder on the disk of pages whose folder has this name, in any case and form.
    pub(super) fn folder_on_disk(&self, folder: &str) -> Option<&str> {
        let depth = folder.split('/').count();
        let key = folded(folder);
        self.pages.values().find_map(|page| {
            let end = page.file.match_indices('/').nth(depth - 1)?.0;
            let start = page.file.get(..end)?;
            (folded(start) == key).then_some(start)
        })
    }

    /// Finds the targets of all links.
    fn link(&mut self, style: LinkStyle) {
        // By file names first, then by titles and aliases: a name that is taken is not a title's.
        let named = self.pages.values().map(|page| (folded(page.path.name()), &page.path));
        self.names = unique(named);
        let other_names = self.pages.values().flat_map(|page| {
            let names = std::iter::once(&page.title).chain(&page.aliases);
            names.map(|name| (folded(name), &page.path))
        });
        for (name, page) in unique(other_names) {
            self.names.entry(name).or_insert(page);
        }
        let mut backlinks: BTreeMap<PagePath, Vec<PagePath>> = BTreeMap::new();
        let mut broken = Vec::new();
        for page in self.pages.values() {
            for link in &page.links {
                match link.resolve(&page.path, &*self, style) {
                    Some((target, _)) => {
                        let from = backlinks.entry(target.clone()).or_default();
                        if from.last() != Some(&page.path) {
                            from.push(page.path.clone());
                        }
                    }
                    None => broken.push(BrokenLink {
                        page: page.path.clone(),
                        target: link.missing(style).to_owned(),
                    }),
                }
            }
        }
        broken.sort();
        broken.dedup();
        (self.backlinks, self.broken) = (backlinks, broken);
    }

    /// The number of pages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is no page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// All pages in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = &Page> {
        self.pages.values().map(|page| &**page)
    }

    /// The page with a path, in any case and form.
    #[must_use]
    pub fn get(&self, path: &PagePath) -> Option<&Page> {
        self.pages.get(self.paths.get(&path.folded())?).map(|page| &**page)
    }

    /// The pages that link to a page, in the order of their paths.
    #[must_use]
    pub fn backlinks(&self, path: &PagePath) -> &[PagePath] {
        self.backlinks.get(path).map_or(&[], Vec::as_slice)
    }

    /// The pages that a page links to, each once, in the order of the links.
    #[must_use]
    pub fn targets(&self, page: &Page, style: LinkStyle) -> Vec<PagePath> {
        let mut targets: Vec<PagePath> = Vec::new();
        for (target, _) in page
            .links
            .iter()
            .filter_map(|link| link.resolve(&page.path, self, style))
        {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        targets
    }

    /// The links that lead nowhere.
    #[must_use]
    pub fn broken(&self) -> &[BrokenLink] {
        &self.broken
    }

    /// The pages that no other page links to.
    pub fn orphans(&self) -> impl Iterator<Item = &Page> {
        self.iter()
            .filter(|page| self.backlinks(&page.path).iter().all(|from| *from == page.path))
    }
}

impl Targets for Pages {
    fn by_path(&self, folded: &str) -> Option<&PagePath> {
        self.paths.get(folded)
    }

    fn by_name(&self, folded: &str) -> Option<&PagePath> {
        self.names.get(folded)?.as_ref()
    }
}

/// The page of each name that only one has.
fn unique<'p>(named: impl Iterator<Item = (String, &'p PagePath)>) -> HashMap<String, Option<PagePath>> {
    let mut names: HashMap<String, Option<PagePath>> = HashMap::new();
    for (name, page) in named {
        let other = names.entry(name).or_insert_with(|| Some(page.clone()));
        if other.as_ref().is_some_and(|other| other != page) {
            *other = None;
        }
    }
    names
}

impl Page {
    /// Reads a page; `None` if it is the file that `muninn init` creates.
    fn read(root: &Path, path: &PagePath, file: &str, (size, modified): (u64, SystemTime)) -> io::Result<Option<Page>> {
        let text = read_text(&root.join(file))?;
        if is_placeholder(&text) {
            return Ok(None);
        }
        let front = FrontMatter::of(&text).ok().flatten();
        let body = front.as_ref().map_or(&*text, |front| front.body);
        let offset = text.len() - body.len();
        let named = front
            .as_ref()
            .and_then(|front| front.text("title"))
            .filter(|title| !title.trim().is_empty());
        let heading = || {
            sections(body, 1)
                .into_iter()
                .map(|section| section.title)
                .find(|title| !title.is_empty())
        };
        let aliases = front.iter().flat_map(|front| &front.entries);
        let aliases = aliases.filter(|entry| matches!(entry.key, "alias" | "aliases"));
        let title = named.or_else(heading);
        Ok(Some(Page {
            is_untitled: title.is_none(),
            title: title.unwrap_or_else(|| path.name().to_owned()),
            aliases: aliases.flat_map(|entry| entry.list()).collect(),
            links: links(body, offset),
            path: path.clone(),
            file: file.to_owned(),
            modified,
            size,
            body: offset,
        }))
    }

    fn moved(&self, to: &PagePath, file: &str) -> Page {
        let title = match self.is_untitled {
            true => to.name().to_owned(),
            false => self.title.clone(),
        };
        Page {
            path: to.clone(),
            file: file.to_owned(),
            title,
            ..self.clone()
        }
    }

    /// Whether the page was read from a file with this name, size and time.
    pub(super) fn is(&self, file: &str, size: u64, modified: SystemTime) -> bool {
        self.file == file && self.size == size && self.modified == modified
    }

    /// The size and the time of the file that was read.
    pub(super) fn stamp(&self) -> (u64, SystemTime) {
        (self.size, self.modified)
    }

    /// The first byte of the text below the front matter.
    pub(super) fn body_start(&self) -> usize {
        self.body
    }

    /// The text below the front matter, as the file is now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn body(&self, root: &Path) -> io::Result<String> {
        let text = read_text(&root.join(&self.file))?;
        Ok(text.get(self.body..).unwrap_or(&text).to_owned())
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    decoded(fs::read(path)?)
}

/// The text of a file; bytes that are no UTF-8 are replaced. Binary files are refused.
pub(super) fn decoded(bytes: Vec<u8>) -> io::Result<String> {
    if bytes.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is a binary file"));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}
