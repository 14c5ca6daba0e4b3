//! The folder of a wiki, and the changes that people and agents make to its pages.
//!
//! The files are the truth. A change is made under a lock that all processes of the user share, after a look at the files
//! as they are then. What Muninn keeps of a wiki (the lock, the pages in use, the trash) is in the state directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::page_files;
use muninn_base::{RelPath, Supervisor, private_file};
use muninn_repo_tools::Worktree;
use muninn_repo_tools::front_matter::{FrontMatter, with_values};
use muninn_team::knowledge::{Bounds, ROOT, Room};
use muninn_text::redact::redact;
use serde::Serialize;
use serde_json::{Map, Value};

use super::current::CurrentPages;
use super::error::WikiError;
use super::links::LinkStyle;
use super::moving;
use super::pages::{self, BOUNDS, BrokenLink, Page, Pages, decoded};
use super::path::{PagePath, PagePathError, folded};

/// A folder of pages.
pub struct WikiFolder {
    current: CurrentPages,
    /// What Muninn keeps of this wiki.
    state: PathBuf,
    /// The worktree that the folder lies in.
    worktree: Option<Worktree>,
}

/// The text of a page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    /// All of the file.
    pub text: String,
    /// The version: it changes with every change of the file.
    pub etag: String,
}

/// A deleted page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deleted {
    pub path: PagePath,
    /// The file that keeps its text; absent if the last commit has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<PathBuf>,
    /// The links that lead nowhere since.
    pub broken: Vec<BrokenLink>,
}

/// A moved page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The path before.
    pub from: PagePath,
    /// The path now.
    pub to: PagePath,
    /// The pages whose links were changed.
    pub rewritten: Vec<PagePath>,
}

impl WikiFolder {
    /// The wiki in a folder. What Muninn keeps of it is below `state_dir`. With a supervisor, a large wiki is watched for
    /// changes.
    pub fn new(
        root: &Path,
        style: LinkStyle,
        state_dir: &Path,
        supervisor: Option<&Supervisor>,
    ) -> Result<WikiFolder, WikiError> {
        let root = match root.canonicalize() {
            Ok(real) if real.is_dir() => real,
            _ => return Err(WikiError::NoFolder(root.to_owned())),
        };
        let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let state = state_dir.join("wiki").join(&hash[..16]);
        Ok(WikiFolder {
            worktree: Worktree::discover(&root).ok(),
            current: CurrentPages::new(&root, style, &state, supervisor),
            state,
        })
    }

    /// The folder, without symlinks.
    pub fn root(&self) -> &Path {
        self.current.root()
    }

    /// The order of the halves of links.
    pub fn style(&self) -> LinkStyle {
        self.current.style()
    }

    /// The directory of what Muninn keeps of this wiki. It may not exist yet.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The pages as the files are now. A move that was interrupted is undone first.
    pub fn pages(&self) -> Arc<Pages> {
        // Without a lock, a move of another process can be seen half done until the next reading.
        let _lock = self.lock_shared().ok();
        self.current.get()
    }

    /// The text of a page as its file is now.
    pub fn text(&self, pages: &Pages, path: &PagePath) -> Result<PageText, WikiError> {
        let page = pages.find(path)?;
        let bytes = self.bytes(&page.path, &page.file)?;
        let etag = pages::etag(&bytes);
        let text = decoded(bytes).map_err(|source| self.unreadable(path, source))?;
        Ok(PageText { text, etag })
    }

    /// The text of a page whose bytes are to be changed: it must be UTF-8.
    pub(super) fn exact_text(&self, page: &Page) -> Result<String, WikiError> {
        String::from_utf8(self.bytes(&page.path, &page.file)?)
            .map_err(|_| WikiError::Link { page: page.path.clone(), reason: "its text is not UTF-8".to_owned() })
    }

    fn bytes(&self, path: &PagePath, file: &str) -> Result<Vec<u8>, WikiError> {
        pages::page_bytes(&self.root().join(file)).map_err(|source| self.unreadable(path, source))
    }

    fn unreadable(&self, path: &PagePath, source: io::Error) -> WikiError {
        match source.kind() {
            io::ErrorKind::NotFound => WikiError::NoPage { path: path.clone(), near: None },
            _ => WikiError::Read { page: path.clone(), source },
        }
    }

