use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::Supervisor;
use muninn_config::DigestConfig;
use muninn_notebooks::wiki::{
    Area, BrokenLink, Deleted, Digest, FoundPage, LinkStyle, Moved, Page, PageChange, PagePath, PageSearch, Pages,
    Term, WikiError, WikiFolder,
};
use muninn_repo_tools::front_matter::FrontMatter;
use serde::Serialize;
use serde_json::{Map, Value};

use super::digest;
use super::kept_digest::KeptDigest;
use super::pages::Wiki;

/// The pages of `recent_pages`.
const RECENT_PAGES: usize = 10;
/// The most characters of a snippet.
const SNIPPET: usize = 200;

/// A page with its text.
#[derive(Debug, Serialize)]
pub struct PageView {
    pub path: PagePath,
    pub title: String,
    /// The text below the front matter.
    pub body: String,
    /// The values of the front matter.
    pub frontmatter: Map<String, Value>,
    pub links: Vec<PagePath>,
    /// The pages that link to it.
    pub backlinks: Vec<PagePath>,
    /// The time of the last change, RFC 3339.
    pub modified_at: String,
    /// The version, for an update.
    pub etag: String,
}

#[derive(Debug, Serialize)]
pub struct ListedPage {
    pub path: PagePath,
    pub title: String,
    /// The number of pages that link to it.
    pub backlinks: usize,
}

/// What a wiki is about, in the form of earlier servers, and the digest.
#[derive(Debug, Serialize)]
pub struct WikiContext {
    page_count: usize,
    /// The pages that were changed last, by the times of their files.
    recent_pages: Vec<ListedPage>,
    top_level_dirs: Vec<String>,
    cloud_terms: Vec<Term>,
    recents: Vec<PagePath>,
    areas: Vec<Area>,
    markdown: String,
}

impl Wiki {
    /// Opens the wiki in a folder, with the settings of its digest, for one command. What Muninn keeps of it is below the
    /// state directory.
    pub fn open(root: &Path, style: LinkStyle, digest: &DigestConfig, state_dir: &Path) -> Result<Wiki, WikiError> {
        Ok(Wiki::with(WikiFolder::new(root, style, state_dir, None)?, digest))
    }

    /// Opens a wiki for a process that stays: its files are watched if there are many, and its terms are counted in the
    /// background.
    pub fn supervised(
        root: &Path,
        style: LinkStyle,
        digest: &DigestConfig,
        state_dir: &Path,
        supervisor: &Supervisor,
    ) -> Result<Arc<Wiki>, WikiError> {
        let wiki = Wiki::with(WikiFolder::new(root, style, state_dir, Some(supervisor))?, digest);
        let wiki = Arc::new(wiki);
        digest::count_in_background(&wiki, supervisor);
        Ok(wiki)
    }

    fn with(folder: WikiFolder, digest: &DigestConfig) -> Wiki {
        Wiki { search: PageSearch::new(&folder), digest: KeptDigest::new(folder.state(), digest), folder }
    }

    /// The pages as the files are now.
    pub(crate) fn pages(&self) -> Arc<Pages> {
        self.folder.pages()
    }

    /// The pages whose path begins with a prefix.
    pub fn list(&self, prefix: &str) -> Vec<ListedPage> {
        let pages = self.pages();
        let listed = pages.iter().filter(|page| page.path.as_str().starts_with(prefix));
        listed.map(|page| listed_page(&pages, page)).collect()
    }

    /// A page with its text and links. It becomes the page that was used last.
    pub fn show(&self, path: &str) -> Result<PageView, WikiError> {
        let path = PagePath::new(path)?;
        let pages = self.pages();
        let page = pages.find_named(&path)?;
        let read = self.folder.text(&pages, &page.path)?;
        let front = FrontMatter::of(&read.text).ok().flatten();
        let modified = jiff::Timestamp::try_from(page.modified).unwrap_or_default();
        let view = PageView {
            path: page.path.clone(),
            title: page.title.clone(),
            body: front.as_ref().map_or(&*read.text, |front| front.body).to_owned(),
            frontmatter: front.as_ref().map(FrontMatter::values).unwrap_or_default(),
            links: pages.targets(page, self.folder.style()),
            backlinks: pages.backlinks(&page.path).to_vec(),
            modified_at: modified.to_string(),
            etag: read.etag,
        };
        self.digest.note_use(|recents| recents.touch(&view.path));
        Ok(view)
    }

    /// All of a page's file. It becomes the page that was used last.
    pub fn text(&self, path: &str) -> Result<String, WikiError> {
        let pages = self.pages();
        let page = pages.find_named(&PagePath::new(path)?)?;
        let read = self.folder.text(&pages, &page.path)?;
        self.digest.note_use(|recents| recents.touch(&page.path));
        Ok(read.text)
    }

