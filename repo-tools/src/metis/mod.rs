//! Planning documents of [Metis](https://github.com/colliery-io/metis): Markdown with a head of YAML, in nested folders
//! under `.metis/`.
//!
//! Read tolerantly, because versions of Metis and people differ: a key may be missing, a phase may be a tag, a title
//! may stand in the first heading only, and folders tell what a head does not. A document that cannot be read is
//! counted, never an error.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, files};
use crate::front_matter::{FrontMatter, UnclosedFrontMatter};
use crate::path::RelPath;
use crate::read::{ReadError, read_text};
use crate::until::Until;
use crate::walk::WalkLimits;
use crate::worktree::Worktree;

/// Where the documents are.
const FOLDER: &str = ".metis";
/// Larger documents are not read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Which documents to list.
#[derive(Debug, Clone)]
pub struct MetisLimits {
    /// Also what was archived.
    pub archived: bool,
    /// So many documents at most.
    pub max_documents: usize,
    /// When to give up.
    pub until: Until,
}

impl Default for MetisLimits {
    fn default() -> Self {
        Self {
            archived: false,
            max_documents: 2_000,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// The documents of a worktree.
#[derive(Debug, Default, Serialize)]
pub struct MetisDocuments {
    /// By path.
    pub documents: Vec<MetisDocument>,
    /// Files that are no such document, or cannot be read.
    pub unreadable: usize,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// What the head of a document says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetisDocument {
    /// The file.
    pub path: RelPath,
    /// Its short code (`PROJ-T-0001`), or its id.
    pub id: String,
    /// Its long id, where it has both.
    pub slug: Option<String>,
    /// `vision`, `initiative`, `task`, `adr`, or whatever it says.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its title.
    pub title: String,
    /// How far it is: `draft`, `active`, `completed`.
    pub phase: Option<String>,
    /// Its number among its kind, as in ADR-3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The id of what it is part of.
    pub parent: Option<String>,
    /// It was put away.
    pub archived: bool,
}

/// A document with its text.
#[derive(Debug, Clone, Serialize)]
pub struct MetisText {
    /// What its head says.
    #[serde(flatten)]
    pub document: MetisDocument,
    /// The Markdown below the head.
    pub text: String,
    /// Where that begins in the file, in lines counted from 1.
    #[serde(skip)]
    pub first_line: u32,
}

/// The documents of a worktree with their texts.
#[derive(Debug, Default)]
pub struct MetisTexts {
    /// By path.
    pub texts: Vec<MetisText>,
    /// Files that are no such document, or cannot be read, and why.
    pub unreadable: Vec<(RelPath, NotADocument)>,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// Why a document was not found.
#[derive(Debug, thiserror::Error)]
pub enum MetisError {
    /// None has that id.
    #[error("there is no document {id} under .metis/")]
    NotFound {
        /// What was asked for.
        id: String,
    },
    /// It was listed a moment ago and cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a file under `.metis/` is not a document.
#[derive(Debug, thiserror::Error)]
pub enum NotADocument {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its head has no end.
    #[error(transparent)]
    FrontMatter(#[from] UnclosedFrontMatter),
    /// It has no front matter.
    #[error("it has no head")]
    NoHead,
    /// It has no id.
    #[error("its head has neither short_code nor id")]
    NoId,
    /// Its kind is unknown.
    #[error("neither its head nor its folder says what kind of document it is")]
    NoKind,
}

/// Lists the documents; none where there is no `.metis/`.
pub fn documents(worktree: &Worktree, limits: &MetisLimits) -> MetisDocuments {
    let mut documents = Vec::new();
    let passed = visit(worktree, limits, |text| {
        documents.push(text.document);
        true
    });
    MetisDocuments {
        documents,
        unreadable: passed.unreadable.len(),
        cuts: passed.cuts,
    }
}

/// The documents with what they say, for at most so many bytes; none where there is no `.metis/`.
pub fn texts(worktree: &Worktree, limits: &MetisLimits, max_bytes: usize) -> MetisTexts {
    let mut found = Vec::new();
    let mut left = max_bytes;
    let passed = visit(worktree, limits, |text| {
        let rest = left.checked_sub(text.text.len());
        left = rest.unwrap_or(left);
        found.extend(rest.map(|_| text));
        rest.is_some()
    });
    MetisTexts { texts: found, ..passed }
}

/// Hands each document on until one is not taken, and returns what was passed over.
fn visit(worktree: &Worktree, limits: &MetisLimits, mut take: impl FnMut(MetisText) -> bool) -> MetisTexts {
    let mut passed = MetisTexts::default();
    let filter = FileFilter {
        globs: vec!["*.md".to_owned()],
        under: RelPath::new(FOLDER).into_iter().collect(),
    };
    let Ok(listed) = files(worktree, &filter, WalkLimits::default().max_files, &limits.until) else {
        return passed;
    };
    if listed.late {
        passed.cuts.add(Cut::Time);
    }
    let mut taken = 0;
    for path in listed.paths {
        if limits.until.is_over() {
            passed.cuts.add(Cut::Time);
            break;
        }
        let read = read_text(worktree, &path, MAX_BYTES).map_err(NotADocument::from);
        match read.and_then(|file| document(&path, &file.text)) {
            Err(reason) => passed.unreadable.push((path, reason)),
            Ok(text) if text.document.archived && !limits.archived => {}
            Ok(_) if taken >= limits.max_documents => {
                passed.cuts.add(Cut::Matches);
                break;
            }
            Ok(text) => {
                if !take(text) {
                    passed.cuts.add(Cut::Bytes);
                    break;
                }
                taken += 1;
            }
        }
    }
    passed
}

/// Reads one document by its short code or its id, in any case.
///
/// # Errors
/// [`MetisError`] where there is none, or it cannot be read any more.
pub fn document_by_id(worktree: &Worktree, id: &str, until: Until) -> Result<MetisText, MetisError> {
    let limits = MetisLimits {
        archived: true,
        until,
        ..MetisLimits::default()
    };
    let found = documents(worktree, &limits);
    let is = |document: &&MetisDocument| {
        document.id.eq_ignore_ascii_case(id)
            || document
                .slug
                .as_deref()
                .is_some_and(|slug| slug.eq_ignore_ascii_case(id))
    };
    // Of two, the one that is not put away.
    let meant = found
        .documents
        .iter()
        .filter(is)
        .min_by_key(|document| document.archived);
    let not_found = || MetisError::NotFound { id: id.to_owned() };
    let document_found = meant.ok_or_else(not_found)?;
    let file = read_text(worktree, &document_found.path, MAX_BYTES)?;
    document(&document_found.path, &file.text).map_err(|_| not_found())
}

/// A file as a document and its text, or why it is none.
fn document(path: &RelPath, text: &str) -> Result<MetisText, NotADocument> {
    let head = FrontMatter::of(text)?.ok_or(NotADocument::NoHead)?;
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
    let title = head
        .text("title")
        .or_else(|| heading.map(|line| line.trim().to_owned()));
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
    Ok(MetisText {
        document,
        text: head.body.to_owned(),
        first_line: head.last_line + 1,
    })
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
    fn lists_what_the_heads_say() {
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
        let all = documents(
            &repo.worktree(),
            &MetisLimits {
                archived: true,
                ..MetisLimits::default()
            },
        );
        assert_eq!(all.documents.len(), 4);
        let few = documents(
            &repo.worktree(),
            &MetisLimits {
                max_documents: 1,
                ..MetisLimits::default()
            },
        );
        assert!(few.documents.len() == 1 && few.cuts.has(Cut::Matches));
        assert!(
            documents(&Fixture::with(&[]).worktree(), &MetisLimits::default())
                .documents
                .is_empty()
        );
    }

    #[test]
    fn reads_one_by_either_id() {
        let repo = repository();
        for id in ["PROJ-V-0001", "the-vision", "proj-v-0001"] {
            assert_eq!(
                document_by_id(&repo.worktree(), id, soon()).unwrap().text.trim(),
                "# The vision\n\nText."
            );
        }
        assert!(
            document_by_id(&repo.worktree(), "PROJ-T-0001", soon())
                .unwrap()
                .document
                .archived
        );
        assert!(matches!(
            document_by_id(&repo.worktree(), "x", soon()),
            Err(MetisError::NotFound { .. })
        ));
    }
}
