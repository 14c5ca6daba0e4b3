//! The directory tree of a worktree, within a token budget.

use std::collections::BTreeMap;
use std::time::Duration;

use muninn_base::{RelPath, Until};
use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, FilterError, files};
use crate::walk::WalkLimits;
use crate::worktree::Worktree;

/// Maximum number of shown entries of a directory.
const MAX_ENTRIES: usize = 100;
/// Estimated bytes of path and indentation per token.
const BYTES_PER_TOKEN: usize = 3;

/// The scope and the budget of a tree.
#[derive(Debug, Clone)]
pub struct TreeLimits {
    /// The files to include.
    pub filter: FileFilter,
    /// Maximum number of levels below the root.
    pub max_depth: usize,
    /// Maximum size of the text, in estimated tokens.
    pub max_tokens: usize,
    /// The deadline.
    pub until: Until,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            filter: FileFilter::default(),
            max_depth: usize::MAX,
            max_tokens: 4_000,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// A tree of directories.
#[derive(Debug, Serialize)]
pub struct Tree {
    /// The lines from top to bottom; the entries of a directory follow it.
    pub lines: Vec<TreeLine>,
    /// The number of files, shown or not.
    pub files: usize,
    /// The number of directories with files.
    pub directories: usize,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeLine {
    /// The level; 0 for an entry of the root.
    pub depth: usize,
    /// The name with control characters escaped; empty if `more` is set.
    pub name: String,
    /// The number of files below a directory.
    pub files: Option<usize>,
    /// The number of omitted entries that this line represents.
    pub more: Option<usize>,
}

impl Tree {
    /// Formats the tree as text, indented by two spaces a level: `src/ (12 files)`.
    pub fn text(&self) -> String {
        let line = |line: &TreeLine| {
            let indent = "  ".repeat(line.depth);
            match (line.more, line.files) {
                (Some(more), _) => format!("{indent}... {more} more\n"),
                (None, Some(1)) => format!("{indent}{}/ (1 file)\n", line.name),
                (None, Some(files)) => format!("{indent}{}/ ({files} files)\n", line.name),
                (None, None) => format!("{indent}{}\n", line.name),
            }
        };
        self.lines.iter().map(line).collect()
    }
}

/// Returns the worktree's files as a tree. Directories are expanded level by level within the budget. A directory that
/// is not expanded still shows its number of files.
///
/// # Errors
/// [`FilterError`] for a malformed glob.
pub fn tree(worktree: &Worktree, limits: &TreeLimits) -> Result<Tree, FilterError> {
    let listed = files(worktree, &limits.filter, WalkLimits::default().max_files, &limits.until)?;
    let mut tree = tree_of(&listed.paths, limits);
    tree.cuts.extend(&listed.cuts);
    Ok(tree)
}

/// Returns the given files, in any order, as a tree. The filter of `limits` is ignored.
pub fn tree_of(paths: &[RelPath], limits: &TreeLimits) -> Tree {
    let mut nodes = vec![Node::default()];
    for path in paths {
        let mut at = 0;
        for part in path.as_str().split('/') {
            nodes[at].files += 1;
            at = match nodes[at].children.get(part) {
                Some(known) => *known,
                None => {
                    nodes.push(Node::default());
                    let new = nodes.len() - 1;
                    nodes[at].children.insert(part, new);
                    new
                }
            };
        }
    }
    let cuts = expand(&mut nodes, limits);
    Tree {
        lines: lines(&nodes),
        files: paths.len(),
        directories: nodes.iter().skip(1).filter(|node| node.is_directory()).count(),
        cuts,
    }
}

#[derive(Default)]
struct Node<'p> {
    children: BTreeMap<&'p str, usize>,
    files: usize,
    expanded: bool,
}

impl Node<'_> {
    fn is_directory(&self) -> bool {
        !self.children.is_empty()
    }
}

