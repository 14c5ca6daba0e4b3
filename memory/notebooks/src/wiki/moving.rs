//! Moving a page with all links to it, as a whole or not at all.
//!
//! The journal of a move holds what undoes it. It is written first and removed last. Whoever finds one under the lock
//! undoes the move of a process that was killed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};

use muninn_base::{page_files, private_file};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::error::WikiError;
use super::links::{Link, LinkStyle, links, markdown_target};
use super::pages::{Page, Pages, etag, page_bytes};
use super::path::{EXTENSION, PagePath, folded};

/// The characters that a Markdown link's target cannot have as they are.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'(').add(b')').add(b'<').add(b'>').add(b'`').add(b'#');

/// The changes of a move.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The files of the page before and after.
    from: String,
    to: String,
    /// The text before and after, of the page and of those whose links change, by the file before.
    files: BTreeMap<String, Change>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Change {
    before: String,
    /// The version that the move writes.
    etag: String,
    #[serde(skip)]
    after: String,
}

impl Plan {
    /// The pages whose links change.
    pub(super) fn rewritten(&self, moved: &PagePath) -> Vec<PagePath> {
        let changed = self.files.iter().filter(|(_, change)| change.before != change.after);
        let mut pages: Vec<PagePath> = changed
            .filter_map(|(file, _)| if *file == self.from { Some(moved.clone()) } else { PagePath::of_file(file) })
            .collect();
        pages.sort();
        pages
    }

    /// The number of writes: the files, and the removal of the old one.
    pub(super) fn writes(&self) -> usize {
        self.files.len() + 1
    }

    /// Whether a disk without case keeps both files at one place.
    fn differs_in_case(&self) -> bool {
        folded(&self.from) == folded(&self.to)
    }

