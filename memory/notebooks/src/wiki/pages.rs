//! The pages of a wiki as its files are: titles, aliases and links, and who links to whom.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use muninn_base::clock::Clock;
use muninn_base::{Links, read_regular, utf16};
use muninn_repo_tools::front_matter::FrontMatter;
use muninn_team::knowledge::{Bounds, Listing, MarkdownFile, is_placeholder};
use muninn_text::markdown::sections;
use serde::{Deserialize, Serialize};

use super::error::WikiError;
use super::links::{Link, LinkStyle, Targets, links};
use super::path::{PagePath, folded};

/// The most bytes of a page. Larger files are no pages.
const MOST_BYTES: u64 = 4 << 20;
/// The files of a wiki.
pub(super) const BOUNDS: Bounds = Bounds { files: 50_000, file_bytes: MOST_BYTES, bytes: 512 << 20, hidden: false };
/// From which similarity of two names (Jaro-Winkler) one may be meant by the other.
const LIKE: f64 = 0.8;
/// The coarsest clock of a file system (FAT's). A file that was read so soon after its last change can be changed once
/// more and keep its time.
const CLOCK_STEP: Duration = Duration::from_secs(2);

/// A page without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub path: PagePath,
    /// The title: from the front matter, else the heading at the beginning, else the first `#`
    /// heading, else the file's name.
    pub title: String,
    /// Other names, from the front matter.
    pub aliases: Vec<String>,
    /// Its links, in order.
    pub links: Vec<Link>,
    /// The time of the file's last change.
    pub modified: SystemTime,
    /// The file, relative to the wiki. Its name may be decomposed (NFD).
    pub file: String,
    /// The version of the file's content.
    pub etag: String,
    size: u64,
    /// The first byte of the text below the front matter.
    body: usize,
    /// Whether the title is the file's name.
    is_untitled: bool,
}

/// A link that leads to no page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BrokenLink {
    pub page: PagePath,
    /// The target as it is written.
    pub target: String,
}

/// All pages at one time.
#[derive(Debug, Clone, Default)]
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
    /// Files that may have changed since they were read, though their size and time are the same.
    doubtful: HashSet<String>,
    /// The number of files that were read.
    read: usize,
    /// The version of all pages; empty before the links are resolved.
    version: String,
}

impl Pages {
    /// Pages that were read earlier, as a beginning for [`Pages::read`].
    pub(super) fn restored(pages: Vec<Page>) -> Pages {
        let mut restored = Pages::default();
        pages.into_iter().for_each(|page| restored.add(Arc::new(page)));
        restored
    }

    /// Reads the pages below a directory. Those whose file is as it was in `before` are not read again.
    pub fn read(root: &Path, style: LinkStyle, before: &Arc<Pages>) -> Arc<Pages> {
        let listing = Listing::with_bounds(root, BOUNDS);
        let now = SystemTime::from(Clock::system().now());
        let mut pages = Pages { notes: listing.skipped.iter().map(ToString::to_string).collect(), ..Pages::default() };
        for listed in &listing.files {
            let file = listed.path.as_str();
            let Some(path) = PagePath::of_file(file) else {
                pages.notes.push(format!("{file}: its name is no path of a page"));
                continue;
            };
            let known = before.pages.get(&path).filter(|known| known.is(listed));
            if let Some(known) = known.filter(|_| !before.doubtful.contains(file)) {
                pages.add(Arc::clone(known));
                continue;
            }
            pages.read += 1;
            if is_doubtful(listed.modified, now) {
                pages.doubtful.insert(file.to_owned());
            }
            match Page::read(root, &path, listed) {
                Ok(Some(page)) => pages.add(match known.filter(|known| ***known == page) {
                    Some(known) => Arc::clone(known),
                    None => Arc::new(page),
                }),
                Ok(None) => {}
                Err(error) => pages.notes.push(format!("{file}: {error}")),
            }
        }
        if pages.read == 0 && pages.len() == before.len() && pages.notes == before.notes && !before.version.is_empty() {
            return Arc::clone(before);
        }
        pages.link(style);
        Arc::new(pages)
    }

    /// The number of files that were read, because they were not known.
    pub(super) fn files_read(&self) -> usize {
        self.read
    }

    /// The pages that certainly are as their files are.
    pub(super) fn certain(&self) -> impl Iterator<Item = &Page> {
        self.iter().filter(|page| !self.doubtful.contains(&page.file))
    }

