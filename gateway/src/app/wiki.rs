//! The wiki: the pages of a repository's knowledge, or of any other folder, and the digest of them.

use std::fs;
use std::path::{Path, PathBuf};

use muninn_memory::private_file;
use muninn_memory::wiki::{
    BrokenLink, Digest, LinkStyle, MOST_BYTES, Page, PagePath, PagePathError, Pages, Recents, cloud,
};
use serde::Serialize;
use thiserror::Error;

/// The pages in use that are remembered.
const MOST_RECENTS: usize = 20;
/// The terms of a digest.
const MOST_TERMS: usize = 50;

/// A wiki's files at one time, and the pages in use.
pub struct Wiki {
    root: PathBuf,
    style: LinkStyle,
    pages: Pages,
    recents: Recents,
    /// The file of the pages in use.
    state: PathBuf,
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
    /// The pages that it links to.
    pub links: Vec<PagePath>,
    /// The pages that link to it.
    pub backlinks: Vec<PagePath>,
    /// The time of the last change, RFC 3339.
    pub modified_at: String,
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

/// Why a wiki or a page cannot be read.
#[derive(Debug, Error)]
pub enum WikiError {
    /// The folder does not exist.
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    /// The path names no page.
    #[error(transparent)]
    Path(#[from] PagePathError),
    /// There is no such page.
    #[error("there is no page {0}")]
    NoPage(PagePath),
    /// The page cannot be read.
    #[error("cannot read {page}: {source}")]
    Read {
        /// The page.
        page: PagePath,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Wiki {
    /// Reads the wiki in a folder. The pages in use are remembered below the state directory.
    ///
    /// # Errors
    /// [`WikiError::NoFolder`].
    pub fn open(root: &Path, style: LinkStyle, state_dir: &Path) -> Result<Wiki, WikiError> {
        let no_folder = |_| WikiError::NoFolder(root.to_owned());
        let root = root.canonicalize().map_err(no_folder)?;
        if !root.is_dir() {
            return Err(WikiError::NoFolder(root));
        }
        let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let state = state_dir.join("wiki").join(format!("{}.json", &hash[..16]));
        let used = fs::read(&state).ok().map(|text| serde_json::from_slice(&text));
        let used: Vec<PagePath> = match used {
            Some(Ok(used)) => used,
            Some(Err(error)) => {
                tracing::warn!("{}: {error}; the pages in use are forgotten", state.display());
                Vec::new()
            }
            None => Vec::new(),
        };
        Ok(Wiki {
            pages: Pages::read(&root, style, &Pages::default()),
            recents: Recents::new(MOST_RECENTS, used),
            root,
            style,
            state,
        })
    }

    /// The pages whose path begins with a prefix.
    #[must_use]
    pub fn list(&self, prefix: &str) -> Vec<ListedPage> {
        let pages = self.pages.iter().filter(|page| page.path.as_str().starts_with(prefix));
        pages.map(|page| self.listed(page)).collect()
    }

    fn listed(&self, page: &Page) -> ListedPage {
        ListedPage {
            path: page.path.clone(),
            title: page.title.clone(),
            backlinks: self.pages.backlinks(&page.path).len(),
        }
    }

    /// A page with its text and links. It becomes the page that was used last.
    ///
    /// # Errors
    /// [`WikiError`].
    pub fn show(&mut self, path: &str) -> Result<PageView, WikiError> {
        let path = PagePath::new(path)?;
        let page = self.pages.get(&path).ok_or_else(|| WikiError::NoPage(path.clone()))?;
        let read = |source| WikiError::Read {
            page: path.clone(),
            source,
        };
        let modified = jiff::Timestamp::try_from(page.modified).unwrap_or_default();
        let view = PageView {
            path: page.path.clone(),
            title: page.title.clone(),
            body: page.body(&self.root).map_err(read)?,
            links: self.pages.targets(page, self.style),
            backlinks: self.pages.backlinks(&page.path).to_vec(),
            modified_at: modified.to_string(),
        };
        self.recents.touch(&view.path);
        self.keep_recents();
        Ok(view)
    }

    /// The links that lead nowhere.
    #[must_use]
    pub fn broken(&self) -> &[BrokenLink] {
        self.pages.broken()
    }

    /// The pages that no other page links to.
    #[must_use]
    pub fn orphans(&self) -> Vec<ListedPage> {
        self.pages.orphans().map(|page| self.listed(page)).collect()
    }

    /// The files that are no pages, with the reason.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.pages.notes
    }

    /// The digest. Pages that cannot be read do not count.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let texts: Vec<String> = self
            .pages
            .iter()
            .filter_map(|page| page.body(&self.root).ok())
            .collect();
        let recents = self.recents.existing(&self.pages);
        Digest::of(&self.pages, cloud(&texts, MOST_TERMS, &[]), recents, MOST_BYTES)
    }

    /// Writes the pages in use. A wiki works without.
    fn keep_recents(&self) {
        let used: Vec<_> = self.recents.iter().collect();
        let write = || -> std::io::Result<()> {
            let folder = self.state.parent().unwrap_or(&self.state);
            private_file::dir(folder)?;
            private_file::replace(&self.state, &serde_json::to_vec(&used)?)
        };
        if let Err(error) = write() {
            tracing::debug!("{}: {error}", self.state.display());
        }
    }
}