    /// Writes the texts before the move into the files that have those after it.
    fn restore(&self, root: &Path) -> Result<(), WikiError> {
        for (file, change) in &self.files {
            let path = root.join(file);
            let is_ours = (*file == self.from && !path.exists()) || is_version(&path, &change.etag);
            if is_ours {
                page_files::replace(root, &path, change.before.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Makes the first `count` writes.
    pub(super) fn write_first(&self, root: &Path, count: usize) -> Result<(), WikiError> {
        let files = self.files.iter().take(count);
        let (moved, others): (Vec<_>, Vec<_>) = files.partition(|(file, _)| **file == self.from);
        let others: Vec<(PathBuf, &str)> =
            others.into_iter().map(|(file, change)| (root.join(file), change.after.as_str())).collect();
        page_files::replace_all(root, &others)?;
        for (_, change) in moved {
            let to = root.join(&self.to);
            if self.differs_in_case() {
                page_files::replace(root, &root.join(&self.from), change.after.as_bytes())?;
            } else if !page_files::create(root, &to, change.after.as_bytes())? {
                return Err(PagePath::of_file(&self.to).map_or_else(|| WikiError::NoFolder(to), WikiError::Exists));
            }
        }
        if count == self.writes() {
            let (from, to) = (root.join(&self.from), root.join(&self.to));
            let last = if self.differs_in_case() { rename(&from, &to) } else { fs::remove_file(&from) };
            last.map_err(|source| page_files::io_error(&from, source))?;
        }
        Ok(())
    }
}

/// Renames a file, also into a folder that does not exist yet.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to)
}

/// Plans the move of a page to the file of a new path. `exact_text` reads a page as it is stored.
pub(super) fn plan(
    pages: &Pages,
    moved: &Page,
    to: &PagePath,
    file: &str,
    style: LinkStyle,
    exact_text: impl Fn(&Page) -> Result<String, WikiError>,
) -> Result<Plan, WikiError> {
    let after = pages.moved(&moved.path, to, file, style);
    let move_ = Move { pages, after: &after, from: &moved.path, to, style };
    let mut plan = Plan { from: moved.file.clone(), to: file.to_owned(), files: BTreeMap::new() };
    for page in pages.iter() {
        let changes = move_.changes(page);
        if changes.is_empty() && page.path != moved.path {
            continue;
        }
        let before = exact_text(page)?;
        let after = move_.apply(page, &before, changes)?;
        let change = Change { etag: etag(after.as_bytes()), before, after };
        plan.files.insert(page.file.clone(), change);
    }
    Ok(plan)
}

/// The pages before and after a move.
struct Move<'p> {
    pages: &'p Pages,
    after: &'p Pages,
    from: &'p PagePath,
    to: &'p PagePath,
    style: LinkStyle,
}

impl<'p> Move<'p> {
    fn path_after<'a>(&'a self, path: &'a PagePath) -> &'a PagePath {
        if path == self.from { self.to } else { path }
    }

    /// The new targets of a page's links that would lead elsewhere otherwise.
    fn changes<'l>(&self, page: &'l Page) -> Vec<(Range<usize>, &'l Link, String)> {
        let changed = page.links.iter().filter_map(|link| {
            let (target, span) = link.resolve(&page.path, self.pages, self.style)?;
            let expected = self.path_after(target);
            let (here, is_led) = (self.path_after(&page.path), |found: &PagePath| found == expected);
            let now = link.resolve(here, self.after, self.style);
            let written = page_name(link, &span);
            // A link by the file's name must not come to depend on the title, which may change.
            let loses_name = names_file(written, target) && !names_file(written, expected);
            // A link by a path must not come to depend on a name.
            let by_path = leads_by_path(link, &page.path, self.pages);
            let loses_path = by_path && !leads_by_path(link, here, self.after);
            if now.is_some_and(|(found, _)| is_led(found)) && !loses_name && !loses_path {
                return None;
            }
            if link.is_markdown {
                return Some((span, link, self.markdown_path(link, by_path, here, expected)));
            }
            let (span, text) = self.rewritten(link, span, expected);
            Some((span, link, text))
        });
        changed.collect()
    }

    /// The bytes of a link that are replaced, and their replacement.
    fn rewritten(&self, link: &Link, span: Range<usize>, target: &PagePath) -> (Range<usize>, String) {
        let shown_first = link.other.as_ref().filter(|(other, _)| other.start == span.start);
        if self.style == LinkStyle::Auto
            && let Some((other, _)) = shown_first
        {
            // The shown half can name a page after the move. The other order cannot be misread.
            let (shown, separator) = (&link.written, if link.is_escaped { "\\|" } else { "|" });
            return (link.target.start..other.end, format!("{target}{separator}{shown}"));
        }
        let extension = if page_name(link, &span).ends_with(EXTENSION) { EXTENSION } else { "" };
        (span, format!("{target}{extension}"))
    }

    /// The target of a Markdown link, in the form that it had: from the top, by name, or relative to its page.
    fn markdown_path(&self, link: &Link, by_path: bool, here: &PagePath, target: &PagePath) -> String {
        let name = format!("{}{EXTENSION}", target.name());
        let by_name = !by_path && !link.written.contains('/');
        let path = if link.written.starts_with('/') {
            format!("/{}", target.file())
        } else if by_name && markdown_target(here, &name, self.after) == Some(target) {
            name
        } else {
            here.relative_to(target)
        };
        let path = if link.is_vague { path.strip_suffix(EXTENSION).unwrap_or(&path) } else { &path };
        utf8_percent_encode(path, ENCODED).to_string()
    }

    /// The text with its changes. It is read again: each link must lead where it led before.
    fn apply(
        &self,
        page: &Page,
        before: &str,
        changes: Vec<(Range<usize>, &Link, String)>,
    ) -> Result<String, WikiError> {
        let refused = |reason: &str| WikiError::Link { page: page.path.clone(), reason: reason.to_owned() };
        let mut text = before.to_owned();
        for (span, link, new) in changes.into_iter().rev() {
            if before.get(link.target.clone()) != Some(&*link.written) {
                return Err(refused("the file has just changed"));
            }
            text.replace_range(span, &new);
        }
        let offset = page.body_start();
        let here = self.path_after(&page.path);
        let links = links(text.get(offset..).unwrap_or_default(), offset);
        let now = links.iter().map(|link| link.resolve(here, self.after, self.style));
        let then = page.links.iter().map(|link| link.resolve(&page.path, self.pages, self.style));
        let expected = then.map(|found| found.map(|(target, _)| self.path_after(target)));
        let agrees = now.map(|found| found.map(|(target, _)| target)).zip(expected.clone());
        let is_led = |(now, then): (Option<&PagePath>, Option<&PagePath>)| then.is_none() || now == then;
        if links.len() != page.links.len() || !agrees.into_iter().all(is_led) {
            return Err(refused("it would lead elsewhere"));
        }
        Ok(text)
    }
}

/// Whether a Markdown link of a page at `from` leads to a page by its path from there.
fn leads_by_path(link: &Link, from: &PagePath, pages: &Pages) -> bool {
    let path = || from.relative(&percent_decode_str(&link.written).decode_utf8_lossy());
    link.is_markdown && path().is_some_and(|path| pages.get(&path).is_some())
}

/// The name of the page in the half of a link that is its target.
fn page_name<'l>(link: &'l Link, span: &Range<usize>) -> &'l str {
    let half = match &link.other {
        Some((other, written)) if other.start == span.start => written,
        _ => &link.written,
    };
    half.get(..span.len()).unwrap_or(half)
}

