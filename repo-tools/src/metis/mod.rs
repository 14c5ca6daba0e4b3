//! Planning documents of [Metis](https://github.com/colliery-io/metis): Markdown with a head of YAML, in nested folders
//! under `.metis/`.
//!
//! Read tolerantly, because versions of Metis and people differ: a key may be missing, a phase may be a tag, a title
//! may stand in the first heading only, and folders tell what a head does not. A document that cannot be read is
//! counted, never an error.

mod head;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, files};
use crate::path::RelPath;
use crate::read::{ReadError, read_text};
use crate::until::Until;
use crate::walk::WalkLimits;
use crate::worktree::Worktree;
use head::Head;

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

/// Lists the documents; none where there is no `.metis/`.
pub fn documents(worktree: &Worktree, limits: &MetisLimits) -> MetisDocuments {
    let mut found = MetisDocuments::default();
    let filter = FileFilter {
        globs: vec!["*.md".to_owned()],
        under: RelPath::new(FOLDER).into_iter().collect(),
    };
    let Ok(listed) = files(worktree, &filter, WalkLimits::default().max_files, &limits.until) else {
        return found;
    };
    if listed.late {
        found.cuts.add(Cut::Time);
    }
    for path in listed.paths {
        if limits.until.is_over() {
            found.cuts.add(Cut::Time);
            break;
        }
        let file = read_text(worktree, &path, MAX_BYTES).ok();
        let head = file.as_ref().and_then(|file| document(&path, &file.text));
        match head.map(|(document, _)| document) {
            None => found.unreadable += 1,
            Some(document) if document.archived && !limits.archived => {}
            Some(_) if found.documents.len() >= limits.max_documents => {
                found.cuts.add(Cut::Matches);
                break;
            }
            Some(document) => found.documents.push(document),
        }
    }
    found
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
    let (document, text) = document(&document_found.path, &file.text).ok_or_else(not_found)?;
    Ok(MetisText {
        document,
        text: text.to_owned(),
    })
}

/// A file as a document and its text; `None` without a head.
fn document<'t>(path: &RelPath, text: &'t str) -> Option<(MetisDocument, &'t str)> {
    let (head, body) = Head::split(text)?;
    let slug = head.text("id");
    let id = head.text("short_code").or_else(|| slug.clone())?;
    let folders: BTreeSet<&str> = path.as_str().split('/').collect();
    let kind = head
        .text("level")
        .or_else(|| head.text("type"))
        .or_else(|| kind_by_path(path, &folders))?;
    let heading = body.lines().find_map(|line| line.strip_prefix("# "));
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
        parent: head.text("parent"),
        archived,
        id,
    };
    Some((document, body))
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