    /// Creates a page. Returns its path, with the folders as they are written on the disk.
    ///
    /// # Errors
    /// [`WikiError::Exists`] and others; nothing is written then.
    pub fn create(&self, path: &PagePath, text: &str) -> Result<PagePath, WikiError> {
        check_text(text)?;
        let _lock = self.lock()?;
        let pages = self.current.read();
        let (path, file) = self.place(&pages, path, None)?;
        self.room(&pages).take(&below(&file)?, text.len() as u64)?;
        if page_files::create(self.root(), &self.root().join(&file), text.as_bytes())? {
            Ok(path)
        } else {
            Err(WikiError::Exists(path))
        }
    }

    /// The path and the file of a new page, or of one that is moved: that may come to differ in case only.
    fn place(&self, pages: &Pages, path: &PagePath, moved: Option<&Page>) -> Result<(PagePath, String), WikiError> {
        let is_moved = |other: &Page| moved.is_some_and(|moved| moved.path == other.path && other.path != *path);
        if let Some(other) = pages.get(path).filter(|other| !is_moved(other)) {
            return Err(WikiError::Exists(other.path.clone()));
        }
        // The folder's name is that on the disk, unless the moved page is alone in it.
        let folder = path.folder();
        if let Some(moved) = moved
            && folded(moved.path.folder()) == folded(folder)
        {
            let below = format!("{}/", folded(folder));
            let is_shared = |other: &Page| other.path != moved.path && other.path.folded().starts_with(&below);
            if !pages.iter().any(is_shared) {
                return Ok((path.clone(), path.file()));
            }
        }
        let mut folder = path.folder();
        while !folder.is_empty() {
            if let Some(on_disk) = pages.folder_on_disk(folder) {
                let file = format!("{on_disk}{}", &path.file()[folder.len()..]);
                return Ok((PagePath::new(&file)?, file));
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        Ok((path.clone(), path.file()))
    }

    /// Changes the text of a page, single keys of its front matter, or both. If a new text has no front matter, that of the
    /// page stays. With an `etag`, the page must not have changed since that version. Returns the new version.
    ///
    /// # Errors
    /// [`WikiError::Changed`] and others; nothing is written then.
    pub fn update(&self, path: &PagePath, change: &PageChange<'_>, etag: Option<&str>) -> Result<String, WikiError> {
        let _lock = self.lock()?;
        let pages = self.current.read();
        let page = pages.find(path)?;
        let old = self.bytes(&page.path, &page.file)?;
        let version = pages::etag(&old);
        if etag.is_some_and(|etag| etag != version) {
            return Err(WikiError::Changed { page: page.path.clone(), etag: version });
        }
        let new = change.applied(&page.path, &old)?;
        check_text(&new)?;
        if new.as_bytes() != old {
            self.room(&pages).grow(old.len() as u64, new.len() as u64)?;
            page_files::replace(self.root(), &self.root().join(&page.file), new.as_bytes())?;
        }
        Ok(pages::etag(new.as_bytes()))
    }

    /// Deletes a page. Its text stays in git if the last commit has it as it is, else in the trash.
    ///
    /// # Errors
    /// [`WikiError`]; nothing is deleted then.
    pub fn delete(&self, path: &PagePath) -> Result<Deleted, WikiError> {
        let _lock = self.lock()?;
        let pages = self.current.read();
        let page = pages.find(path)?;
        let trash = if self.is_committed(&page.file, &self.bytes(&page.path, &page.file)?) {
            None
        } else {
            Some(self.keep_in_trash(&page.file)?)
        };
        let file = self.root().join(&page.file);
        fs::remove_file(&file).map_err(|source| page_files::io_error(&file, source))?;
        if let Some(folder) = file.parent() {
            page_files::remove_empty_directories(self.root(), folder);
        }
        let after = self.current.read();
        let broken = after.broken().iter().filter(|link| !pages.broken().contains(link));
        Ok(Deleted { path: page.path.clone(), trash, broken: broken.cloned().collect() })
    }

    /// Whether the last commit has a file with this content.
    fn is_committed(&self, file: &str, bytes: &[u8]) -> bool {
        let found = || {
            let worktree = self.worktree.as_ref()?;
            let path = RelPath::from_relative(self.root().join(file).strip_prefix(worktree.root()).ok()?)?;
            Some(worktree.committed(&path)? == worktree.blob_id(bytes)?)
        };
        found().unwrap_or(false)
    }

    fn keep_in_trash(&self, file: &str) -> Result<PathBuf, WikiError> {
        let kept = self.state.join("trash").join(ulid::Ulid::generate().to_string()).join(file);
        let copy = || {
            private_file::dir(kept.parent().unwrap_or(&self.state))?;
            fs::copy(self.root().join(file), &kept)?;
            File::open(&kept)?.sync_all()
        };
        copy().map_err(|source| self.state_error(&kept, source))?;
        Ok(kept)
    }

    /// Moves a page, and changes the links of all pages so that each leads where it led before. All of it is done, or
    /// nothing.
    ///
    /// # Errors
    /// [`WikiError`]; nothing is changed then.
    pub fn rename(&self, from: &PagePath, to: &PagePath) -> Result<Moved, WikiError> {
        let _lock = self.lock()?;
        let pages = self.current.read();
        let page = pages.find(from)?;
        let (to, file) = self.place(&pages, to, Some(page))?;
        if file == page.file {
            return Err(WikiError::Exists(page.path.clone()));
        }
        Room::beside(0, 0, BOUNDS).take(&below(&file)?, 0)?;
        let plan = moving::plan(&pages, page, &to, &file, self.style(), |page| self.exact_text(page))?;
        let rewritten = plan.rewritten(&to);
        moving::carry_out(self.root(), &self.journal(), &plan)?;
        Ok(Moved { from: page.path.clone(), to, rewritten })
    }

    /// The room for more pages: that of knowledge in the folder of it.
    fn room(&self, pages: &Pages) -> Room {
        let knowledge = self.worktree.as_ref().map(|worktree| worktree.root().join(ROOT));
        let bounds =
            if knowledge.is_some_and(|knowledge| knowledge == self.root()) { Bounds::default() } else { BOUNDS };
        Room::beside(pages.len(), pages.bytes(), bounds)
    }

    /// The file that tells how to undo the move that is under way.
    fn journal(&self) -> PathBuf {
        self.state.join("move.json")
    }

    /// Waits for the lock on changes, and undoes a move that was interrupted.
    pub(super) fn lock(&self) -> Result<File, WikiError> {
        let path = self.state.join("lock");
        let lock = || {
            private_file::dir(&self.state)?;
            private_file::lock(&path)
        };
        let lock = lock().map_err(|source| self.state_error(&path, source))?;
        moving::undo(self.root(), &self.journal())?;
        Ok(lock)
    }

    /// Waits until no other process changes pages. `None` if none ever did.
    fn lock_shared(&self) -> Result<Option<File>, WikiError> {
        if self.journal().exists() {
            // The lock undoes the move, or waits for it.
            drop(self.lock()?);
        }
        let Ok(file) = private_file::open(&self.state.join("lock")) else {
            return Ok(None);
        };
        file.lock_shared().map_err(|source| self.state_error(&self.state, source))?;
        Ok(Some(file))
    }

    fn state_error(&self, path: &Path, source: io::Error) -> WikiError {
        WikiError::State { path: path.to_owned(), source }
    }
}

/// A file of the folder.
fn below(file: &str) -> Result<RelPath, WikiError> {
    RelPath::new(file).map_err(|_| PagePathError::Malformed(file.to_owned()).into())
}

fn check_text(text: &str) -> Result<(), WikiError> {
    FrontMatter::of(text)?;
    if redact(text) != text {
        return Err(WikiError::Secret);
    }
    Ok(())
}

#[derive(Debug, Clone, Default)]
pub struct PageChange<'c> {
    /// The new text; the page keeps its own without.
    pub text: Option<&'c str>,
    /// New values of keys of the front matter; null removes a key. Other keys and comments stay.
    pub front_matter: Option<&'c Map<String, Value>>,
}

impl PageChange<'_> {
    fn applied(&self, page: &PagePath, old: &[u8]) -> Result<String, WikiError> {
        let kept = || std::str::from_utf8(old).map_err(|_| WikiError::NotUtf8(page.clone()));
        let text = match self.text {
            None => kept()?.to_owned(),
            Some(text) if FrontMatter::of(text)?.is_some() => text.to_owned(),
            Some(text) => {
                let front = FrontMatter::head(kept()?);
                format!("{front}{text}")
            }
        };
        Ok(match self.front_matter {
            Some(values) => with_values(&text, values)?,
            None => text,
        })
    }
}