/// Expands directories within the budget, level by level.
fn expand(nodes: &mut [Node<'_>], limits: &TreeLimits) -> Cuts {
    let (mut cuts, mut remaining) = (Cuts::default(), limits.max_tokens * BYTES_PER_TOKEN);
    let mut level = vec![0];
    let mut depth = 0;
    while !level.is_empty() {
        let mut below = Vec::new();
        for at in level {
            let shown = nodes[at].children.iter().take(MAX_ENTRIES);
            let cost: usize = shown.map(|(name, _)| 2 * depth + name.len() + 12).sum();
            if depth >= limits.max_depth {
                cuts.add(Cut::Depth);
            } else if cost > remaining {
                cuts.add(Cut::Tokens);
            } else {
                remaining -= cost;
                nodes[at].expanded = true;
                if nodes[at].children.len() > MAX_ENTRIES {
                    cuts.add(Cut::Lines);
                }
                below.extend(nodes[at].children.values().copied().take(MAX_ENTRIES));
            }
        }
        level = below.into_iter().filter(|at| nodes[*at].is_directory()).collect();
        depth += 1;
    }
    cuts
}

fn lines(nodes: &[Node<'_>]) -> Vec<TreeLine> {
    enum Pending<'p> {
        Entry { at: usize, name: &'p str, depth: usize },
        More { count: usize, depth: usize },
    }
    let mut lines = Vec::new();
    // `pending` is a stack: its last element is the next line.
    let mut pending = Vec::new();
    let push_children = |pending: &mut Vec<_>, at: usize, depth| {
        let node = &nodes[at];
        if !node.expanded {
            return;
        }
        let count = node.children.len().saturating_sub(MAX_ENTRIES);
        if count > 0 {
            pending.push(Pending::More { count, depth });
        }
        let shown: Vec<_> = node.children.iter().take(MAX_ENTRIES).collect();
        pending.extend(shown.into_iter().rev().map(|(name, at)| Pending::Entry { at: *at, name, depth }));
    };
    push_children(&mut pending, 0, 0);
    while let Some(next) = pending.pop() {
        match next {
            Pending::Entry { at, name, depth } => {
                lines.push(TreeLine {
                    depth,
                    name: name.chars().flat_map(printable).collect(),
                    files: nodes[at].is_directory().then_some(nodes[at].files),
                    more: None,
                });
                push_children(&mut pending, at, depth + 1);
            }
            Pending::More { count, depth } => {
                lines.push(TreeLine { depth, name: String::new(), files: None, more: Some(count) });
            }
        }
    }
    lines
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let escaped = c.is_control().then(|| c.escape_debug());
    let plain = (!c.is_control()).then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use muninn_base::RelPath;

    fn repository() -> Fixture {
        Fixture::with(&[
            (".gitignore", "target/\n"),
            ("README.md", "x"),
            ("src/deep/er/a.rs", "x"),
            ("src/deep/b.rs", "x"),
            ("src/lib.rs", "x"),
            ("target/out.rs", "x"),
            ("new\nline/x", "x"),
        ])
    }

    #[test]
    fn directories_are_expanded_within_the_limits() {
        let repo = repository();
        let tree = |limits| tree(&repo.worktree(), &limits).unwrap();
        let all = tree(TreeLimits::default());
        let text = ".gitignore\nREADME.md\nnew\\nline/ (1 file)\n  x\nsrc/ (3 files)\n  deep/ (2 files)\n    b.rs\n    er/ (1 file)\n      a.rs\n  lib.rs\n";
        assert_eq!((all.text().as_str(), all.files, all.directories), (text, 6, 4));
        assert!(all.cuts.is_empty());
        let flat = tree(TreeLimits { max_depth: 1, ..TreeLimits::default() });
        assert_eq!(flat.text(), ".gitignore\nREADME.md\nnew\\nline/ (1 file)\nsrc/ (3 files)\n");
        assert!(flat.cuts.has(Cut::Depth));
        let small = tree(TreeLimits { max_tokens: 40, ..TreeLimits::default() });
        assert!(small.cuts.has(Cut::Tokens) && small.lines.len() < all.lines.len() && !small.lines.is_empty());
        assert_eq!(small.files, 6, "omitted files are counted");
        let under = FileFilter { globs: vec![], under: vec![RelPath::new("src/deep").unwrap()] };
        let part = tree(TreeLimits { filter: under, ..TreeLimits::default() });
        assert_eq!(part.files, 2);
    }

    #[test]
    fn a_huge_directory_shows_its_first_entries_and_a_count() {
        let repo = Fixture::with(&[]);
        for n in 0..150 {
            repo.write(&format!("many/{n:03}.txt"), b"x");
        }
        let tree = tree(&repo.worktree(), &TreeLimits::default()).unwrap();
        assert!(tree.text().contains("... 50 more") && tree.text().contains("many/ (150 files)"));
        assert!(tree.cuts.has(Cut::Lines));
        assert_eq!(tree.lines.len(), 1 + 100 + 1);
    }
}
