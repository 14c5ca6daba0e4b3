//! Lists knowledge files.

use muninn_base::RelPath;
use muninn_repo_tools::metis::{MetisLimits, texts};
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::redact::redact;
use serde::Serialize;

use super::listing::Listing;
use super::{MAX_FILE_BYTES, MAX_TOTAL_BYTES, front, items, metis};

/// A file and its front matter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedFile {
    pub path: RelPath,
    /// `convention`, `decision`, ..., or the kind of a Metis document.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub domain: Option<String>,
    /// Confidence, from 0 to 1.
    pub confidence: Option<f32>,
    pub source: Option<String>,
    /// Globs of the files that the document is about.
    pub applies_to: Vec<String>,
    /// Number of sections.
    pub sections: usize,
    /// Metadata of a Metis document.
    pub metis: Option<MetisInfo>,
}

/// Metadata of a Metis document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetisInfo {
    /// Its short code.
    pub id: String,
    pub title: String,
    pub phase: Option<String>,
}

/// Lists knowledge files by path, with the pages of a wiki in another folder, then Metis documents by path.
pub fn list(worktree: &Worktree, wiki: Option<&RelPath>) -> Vec<ListedFile> {
    let mut listed = Vec::new();
    for file in Listing::of_worktree(worktree, wiki).files {
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
