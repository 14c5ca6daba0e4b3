//! A conflict as doors show it.

use muninn_memory::reconcile::{FileChange, OpenConflict, file_change};
use muninn_memory::records::{Body, Record, kinds};
use muninn_repo_tools::Worktree;
use serde::Serialize;
use serde_json::Number;

/// An open conflict.
#[derive(Debug, Serialize)]
pub struct ConflictView {
    /// The conflict's id.
    pub id: String,
    /// Why the two contradict each other.
    pub reason: String,
    /// Who found it: rules or a model.
    pub by: String,
    /// The older memory.
    pub left: SideView,
    /// The newer memory.
    pub right: SideView,
}

/// One side of a conflict: a learning or a pattern.
#[derive(Debug, Serialize)]
pub struct SideView {
    /// The record's id.
    pub id: String,
    /// The statement.
    pub text: String,
    /// What it is about.
    pub subject: Option<String>,
    /// The files or names of a pattern.
    pub entities: Vec<String>,
    /// The time of writing.
    pub date: String,
    /// The session in which it was written.
    pub session: Option<String>,
    /// The branch on which it was written.
    pub branch: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// The confidence, from 0 to 1.
    pub confidence: Option<f64>,
    /// The cited files.
    pub files: Vec<CitedFile>,
}

/// A cited file.
#[derive(Debug, Serialize)]
pub struct CitedFile {
    /// The path.
    pub path: String,
    /// What became of it.
    pub today: FileChange,
}

impl ConflictView {
    /// The view of a conflict in a worktree.
    #[must_use]
    pub fn of(worktree: &Worktree, open: &OpenConflict) -> Self {
        let (by, reason) = match &open.conflict.body {
            Body::Conflict(kinds::Conflict { by, reason, .. }) => (by.clone(), reason.clone()),
            _ => Default::default(),
        };
        Self {
            id: open.conflict.id.clone(),
            reason,
            by,
            left: SideView::of(worktree, &open.left),
            right: SideView::of(worktree, &open.right),
        }
    }
}

impl SideView {
    fn of(worktree: &Worktree, record: &Record) -> Self {
        let (text, subject, entities, author, confidence) = match &record.body {
            Body::Learning(kinds::Learning {
                text,
                subject,
                confidence,
                author,
            }) => (text.clone(), subject.clone(), Vec::new(), author.clone(), confidence),
            Body::Pattern(kinds::Pattern {
                pattern,
                entities,
                confidence,
                author,
            }) => (pattern.clone(), None, entities.clone(), author.clone(), confidence),
            _ => (String::new(), None, Vec::new(), None, &None),
        };
        let origin = &record.origin;
        let files = origin.sources.iter().map(|source| CitedFile {
            path: source.path.to_string(),
            today: file_change(worktree, source),
        });
        Self {
            id: record.id.clone(),
            text,
            subject,
            entities,
            date: record.ts.to_string(),
            session: origin.session.clone(),
            branch: origin.branch.clone(),
            author,
            confidence: confidence.as_ref().and_then(Number::as_f64),
            files: files.collect(),
        }
    }
}
