//! The wiki: the pages of a repository's knowledge, or of any other folder, and the digest of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use muninn_context_engine::tokens;
use muninn_memory::private_file;
use muninn_memory::wiki::{
    Area, BrokenLink, Deleted, Digest, LinkStyle, Moved, Page, PagePath, Pages, Recents, SearchIndex, Term, WikiError,
    WikiFolder, cloud,
};
use muninn_repo_tools::front_matter::FrontMatter;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Workspace;
use crate::config::{DigestConfig, DigestInPrompt, WikiConfig};

/// The pages from which a digest is part of a preamble by default.
const PAGES_FOR_PROMPTS: usize = 5;
/// The time that a preamble waits for the digest of a wiki that was not read yet.
const PROMPT_PATIENCE: Duration = Duration::from_millis(150);
/// The pages of `recent_pages`.
const RECENT_PAGES: usize = 10;

/// An open wiki. Each call begins with a look at the files.
pub struct Wiki {
    folder: WikiFolder,
    settings: DigestConfig,
    /// The file of the pages in use.
    recents: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    pages: Arc<Pages>,
    search: SearchIndex,
    cloud: Option<Cloud>,
}

/// Counted terms.
struct Cloud {
    terms: Vec<Term>,
    /// The pages that were counted.
    of: Arc<Pages>,
    at: Instant,
}

/// A page with its text.
#[derive(Debug, Serialize)]
pub struct PageView {
    /// The path.
    pub path: PagePath,
    /// The title.
    pub title: String,
    /// The text below the front matter.
    pub body: String,
    /// The front matter: texts, and lists of texts.
    pub frontmatter: Map<String, Value>,
    /// The pages that it links to.
    pub links: Vec<PagePath>,
    /// The pages that link to it.
    pub backlinks: Vec<PagePath>,
    /// The time of the last change, RFC 3339.
    pub modified_at: String,
    /// The version, for an update.
    pub etag: String,
}

/// A page in a list.
#[derive(Debug, Serialize)]
pub struct ListedPage {
    /// The path.
    pub path: PagePath,
    /// The title.
    pub title: String,
    /// The number of pages that link to it.
    pub backlinks: usize,
}

/// A page that a search found.
#[derive(Debug, Serialize)]
pub struct FoundPage {
    /// The path.
    pub path: PagePath,
    /// The title.
    pub title: String,
    /// The line that matches best.
    pub snippet: String,
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
    /// Opens the wiki in a folder, with the settings of its digest. What Muninn keeps of it is below the state directory.
    ///
    /// # Errors
    /// [`WikiError::NoFolder`].
    pub fn open(root: &Path, style: LinkStyle, digest: &DigestConfig, state_dir: &Path) -> Result<Wiki, WikiError> {
        let folder = WikiFolder::new(root, style, state_dir)?;
        Ok(Wiki {
            recents: folder.state().join("recents.json"),
            settings: digest.clone(),
            folder,
            inner: Mutex::default(),
        })
    }

    /// The pages as the files are now.
    fn pages(&self) -> Arc<Pages> {
        self.refresh(&mut self.lock())
    }

