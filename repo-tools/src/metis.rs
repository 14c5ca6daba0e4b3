//! Planning documents of [Metis](https://github.com/colliery-io/metis): Markdown with front matter, in nested folders
//! under `.metis/`.
//!
//! The parser is tolerant, because versions of Metis differ: a key can be missing, a phase can be a tag, the title can
//! be in the first heading only, and the folder can be the only evidence of the document's kind. An unreadable document
//! is counted and is not an error.

use std::collections::BTreeSet;
use std::time::Duration;

use muninn_base::{RelPath, Until};
use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, files};
use crate::front_matter::{FrontMatter, UnclosedFrontMatter};
use crate::read::{ReadError, read_text};
use crate::walk::WalkLimits;
use crate::worktree::Worktree;

/// The folder of the documents.
const FOLDER: &str = ".metis";
/// Maximum size of a document, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The documents to list.
#[derive(Debug, Clone)]
pub struct MetisLimits {
    /// Whether to include archived documents.
    pub archived: bool,
    /// Maximum number of documents.
    pub max_documents: usize,
    /// The deadline.
    pub until: Until,
}

impl Default for MetisLimits {
    fn default() -> Self {
        Self { archived: false, max_documents: 2_000, until: Until::within(Duration::from_secs(10)) }
    }
}

/// The documents of a worktree.
#[derive(Debug, Default, Serialize)]
pub struct MetisDocuments {
    /// The documents, by path.
    pub documents: Vec<MetisDocument>,
    /// The number of files that are not documents or cannot be read.
    pub unreadable: usize,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// The front matter of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetisDocument {
    /// The file.
    pub path: RelPath,
    /// The short code (`PROJ-T-0001`), or else the long id.
    pub id: String,
    /// The long id, if the document also has a short code.
    pub slug: Option<String>,
    /// The kind, in lower case: `vision`, `initiative`, `task`, `adr` or another word.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    /// The phase: `draft`, `active`, `completed` or another word.
    pub phase: Option<String>,
    /// The number among documents of its kind, as in ADR-3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The id of the parent document.
    pub parent: Option<String>,
    /// Whether the document is archived.
    pub archived: bool,
}

/// A document with its text.
#[derive(Debug, Clone, Serialize)]
pub struct MetisText {
    /// The front matter.
    #[serde(flatten)]
    pub document: MetisDocument,
    /// The Markdown below the front matter.
    pub text: String,
    /// The first line of `text` in the file, counted from 1.
    #[serde(skip)]
    pub first_line: u32,
}

