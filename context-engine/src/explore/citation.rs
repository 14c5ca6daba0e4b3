//! Places that an explorer cites, as far as they exist.

use muninn_repo_tools::{RelPath, Worktree, read_text};
use serde::{Deserialize, Serialize};

use super::dialect::citations::Cited;
use crate::tools::path_of;

/// More than this are not kept: whoever cites everything has found nothing.
const MOST: usize = 12;
/// Between spans with so few lines between them there is nothing worth leaving out.
const GAP: u32 = 3;

/// A place that exists, in a file as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The file.
    pub path: String,
    /// The first line, from 1, and the last; `None` for the file as a whole.
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

/// The citations that exist, in their order, those of one place joined; and how many do not exist.
pub(super) fn settle(
    worktree: &Worktree,
    scope: Option<&RelPath>,
    max_file_bytes: u64,
    cited: impl IntoIterator<Item = Cited>,
) -> (Vec<Citation>, u32) {
    let (mut settled, mut invented) = (Vec::<Citation>::new(), 0);
    // Reading is bounded too: an answer of megabytes may cite thousands.
    for one in cited.into_iter().take(10 * MOST) {
        match exists(worktree, scope, max_file_bytes, &one) {
            Some(citation) => join(&mut settled, citation),
            None => invented += 1,
        }
    }
    settled.truncate(MOST);
    (settled, invented)
}

fn exists(worktree: &Worktree, scope: Option<&RelPath>, max_file_bytes: u64, cited: &Cited) -> Option<Citation> {
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
    Some(Citation {
        path: path.to_string(),
        lines,
        blob: file.blob.to_string(),
    })
}

/// Adds a citation, or widens the one that it touches.
fn join(settled: &mut Vec<Citation>, new: Citation) {
    for known in settled.iter_mut().filter(|known| known.path == new.path) {
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
    settled.push(new);
}