    fn refresh(&self, inner: &mut Inner) -> Arc<Pages> {
        let pages = self.folder.read(&inner.pages);
        if pages != *inner.pages {
            inner.pages = Arc::new(pages);
        }
        Arc::clone(&inner.pages)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pages whose path begins with a prefix.
    #[must_use]
    pub fn list(&self, prefix: &str) -> Vec<ListedPage> {
        let pages = self.pages();
        let listed = pages.iter().filter(|page| page.path.as_str().starts_with(prefix));
        listed.map(|page| listed_page(&pages, page)).collect()
    }

    /// A page with its text and links. It becomes the page that was used last.
    ///
    /// # Errors
    /// [`WikiError`].
    pub fn show(&self, path: &str) -> Result<PageView, WikiError> {
        let path = PagePath::new(path)?;
        let pages = self.pages();
        let page = pages.get(&path).ok_or_else(|| WikiError::NoPage(path.clone()))?;
        let read = self.folder.text(&pages, &path)?;
        let front = FrontMatter::of(&read.text).ok().flatten();
        let modified = jiff::Timestamp::try_from(page.modified).unwrap_or_default();
        let view = PageView {
            path: page.path.clone(),
            title: page.title.clone(),
            body: front.as_ref().map_or(&*read.text, |front| front.body).to_owned(),
            frontmatter: front.as_ref().map(values).unwrap_or_default(),
            links: pages.targets(page, self.folder.style()),
            backlinks: pages.backlinks(&page.path).to_vec(),
            modified_at: modified.to_string(),
            etag: read.etag,
        };
        self.note_use(|recents| recents.touch(&view.path));
        Ok(view)
    }

    /// The file of a page.
    ///
    /// # Errors
    /// [`WikiError`] if there is no such page.
    pub fn file(&self, path: &str) -> Result<PathBuf, WikiError> {
        let path = PagePath::new(path)?;
        let pages = self.pages();
        let page = pages.get(&path).ok_or(WikiError::NoPage(path))?;
        Ok(self.folder.root().join(&page.file))
    }

    /// The size of a page's file in bytes; 0 if there is none.
    #[must_use]
    pub fn size(&self, path: &str) -> u64 {
        let metadata = self.file(path).ok().and_then(|file| fs::metadata(file).ok());
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// Creates a page. Returns its path, with the folders as they are written on the disk.
    ///
    /// # Errors
    /// [`WikiError`]; nothing is written then.
    pub fn create(&self, path: &str, text: &str) -> Result<PagePath, WikiError> {
        let path = self.folder.create(&self.pages(), &PagePath::new(path)?, text)?;
        self.note_use(|recents| recents.touch(&path));
        Ok(path)
    }

    /// Replaces the text of a page; without front matter in the new text, the page keeps its own. Returns the new version.
    ///
    /// # Errors
    /// [`WikiError`]; nothing is written then.
    pub fn update(&self, path: &str, text: &str, etag: Option<&str>) -> Result<String, WikiError> {
        let path = PagePath::new(path)?;
        let etag = self.folder.update(&self.pages(), &path, text, etag)?;
        self.note_use(|recents| recents.touch(&path));
        Ok(etag)
    }

    /// Moves a page, and changes all links to it.
    ///
    /// # Errors
    /// [`WikiError`]; nothing is changed then.
    pub fn rename(&self, from: &str, to: &str) -> Result<Moved, WikiError> {
        let (from, to) = (PagePath::new(from)?, PagePath::new(to)?);
        let moved = self.folder.rename(&self.pages(), &from, &to)?;
        self.note_use(|recents| recents.moved(&moved.from, &moved.to));
        Ok(moved)
    }

    /// Deletes a page.
    ///
    /// # Errors
    /// [`WikiError`]; nothing is deleted then.
    pub fn delete(&self, path: &str) -> Result<Deleted, WikiError> {
        let deleted = self.folder.delete(&self.pages(), &PagePath::new(path)?)?;
        self.note_use(|recents| recents.remove(&deleted.path));
        Ok(deleted)
    }

    /// The pages that link to a page, which becomes the one that was used last.
    ///
    /// # Errors
    /// [`WikiError`] if there is no such page.
    pub fn backlinks(&self, path: &str) -> Result<Vec<ListedPage>, WikiError> {
        let path = PagePath::new(path)?;
        let pages = self.pages();
        let page = pages.get(&path).ok_or_else(|| WikiError::NoPage(path.clone()))?;
        self.note_use(|recents| recents.touch(&page.path));
        let from = pages.backlinks(&page.path).iter().filter_map(|from| pages.get(from));
        Ok(from.map(|page| listed_page(&pages, page)).collect())
    }

    /// The pages that match a query best.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<FoundPage> {
        let mut inner = self.lock();
        let pages = self.refresh(&mut inner);
        inner.search = std::mem::take(&mut inner.search).refreshed(&pages, self.folder.root());
        let found = inner.search.find(query, &pages, self.folder.root(), limit).into_iter();
        let found = found.filter_map(|found| {
            let title = pages.get(&found.path)?.title.clone();
            Some(FoundPage {
                path: found.path,
                title,
                snippet: found.snippet,
            })
        });
        found.collect()
    }

    /// The links that lead nowhere.
    #[must_use]
    pub fn broken(&self) -> Vec<BrokenLink> {
        self.pages().broken().to_vec()
    }

    /// The pages that no other page links to.
    #[must_use]
    pub fn orphans(&self) -> Vec<ListedPage> {
        let pages = self.pages();
        pages.orphans().map(|page| listed_page(&pages, page)).collect()
    }

    /// The files that are no pages, with the reason.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.pages().notes.clone()
    }