    /// The file of a page.
    pub fn file(&self, path: &str) -> Result<PathBuf, WikiError> {
        let path = PagePath::new(path)?;
        let pages = self.pages();
        let page = pages.find(&path)?;
        Ok(self.folder.root().join(&page.file))
    }

    /// The size of a page's file in bytes; 0 if there is none.
    pub fn size(&self, path: &str) -> u64 {
        let metadata = self.file(path).ok().and_then(|file| fs::metadata(file).ok());
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// Creates a page. Returns its path, with the folders as they are written on the disk.
    pub fn create(&self, path: &str, text: &str) -> Result<PagePath, WikiError> {
        let path = self.folder.create(&PagePath::new(path)?, text)?;
        self.digest.note_use(|recents| recents.touch(&path));
        Ok(path)
    }

    /// Changes the text of a page, keys of its front matter, or both. Returns the new version.
    pub fn update(&self, path: &str, change: &PageChange<'_>, etag: Option<&str>) -> Result<String, WikiError> {
        let path = PagePath::new(path)?;
        let etag = self.folder.update(&path, change, etag)?;
        self.digest.note_use(|recents| recents.touch(&path));
        Ok(etag)
    }

    /// Moves a page, and changes all links to it.
    pub fn rename(&self, from: &str, to: &str) -> Result<Moved, WikiError> {
        let (from, to) = (PagePath::new(from)?, PagePath::new(to)?);
        let moved = self.folder.rename(&from, &to)?;
        self.digest.note_use(|recents| recents.moved(&moved.from, &moved.to));
        Ok(moved)
    }

    /// Deletes a page.
    pub fn delete(&self, path: &str) -> Result<Deleted, WikiError> {
        let deleted = self.folder.delete(&PagePath::new(path)?)?;
        self.digest.note_use(|recents| recents.remove(&deleted.path));
        Ok(deleted)
    }

    /// The pages that link to a page, which becomes the one that was used last.
    pub fn backlinks(&self, path: &str) -> Result<Vec<ListedPage>, WikiError> {
        let path = PagePath::new(path)?;
        let pages = self.pages();
        let page = pages.find_named(&path)?;
        self.digest.note_use(|recents| recents.touch(&page.path));
        let from = pages.backlinks(&page.path).iter().filter_map(|from| pages.get(from));
        Ok(from.map(|page| listed_page(&pages, page)).collect())
    }

    /// The pages that match a query best.
    pub fn search(&self, query: &str, limit: usize) -> Vec<FoundPage> {
        self.search.find(query, &self.pages(), limit)
    }

    /// The folder of the pages.
    pub(super) fn root(&self) -> &Path {
        self.folder.root()
    }

    /// A page that a search by meaning found, with the first line of the text that it found there.
    pub(super) fn found(&self, path: &PagePath, text: &str) -> Option<FoundPage> {
        let line = text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
        let snippet: String = line.unwrap_or_default().chars().take(SNIPPET).collect();
        Some(FoundPage { path: path.clone(), title: self.pages().get(path)?.title.clone(), snippet })
    }

    /// The links that lead nowhere.
    pub fn broken(&self) -> Vec<BrokenLink> {
        self.pages().broken().to_vec()
    }

    /// The pages that no other page links to.
    pub fn orphans(&self) -> Vec<ListedPage> {
        let pages = self.pages();
        pages.orphans().map(|page| listed_page(&pages, page)).collect()
    }

    /// The files that are no pages, and those of the state directory that are damaged, with the reason.
    pub fn notes(&self) -> Vec<String> {
        [self.pages().notes.clone(), self.digest.damages()].concat()
    }

    pub fn digest(&self) -> Digest {
        Digest::clone(&self.digest.of(&self.pages(), self.folder.root()))
    }

    /// The digest in the form of earlier servers.
    pub fn context(&self) -> WikiContext {
        let pages = self.pages();
        let digest = self.digest.of(&pages, self.folder.root());
        let mut newest: Vec<&Page> = pages.iter().collect();
        newest.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        newest.truncate(RECENT_PAGES);
        let mut top_level_dirs: Vec<String> = digest.areas.iter().map(|area| area.name.clone()).collect();
        top_level_dirs.sort();
        WikiContext {
            page_count: digest.page_count,
            recent_pages: newest.into_iter().map(|page| listed_page(&pages, page)).collect(),
            top_level_dirs,
            cloud_terms: digest.cloud.clone(),
            recents: digest.recents.clone(),
            areas: digest.areas.clone(),
            markdown: digest.markdown.clone(),
        }
    }
}

fn listed_page(pages: &Pages, page: &Page) -> ListedPage {
    ListedPage { path: page.path.clone(), title: page.title.clone(), backlinks: pages.backlinks(&page.path).len() }
}