/// Whether a link names a page by its path or the name of its file.
fn names_file(written: &str, page: &PagePath) -> bool {
    let key = folded(written.strip_suffix(EXTENSION).unwrap_or(written));
    key == page.folded() || key == folded(page.name())
}

/// Carries out a move; undoes what was done if that fails.
pub(super) fn carry_out(root: &Path, journal: &Path, plan: &Plan) -> Result<(), WikiError> {
    let state_error = |source| WikiError::State { path: journal.to_owned(), source };
    let text = serde_json::to_vec(plan).map_err(|error| state_error(error.into()))?;
    private_file::replace(journal, &text).map_err(state_error)?;
    if let Err(error) = plan.write_first(root, plan.writes()) {
        undo(root, journal)?;
        return Err(error);
    }
    fs::remove_file(journal).map_err(state_error)?;
    if let Some(folder) = root.join(&plan.from).parent() {
        page_files::remove_empty_directories(root, folder);
    }
    Ok(())
}

fn is_version(path: &Path, version: &str) -> bool {
    page_bytes(path).is_ok_and(|bytes| etag(&bytes) == version)
}

/// Undoes the move of a journal, if there is one. A file that was changed since is left as it is.
pub(super) fn undo(root: &Path, journal: &Path) -> Result<(), WikiError> {
    let state_error = |source| WikiError::State { path: journal.to_owned(), source };
    let text = match private_file::read_whole(journal) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(state_error(error)),
    };
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| state_error(error.into()))?;
    let to = root.join(&plan.to);
    let has_copy = plan.files.get(&plan.from).is_some_and(|change| is_version(&to, &change.etag));
    if has_copy && plan.differs_in_case() {
        let from = root.join(&plan.from);
        rename(&to, &from).map_err(|source| page_files::io_error(&from, source))?;
        plan.restore(root)?;
        return fs::remove_file(journal).map_err(state_error);
    }
    // If the page is only at its new place and was changed there, or is at neither, others have gone on from here.
    if has_copy || root.join(&plan.from).exists() {
        plan.restore(root)?;
    }
    if has_copy {
        fs::remove_file(&to).map_err(|source| page_files::io_error(&to, source))?;
        page_files::remove_empty_directories(root, to.parent().unwrap_or(root));
    }
    fs::remove_file(journal).map_err(state_error)
}
