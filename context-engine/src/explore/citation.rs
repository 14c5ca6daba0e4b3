//! Validating the citations of an explorer.

use muninn_base::RelPath;
use muninn_repo_tools::{Worktree, read_text};
use serde::{Deserialize, Serialize};

use super::dialect::citations::Cited;
use crate::tools::path_of;

/// Maximum number of citations. A longer list is not a useful selection.
const MAX_CITATIONS: usize = 12;
/// Maximum number of lines between two cited spans that are joined.
const GAP: u32 = 3;

/// A cited span that exists, with the blob of its file at the time of the citation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The file.
    pub path: String,
    /// The first and last line, counted from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
    /// The blob id of the whole file, in hexadecimal.
    pub blob: String,
}

impl std::fmt::Display for Citation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lines {
            Some((first, last)) => write!(f, "{}:{first}-{last}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// Returns the citations that exist, in order, and the number of citations that do not exist. Neighbouring spans are
/// joined.
pub(super) fn validate(
    worktree: &Worktree,
    scope: Option<&RelPath>,
    max_file_bytes: u64,
    cited: impl IntoIterator<Item = Cited>,
) -> (Vec<Citation>, u32) {
    let (mut valid, mut invented) = (Vec::<Citation>::new(), 0);
    // The number of validated citations is limited, because an answer of megabytes can cite thousands of files.
    for one in cited.into_iter().take(10 * MAX_CITATIONS) {
        match check(worktree, scope, max_file_bytes, &one) {
            Some(citation) => join(&mut valid, citation),
            None => invented += 1,
        }
    }
    valid.truncate(MAX_CITATIONS);
    (valid, invented)
}

fn check(worktree: &Worktree, scope: Option<&RelPath>, max_file_bytes: u64, cited: &Cited) -> Option<Citation> {
    let path = path_of(worktree.root(), &cited.path).ok()??;
    if scope.is_some_and(|scope| path != *scope && !path.is_under(scope)) {
        return None;
    }
    let file = read_text(worktree, &path, max_file_bytes).ok()?;
    let total = u32::try_from(file.text.lines().count()).unwrap_or(u32::MAX);
    let lines = match cited.lines {
        Some((first, last)) if first >= 1 && first <= last && first <= total => Some((first, last.min(total))),
        Some(_) => return None,
        None => None,
    };
    Some(Citation { path: path.to_string(), lines, blob: file.blob.to_string() })
}

/// Adds a citation, or extends an existing citation that overlaps or adjoins it.
fn join(citations: &mut Vec<Citation>, new: Citation) {
    for known in citations.iter_mut().filter(|known| known.path == new.path) {
        match (known.lines, new.lines) {
            (_, None) => return,
            (None, Some(_)) => {
                known.lines = new.lines;
                return;
            }
            (Some((first, last)), Some((new_first, new_last)))
                if new_first <= last.saturating_add(GAP) && first <= new_last.saturating_add(GAP) =>
            {
                known.lines = Some((first.min(new_first), last.max(new_last)));
                return;
            }
            _ => {}
        }
    }
    citations.push(new);
}