    /// The version of all pages: it changes with every change of a page.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn add(&mut self, page: Arc<Page>) {
        let key = page.path.folded();
        if let Some(other) = self.paths.get(&key) {
            self.notes.push(format!("{}: differs from {other} in case or form only", page.file));
            return;
        }
        self.paths.insert(key, page.path.clone());
        self.pages.insert(page.path.clone(), page);
    }

    /// The pages as they are after a page was moved. Its text does not change.
    pub(super) fn moved(&self, from: &PagePath, to: &PagePath, file: &str, style: LinkStyle) -> Pages {
        let mut after = Pages::default();
        for page in self.pages.values() {
            after.add(if page.path == *from { Arc::new(page.moved(to, file)) } else { Arc::clone(page) });
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
                    None => broken.extend(
                        link.missing(style)
                            .map(|target| BrokenLink { page: page.path.clone(), target: target.to_owned() }),
                    ),
                }
            }
        }
        broken.sort();
        broken.dedup();
        (self.backlinks, self.broken) = (backlinks, broken);
        let mut version = blake3::Hasher::new();
        for page in self.pages.values() {
            version.update(page.file.as_bytes()).update(b"\n").update(page.etag.as_bytes());
        }
        self.version = version.finalize().to_hex()[..16].to_owned();
    }

    /// The number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.iter().map(|page| page.size).sum()
    }

    /// Whether there is no page.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// All pages in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = &Page> {
        self.pages.values().map(|page| &**page)
    }

    /// The page with a path, in any case and form.
    pub fn get(&self, path: &PagePath) -> Option<&Page> {
        self.pages.get(self.paths.get(&path.folded())?).map(|page| &**page)
    }

    /// The page with a path, in any case and form.
    ///
    /// # Errors
    /// [`WikiError::NoPage`], with the page that may be meant.
    pub fn find(&self, path: &PagePath) -> Result<&Page, WikiError> {
        self.get(path).ok_or_else(|| WikiError::NoPage { path: path.clone(), near: self.nearest(path) })
    }

    /// The page with a path, else the only one with this name, title or alias.
    ///
    /// # Errors
    /// [`WikiError::NoPage`], with the page that may be meant.
    pub fn find_named(&self, name: &PagePath) -> Result<&Page, WikiError> {
        let named = || self.get(self.by_name(&name.folded())?);
        self.get(name).or_else(named).map_or_else(|| self.find(name), Ok)
    }

    /// The page whose path or name is most like a path.
    fn nearest(&self, path: &PagePath) -> Option<PagePath> {
        if let Some(named) = self.by_name(&folded(path.name())) {
            return Some(named.clone());
        }
        let (path, name) = (path.folded(), folded(path.name()));
        let likeness = |page: &PagePath| {
            strsim::jaro_winkler(&path, &page.folded()).max(strsim::jaro_winkler(&name, &folded(page.name())))
        };
        let like = self.pages.keys().map(|page| (likeness(page), page)).filter(|(likeness, _)| *likeness > LIKE);
        like.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, page)| page.clone())
    }

    /// The pages that link to a page, in the order of their paths.
    pub fn backlinks(&self, path: &PagePath) -> &[PagePath] {
        self.backlinks.get(path).map_or(&[], Vec::as_slice)
    }

    /// The pages that a page links to, each once, in the order of the links.
    pub fn targets(&self, page: &Page, style: LinkStyle) -> Vec<PagePath> {
        let mut targets: Vec<PagePath> = Vec::new();
        for (target, _) in page.links.iter().filter_map(|link| link.resolve(&page.path, self, style)) {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        targets
    }

    /// The links that lead nowhere.
    pub fn broken(&self) -> &[BrokenLink] {
        &self.broken
    }

    /// The pages that no other page links to.
    pub fn orphans(&self) -> impl Iterator<Item = &Page> {
        self.iter().filter(|page| self.backlinks(&page.path).iter().all(|from| *from == page.path))
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

/// Whether a file was changed so short a time ago that the next change can have the same time.
fn is_doubtful(modified: SystemTime, now: SystemTime) -> bool {
    let (earlier, later) = (modified.min(now), modified.max(now));
    later.duration_since(earlier).is_ok_and(|age| age < CLOCK_STEP)
}

/// The version of a file's content.
pub(super) fn etag(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
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
    fn read(root: &Path, path: &PagePath, listed: &MarkdownFile) -> io::Result<Option<Page>> {
        let file = listed.path.as_str();
        let bytes = page_bytes(&root.join(file))?;
        let etag = etag(&bytes);
        let text = decoded(bytes)?;
        if is_placeholder(&text) {
            return Ok(None);
        }
        let front = FrontMatter::of(&text).ok().flatten();
        let body = front.as_ref().map_or(&*text, |front| front.body);
        let offset = text.len() - body.len();
        let named = front.as_ref().and_then(|front| front.text("title")).filter(|title| !title.trim().is_empty());
        let heading = || {
            // `##` below a text is the heading of a part: a page of Obsidian has no heading of its own.
            let sections = sections(body, 1).into_iter().enumerate();
            let mut own = sections.filter(|(at, section)| *at == 0 || section.level == 1);
            own.find(|(_, section)| !section.title.is_empty()).map(|(_, section)| section.title)
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
            etag,
            modified: listed.modified,
            size: listed.size,
            body: offset,
        }))
    }

    fn moved(&self, to: &PagePath, file: &str) -> Page {
        let title = if self.is_untitled { to.name().to_owned() } else { self.title.clone() };
        Page { path: to.clone(), file: file.to_owned(), title, ..self.clone() }
    }

    /// Whether the page was read from this file as it is now.
    fn is(&self, listed: &MarkdownFile) -> bool {
        self.file == listed.path.as_str() && self.size == listed.size && self.modified == listed.modified
    }

    /// The first byte of the text below the front matter.
    pub(super) fn body_start(&self) -> usize {
        self.body
    }

    /// The text below the front matter, as the file is now.
    pub fn body(&self, root: &Path) -> io::Result<String> {
        let text = decoded(page_bytes(&root.join(&self.file))?)?;
        Ok(text.get(self.body..).unwrap_or(&text).to_owned())
    }
}

/// The bytes of a page's file. It may have grown, or been replaced, since it was listed.
pub(super) fn page_bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_regular(path, Links::Refuse, BOUNDS.file_bytes)
}

/// The text of a file; UTF-16 with a byte order mark is decoded, and bytes that are no UTF-8 are replaced. Binary files are refused.
pub(super) fn decoded(bytes: Vec<u8>) -> io::Result<String> {
    if let Some(text) = utf16(&bytes) {
        return Ok(text);
    }
    if bytes.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is a binary file"));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}
