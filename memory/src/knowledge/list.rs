//! What there is, file by file.

use muninn_repo_tools::metis::{MetisLimits, texts};
use muninn_repo_tools::{RelPath, Worktree, read_text};
use serde::Serialize;

use super::listing::Listing;
use super::{MAX_FILE_BYTES, MAX_TOTAL_BYTES, front, items, metis};
use crate::redact::redact;

/// A file and what it says about itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedFile {
    /// The file.
    pub path: RelPath,
    /// `convention`, `decision`, ..., or what kind of Metis document it is.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What it is about.
    pub domain: Option<String>,
    /// How sure it is, from 0 to 1.
    pub confidence: Option<f32>,
    /// Where it comes from.
    pub source: Option<String>,
    /// Globs of the files that it is about.
    pub applies_to: Vec<String>,
    /// How many sections are recalled.
    pub sections: usize,
    /// Of a Metis document.
    pub metis: Option<MetisInfo>,
}

/// What a Metis document is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetisInfo {
    /// Its short code.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How far it is.
    pub phase: Option<String>,
}

/// Knowledge files by path, then Metis documents by path.
pub fn list(worktree: &Worktree) -> Vec<ListedFile> {
    let mut listed = Vec::new();
    for file in Listing::of_worktree(worktree).files {
        let Ok(read) = read_text(worktree, &file.path, MAX_FILE_BYTES) else {
            continue;
        };
        let text = redact(&read.text);
        let front = front(&text);
        let sections = items(&file.path, &front).len();
        listed.push(ListedFile {
            path: file.path,
            kind: front.kind,
            domain: front.domain,
            confidence: front.confidence,
            source: front.source,
            applies_to: front.applies_to,
            sections,
            metis: None,
        });
    }
    if metis::stamps(worktree).is_empty() {
        return listed;
    }
    let documents = texts(worktree, &MetisLimits::default(), MAX_TOTAL_BYTES as usize).texts;
    listed.extend(documents.into_iter().map(|text| ListedFile {
        sections: metis::memories(&text).len(),
        confidence: Some(metis::confidence(&text.document)),
        path: text.document.path,
        kind: Some(text.document.kind),
        domain: None,
        source: None,
        applies_to: Vec::new(),
        metis: Some(MetisInfo {
            id: text.document.id,
            title: redact(&text.document.title).into_owned(),
            phase: text.document.phase,
        }),
    }));
    listed
}
