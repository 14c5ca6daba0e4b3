//! Two overviews of one section, after two journals with different ones were merged. The second one is in a file beside the
//! section, until somebody writes an overview that settles the conflict.

use muninn_repo_tools::{ChainError, CommitChain, ObjectId};
use serde::Serialize;

use super::section::SectionFile;
use crate::wiki::PagePath;

/// The first line of the file: the section's file from which both overviews come.
const BASE: &str = "<!-- base: ";
const AFTER: &str = " -->\n";

/// The second overview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OverviewConflict {
    pub other: String,
    /// The overview from which both come; absent if each journal began the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The extension of the file. It is no Markdown, so it is no section.
pub(super) const EXTENSION: &str = ".conflict";

/// The file beside a section.
pub(super) fn file(section: &PagePath) -> String {
    format!("{section}{EXTENSION}")
}

/// The text of the file.
pub(super) fn render(other: &str, base: Option<ObjectId>) -> String {
    let base = base.map_or_else(|| "none".to_owned(), |base| base.to_string());
    format!("{BASE}{base}{AFTER}{other}\n")
}

/// The conflict of a section at a commit.
pub(super) fn of(
    chain: &CommitChain,
    commit: Option<ObjectId>,
    section: &PagePath,
) -> Result<Option<OverviewConflict>, ChainError> {
    let Some(commit) = commit else { return Ok(None) };
    let Some(found) = chain.file(commit, &file(section))? else {
        return Ok(None);
    };
    let (base, other) = parts(&found.text);
    let base = ObjectId::from_hex(base).and_then(|base| chain.text(base));
    Ok(Some(OverviewConflict { other: other.to_owned(), base: base.map(|base| SectionFile::parse(&base).overview) }))
}

/// The id of the common overview's file, and the other overview.
pub(super) fn parts(text: &str) -> (&str, &str) {
    let parts = text.strip_prefix(BASE).and_then(|text| text.split_once(AFTER));
    let (base, other) = parts.unwrap_or(("none", text));
    (base, other.trim_end())
}