    /// The digest. Its terms are counted again if the pages have changed, and the last counting is long enough ago.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut inner = self.lock();
        let pages = self.refresh(&mut inner);
        let is_current =
            |cloud: &Cloud| Arc::ptr_eq(&cloud.of, &pages) || cloud.at.elapsed() < self.settings.cloud_refresh;
        let terms = match inner.cloud.as_ref().filter(|cloud| is_current(cloud)) {
            Some(cloud) => cloud.terms.clone(),
            None => {
                let terms = self.count(&pages);
                inner.cloud = Some(Cloud {
                    terms: terms.clone(),
                    of: Arc::clone(&pages),
                    at: Instant::now(),
                });
                terms
            }
        };
        drop(inner);
        let recents = self.load_recents().existing(&pages);
        Digest::of(&pages, terms, recents, self.settings.max_render_bytes)
    }

    /// Counts the terms. Pages that cannot be read do not count.
    fn count(&self, pages: &Pages) -> Vec<Term> {
        let texts: Vec<String> = pages
            .iter()
            .filter_map(|page| page.body(self.folder.root()).ok())
            .collect();
        cloud(&texts, self.settings.cloud_size, &self.settings.stopwords_extra)
    }

    /// The digest in the form of earlier servers.
    #[must_use]
    pub fn context(&self) -> WikiContext {
        let digest = self.digest();
        let pages = self.pages();
        let mut newest: Vec<&Page> = pages.iter().collect();
        newest.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        newest.truncate(RECENT_PAGES);
        let mut top_level_dirs: Vec<String> = digest.areas.iter().map(|area| area.name.clone()).collect();
        top_level_dirs.sort();
        WikiContext {
            page_count: digest.page_count,
            recent_pages: newest.into_iter().map(|page| listed_page(&pages, page)).collect(),
            top_level_dirs,
            cloud_terms: digest.cloud,
            recents: digest.recents,
            areas: digest.areas,
            markdown: digest.markdown,
        }
    }

    fn load_recents(&self) -> Recents {
        let used: Vec<PagePath> = match fs::read(&self.recents).map(|text| serde_json::from_slice(&text)) {
            Ok(Ok(used)) => used,
            Ok(Err(error)) => {
                tracing::warn!("{}: {error}; the pages in use are forgotten", self.recents.display());
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        Recents::new(self.settings.recents_size, used)
    }

    /// Notes the use of pages, at once and for all processes. A wiki works without.
    fn note_use(&self, note: impl FnOnce(&mut Recents)) {
        let write = || -> std::io::Result<()> {
            private_file::dir(self.folder.state())?;
            let _lock = private_file::lock(&self.recents.with_extension("lock"))?;
            let mut recents = self.load_recents();
            note(&mut recents);
            private_file::replace(&self.recents, &serde_json::to_vec(&recents.iter().collect::<Vec<_>>())?)
        };
        if let Err(error) = write() {
            tracing::debug!("{}: {error}", self.recents.display());
        }
    }
}

fn listed_page(pages: &Pages, page: &Page) -> ListedPage {
    ListedPage {
        path: page.path.clone(),
        title: page.title.clone(),
        backlinks: pages.backlinks(&page.path).len(),
    }
}

/// The values of front matter: the first of each key.
fn values(front: &FrontMatter<'_>) -> Map<String, Value> {
    let mut values = BTreeMap::new();
    for entry in &front.entries {
        let value = match (entry.text(), entry.list()) {
            (_, list) if list.len() > 1 => Value::from(list),
            (Some(text), _) if !text.starts_with('[') => Value::from(text),
            (_, list) => Value::from(list),
        };
        values.entry(entry.key.to_owned()).or_insert(value);
    }
    values.into_iter().collect()
}

/// The team's wiki of a worktree, with the settings that it was opened with.
pub(super) struct TeamWiki {
    settings: WikiConfig,
    wiki: Arc<Wiki>,
}

impl Workspace {
    /// The team's wiki, with the settings in force.
    ///
    /// # Errors
    /// [`WikiError::NoFolder`] if there is no such folder, or a link in the repository leads out of it.
    pub fn wiki(&self) -> Result<Arc<Wiki>, WikiError> {
        let settings = &self.settings().wiki;
        let mut open = self.wiki.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(team) = open.as_ref().filter(|team| team.settings == *settings) {
            return Ok(Arc::clone(&team.wiki));
        }
        let folder = wiki_folder(&self.root, settings)?;
        let wiki = Wiki::open(&folder, settings.link_style, &settings.digest, &self.state_dir)?;
        let wiki = Arc::new(wiki);
        *open = Some(TeamWiki {
            settings: settings.clone(),
            wiki: Arc::clone(&wiki),
        });
        Ok(wiki)
    }

    /// The Markdown of the digest for a preamble, with at most so many tokens. A wiki that takes long to read is left out,
    /// and is in memory for the next conversation. May block for a moment.
    pub(super) fn digest_for_prompt(&self, most_tokens: u32) -> Option<String> {
        let least_pages = match self.settings().wiki.digest_in_prompt {
            DigestInPrompt::Never => return None,
            DigestInPrompt::Always => 1,
            DigestInPrompt::Auto => PAGES_FOR_PROMPTS,
        };
        let wiki = self.wiki().ok()?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(wiki.digest()).ok());
        let digest = receiver.recv_timeout(PROMPT_PATIENCE).ok()?;
        if digest.page_count < least_pages {
            return None;
        }
        let mut text = digest.markdown.clone();
        while tokens::count(&text) > most_tokens {
            let shorter = digest.rendered(text.len() * 3 / 4);
            if shorter.len() >= text.len() {
                return None;
            }
            text = shorter;
        }
        Some(text)
    }
}

/// The folder of a worktree's wiki. A relative path must lie in the worktree, and no part of it may be a link: a repository
/// must not lead to other files of the user.
pub fn wiki_folder(root: &Path, settings: &WikiConfig) -> Result<PathBuf, WikiError> {
    if settings.path.is_absolute() {
        return Ok(settings.path.clone());
    }
    let mut folder = root.to_owned();
    for part in settings.path.components() {
        folder.push(part);
        let is_real = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_real || matches!(part, Component::ParentDir) {
            return Err(WikiError::NoFolder(folder));
        }
    }
    Ok(folder)
}