/// The documents of a worktree with their texts.
#[derive(Debug, Default)]
pub struct MetisTexts {
    /// The documents, by path.
    pub texts: Vec<MetisText>,
    /// The files that are not documents or cannot be read, with the reason.
    pub unreadable: Vec<(RelPath, NotADocument)>,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// Why a document was not found.
#[derive(Debug, thiserror::Error)]
pub enum MetisError {
    /// No document has this id.
    #[error("there is no document {id} under .metis/")]
    NotFound {
        /// The requested id.
        id: String,
    },
    /// The document cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a file under `.metis/` is not a document.
#[derive(Debug, thiserror::Error)]
pub enum NotADocument {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The front matter has no closing line.
    #[error(transparent)]
    FrontMatter(#[from] UnclosedFrontMatter),
    /// There is no front matter.
    #[error("it has no front matter")]
    NoFrontMatter,
    /// The front matter has no id.
    #[error("its front matter has neither `short_code` nor `id`")]
    NoId,
    /// The kind of document is unknown.
    #[error("neither its front matter (`level`, `type`) nor its folder names the kind of document")]
    NoKind,
}

/// Lists the documents; empty without a `.metis/` folder.
pub fn documents(worktree: &Worktree, limits: &MetisLimits) -> MetisDocuments {
    let mut documents = Vec::new();
    let skipped = visit(worktree, limits, |text| {
        documents.push(text.document);
        true
    });
    MetisDocuments { documents, unreadable: skipped.unreadable.len(), cuts: skipped.cuts }
}

/// Lists the documents with their texts, up to `max_bytes` of text; empty without a `.metis/` folder.
pub fn texts(worktree: &Worktree, limits: &MetisLimits, max_bytes: usize) -> MetisTexts {
    let mut found = Vec::new();
    let mut remaining = max_bytes;
    let skipped = visit(worktree, limits, |text| {
        let rest = remaining.checked_sub(text.text.len());
        remaining = rest.unwrap_or(remaining);
        found.extend(rest.map(|_| text));
        rest.is_some()
    });
    MetisTexts { texts: found, ..skipped }
}

/// Passes each document to `take` until it returns `false`. Returns the unreadable files and the limits, without texts.
fn visit(worktree: &Worktree, limits: &MetisLimits, mut take: impl FnMut(MetisText) -> bool) -> MetisTexts {
    let mut skipped = MetisTexts::default();
    let filter = FileFilter { globs: vec!["*.md".to_owned()], under: RelPath::new(FOLDER).into_iter().collect() };
    let Ok(listed) = files(worktree, &filter, WalkLimits::default().max_files, &limits.until) else {
        return skipped;
    };
    skipped.cuts.extend(&listed.cuts);
    let mut taken = 0;
    for path in listed.paths {
        if limits.until.is_over() {
            skipped.cuts.add(Cut::Time);
            break;
        }
        let read = read_text(worktree, &path, MAX_BYTES).map_err(NotADocument::from);
        match read.and_then(|file| document(&path, &file.text)) {
            Err(reason) => skipped.unreadable.push((path, reason)),
            Ok(text) if text.document.archived && !limits.archived => {}
            Ok(_) if taken >= limits.max_documents => {
                skipped.cuts.add(Cut::Matches);
                break;
            }
            Ok(text) => {
                if !take(text) {
                    skipped.cuts.add(Cut::Bytes);
                    break;
                }
                taken += 1;
            }
        }
    }
    skipped
}

/// Reads one document by its short code or its long id, in any case.
pub fn document_by_id(worktree: &Worktree, id: &str, until: Until) -> Result<MetisText, MetisError> {
    let limits = MetisLimits { archived: true, until, ..MetisLimits::default() };
    let found = documents(worktree, &limits);
    let has_id = |document: &&MetisDocument| {
        document.id.eq_ignore_ascii_case(id)
            || document.slug.as_deref().is_some_and(|slug| slug.eq_ignore_ascii_case(id))
    };
    // An archived document comes last.
    let matching = found.documents.iter().filter(has_id);
    let first = matching.min_by_key(|document| document.archived);
    let not_found = || MetisError::NotFound { id: id.to_owned() };
    let path = &first.ok_or_else(not_found)?.path;
    let file = read_text(worktree, path, MAX_BYTES)?;
    document(path, &file.text).map_err(|_| not_found())
}

/// Reads a file as a document.
fn document(path: &RelPath, text: &str) -> Result<MetisText, NotADocument> {
    let head = FrontMatter::of(text)?.ok_or(NotADocument::NoFrontMatter)?;
    let slug = head.text("id");
    let id = head.text("short_code").or_else(|| slug.clone());
    let id = id.ok_or(NotADocument::NoId)?;
    let folders: BTreeSet<&str> = path.as_str().split('/').collect();
    let kind = head
        .text("level")
        .or_else(|| head.text("type"))
        .or_else(|| kind_by_path(path, &folders))
        .ok_or(NotADocument::NoKind)?;
    let heading = head.body.lines().find_map(|line| line.strip_prefix("# "));
    let title = head.text("title").or_else(|| heading.map(|line| line.trim().to_owned()));
    let tagged = head.list("tags").into_iter().find_map(|tag| {
        let phase = tag.trim_start_matches('#').strip_prefix("phase/")?;
        Some(phase.to_owned())
    });
    let archived = head.text("archived").is_some_and(|word| word == "true") || folders.contains("archived");
    let document = MetisDocument {
        path: path.clone(),
        slug: slug.filter(|slug| *slug != id),
        kind: kind.to_lowercase(),
        title: title.unwrap_or_else(|| id.clone()),
        phase: tagged.or_else(|| head.text("phase")).or_else(|| head.text("status")),
        number: head.text("number").and_then(|number| number.parse().ok()),
        parent: head.text("parent"),
        archived,
        id,
    };
    Ok(MetisText { document, text: head.body.to_owned(), first_line: head.last_line + 1 })
}

fn kind_by_path(path: &RelPath, folders: &BTreeSet<&str>) -> Option<String> {
    let kind = match path.file_name() {
        "vision.md" => "vision",
        "initiative.md" => "initiative",
        "strategy.md" => "strategy",
        _ if folders.contains("tasks") || folders.contains("backlog") => "task",
        _ if folders.contains("adrs") => "adr",
        _ if folders.contains("specifications") => "specification",
        _ => return None,
    };
    Some(kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn repository() -> Fixture {
        Fixture::with(&[
            (
                ".metis/vision.md",
                "---\nid: the-vision\nlevel: vision\ntitle: \"The: vision\"\nshort_code: \"PROJ-V-0001\"\nstatus: draft\nparent: \n\n# Phases\ntags:\n  - \"#vision\"\n  - \"#phase/published\"\n  # - \"#phase/draft\"\n\nexit_criteria_met: false\n---\n\n# The vision\n\nText.\n",
            ),
            (
                ".metis/initiatives/PROJ-I-0001/initiative.md",
                "\u{feff}---\r\nid: grow\r\nshort_code: PROJ-I-0001\r\nparent: PROJ-V-0001\r\ntags: [\"#initiative\", \"#phase/active\"]\r\n---\r\n\r\n# Grow\r\n",
            ),
            (
                ".metis/initiatives/PROJ-I-0001/tasks/PROJ-T-0002.md",
                "---\nid: do-it # really\nlevel: Task\ntitle: Do it\nphase: todo\nparent: null\narchived: false\n---\nBody\n",
            ),
            (
                ".metis/archived/backlog/PROJ-T-0001.md",
                "---\nid: old\nshort_code: PROJ-T-0001\narchived: true\n---\n# Old\n",
            ),
            (".metis/notes.md", "no head\n"),
            (".metis/adrs/001.md", "---\nno id here\n"),
            ("docs/other.md", "---\nid: x\nlevel: task\n---\n"),
        ])
    }

    fn soon() -> Until {
        Until::within(Duration::from_secs(600))
    }

    #[test]
    fn documents_are_listed_with_their_front_matter() {
        let repo = repository();
        let found = documents(&repo.worktree(), &MetisLimits::default());
        let shown: Vec<String> = found
            .documents
            .iter()
            .map(|of| format!("{} {} {:?} {:?} {:?}", of.id, of.kind, of.title, of.phase, of.parent))
            .collect();
        assert_eq!(
            shown,
            [
                "PROJ-I-0001 initiative \"Grow\" Some(\"active\") Some(\"PROJ-V-0001\")",
                "do-it task \"Do it\" Some(\"todo\") None",
                "PROJ-V-0001 vision \"The: vision\" Some(\"published\") None",
            ]
        );
        assert_eq!(found.unreadable, 2);
        let all = documents(&repo.worktree(), &MetisLimits { archived: true, ..MetisLimits::default() });
        assert_eq!(all.documents.len(), 4);
        let few = documents(&repo.worktree(), &MetisLimits { max_documents: 1, ..MetisLimits::default() });
        assert!(few.documents.len() == 1 && few.cuts.has(Cut::Matches));
        assert!(documents(&Fixture::with(&[]).worktree(), &MetisLimits::default()).documents.is_empty());
    }

    #[test]
    fn reads_one_by_either_id() {
        let repo = repository();
        for id in ["PROJ-V-0001", "the-vision", "proj-v-0001"] {
            assert_eq!(document_by_id(&repo.worktree(), id, soon()).unwrap().text.trim(), "# The vision\n\nText.");
        }
        assert!(document_by_id(&repo.worktree(), "PROJ-T-0001", soon()).unwrap().document.archived);
        assert!(matches!(document_by_id(&repo.worktree(), "x", soon()), Err(MetisError::NotFound { .. })));
    }
}
