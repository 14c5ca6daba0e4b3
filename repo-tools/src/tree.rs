//! The directories of a worktree, as many of them as fit a budget.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, FilterError, files};
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::WalkLimits;
use crate::worktree::Worktree;

/// Of a directory with more entries only the first are shown.
const MAX_ENTRIES: usize = 100;
/// What a token is taken to be, in bytes of a path and its indentation.
const BYTES_PER_TOKEN: usize = 3;

/// How much of a tree to show.
#[derive(Debug, Clone)]
pub struct TreeLimits {
    /// Which files count.
    pub filter: FileFilter,
    /// Levels below the root.
    pub max_depth: usize,
    /// What the text may cost, estimated.
    pub max_tokens: usize,
    /// When to give up.
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
    /// From the top down, an entry of a directory right after it.
    pub lines: Vec<TreeLine>,
    /// All files, shown or not.
    pub files: usize,
    /// All directories with files in them.
    pub directories: usize,
    /// Which bounds left something out.
    pub cuts: Cuts,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeLine {
    /// Its level; 0 for an entry of the root.
    pub depth: usize,
    /// Its name, control characters escaped; empty for `more`.
    pub name: String,
    /// For a directory, how many files are below it.
    pub files: Option<usize>,
    /// It stands for this many entries that are not shown.
    pub more: Option<usize>,
}

impl Tree {
    /// As text, two spaces for each level: `src/ (12 files)`.
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

/// Shows the worktree's files as a tree. Directories are opened level by level while the budget lasts; one that is not
/// opened still says how many files are below it.
///
/// # Errors
/// [`FilterError`] for a malformed glob.
pub fn tree(worktree: &Worktree, limits: &TreeLimits) -> Result<Tree, FilterError> {
    let listed = files(worktree, &limits.filter, WalkLimits::default().max_files, &limits.until)?;
    let mut tree = tree_of(&listed.paths, limits);
    if listed.late {
        tree.cuts.add(Cut::Time);
    }
    Ok(tree)
}

/// The same for files that somebody knows, in any order; the filter is not looked at.
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
    let cuts = open(&mut nodes, limits);
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
    open: bool,
}

impl Node<'_> {
    fn is_directory(&self) -> bool {
        !self.children.is_empty()
    }
}

/// Opens directories, nearest to the root first, while they fit.
fn open(nodes: &mut [Node<'_>], limits: &TreeLimits) -> Cuts {
    let (mut cuts, mut left) = (Cuts::default(), limits.max_tokens * BYTES_PER_TOKEN);
    let mut level = vec![0];
    let mut depth = 0;
    while !level.is_empty() {
        let mut below = Vec::new();
        for at in level {
            let shown = nodes[at].children.iter().take(MAX_ENTRIES);
            let cost: usize = shown.map(|(name, _)| 2 * depth + name.len() + 12).sum();
            if depth >= limits.max_depth {
                cuts.add(Cut::Depth);
            } else if cost > left {
                cuts.add(Cut::Tokens);
            } else {
                left -= cost;
                nodes[at].open = true;
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
    /// An entry whose turn has not come.
    enum Waiting<'p> {
        Entry { at: usize, name: &'p str, depth: usize },
        More { count: usize, depth: usize },
    }
    let mut lines = Vec::new();
    // The next one last.
    let mut waiting = Vec::new();
    let below = |waiting: &mut Vec<_>, at: usize, depth| {
        let node = &nodes[at];
        if !node.open {
            return;
        }
        let count = node.children.len().saturating_sub(MAX_ENTRIES);
        if count > 0 {
            waiting.push(Waiting::More { count, depth });
        }
        let shown: Vec<_> = node.children.iter().take(MAX_ENTRIES).collect();
        waiting.extend(
            shown
                .into_iter()
                .rev()
                .map(|(name, at)| Waiting::Entry { at: *at, name, depth }),
        );
    };
    below(&mut waiting, 0, 0);
    while let Some(next) = waiting.pop() {
        match next {
            Waiting::Entry { at, name, depth } => {
                lines.push(TreeLine {
                    depth,
                    name: name.chars().flat_map(printable).collect(),
                    files: nodes[at].is_directory().then_some(nodes[at].files),
                    more: None,
                });
                below(&mut waiting, at, depth + 1);
            }
            Waiting::More { count, depth } => lines.push(TreeLine {
                depth,
                name: String::new(),
                files: None,
                more: Some(count),
            }),
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
    use crate::path::RelPath;

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
    fn shows_everything_that_fits() {
        let repo = repository();
        let tree = |limits| tree(&repo.worktree(), &limits).unwrap();
        let all = tree(TreeLimits::default());
        let text = ".gitignore\nREADME.md\nnew\\nline/ (1 file)\n  x\nsrc/ (3 files)\n  deep/ (2 files)\n    b.rs\n    er/ (1 file)\n      a.rs\n  lib.rs\n";
        assert_eq!((all.text().as_str(), all.files, all.directories), (text, 6, 4));
        assert!(all.cuts.is_empty());
        let flat = tree(TreeLimits {
            max_depth: 1,
            ..TreeLimits::default()
        });
        assert_eq!(
            flat.text(),
            ".gitignore\nREADME.md\nnew\\nline/ (1 file)\nsrc/ (3 files)\n"
        );
        assert!(flat.cuts.has(Cut::Depth));
        let small = tree(TreeLimits {
            max_tokens: 40,
            ..TreeLimits::default()
        });
        assert!(small.cuts.has(Cut::Tokens) && small.lines.len() < all.lines.len() && !small.lines.is_empty());
        assert_eq!(small.files, 6, "what is not shown is counted");
        let under = FileFilter {
            globs: vec![],
            under: vec![RelPath::new("src/deep").unwrap()],
        };
        let part = tree(TreeLimits {
            filter: under,
            ..TreeLimits::default()
        });
        assert_eq!(part.files, 2);
    }

    #[test]
    fn a_huge_directory_is_no_wall_of_names() {
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
