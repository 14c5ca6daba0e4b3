//! The tools `read`, `tree`, `list` and `find`.

use muninn_base::RelPath;
use muninn_repo_tools::{
    self as repo_tools, EntryKind, Excerpt, FileFilter, FindQuery, FindResult, LineRange, ListEntry, Listing,
    TreeLimits, read_lines, tree_of,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Effect::Reads;
use super::arguments::{FILE_ALIASES, GLOB_ALIASES, PATH_ALIASES};
use super::output::{neutral_head, neutral_lines};
use super::{Globs, Output, PathArgument, Paths, Tool, ToolContext, ToolDescription, ToolError};

/// Maximum number of lines of one call; a page may have fewer.
const MAX_LINES: usize = 400;
const MAX_LINE_BYTES: usize = 500;
const TREE_TOKENS: usize = 1_500;
const MAX_ENTRIES: usize = 500;

pub(super) fn tools() -> [Tool; 4] {
    [
        ToolDescription::new("read", Reads, "read file lines")
            .about("Read lines of a file, numbered. Read the part that you need and not the whole file.")
            .parameter("path", FILE_ALIASES)
            .parameter("first", &["start", "start_line", "line_start", "offset"])
            .parameter("last", &["end", "end_line", "line_end"])
            .accepted("limit", &["count"])
            .paged()
            .prose()
            .answered(read, excerpt),
        ToolDescription::new("tree", Reads, "directory tree layout")
            .about("Show the directories and files as a tree, with counts.")
            .parameter("path", PATH_ALIASES)
            .parameter("depth", &["max_depth", "level"])
            .accepted("glob", GLOB_ALIASES)
            .paged()
            .prose()
            .answered(tree, directories),
        ToolDescription::new("list", Reads, "")
            .about("List what is in one directory, with sizes.")
            .parameter("path", PATH_ALIASES)
            .paged()
            .answered(list, entries),
        ToolDescription::new("find", Reads, "")
            .about("Find files by name: a glob such as `*_test.go` or `src/**/mod.rs`, or a part of the path.")
            .parameter("name", &["pattern", "glob", "query"])
            .parameter("path", PATH_ALIASES)
            .paged()
            .answered(find, paths),
    ]
}

/// The arguments of [`read`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ReadArguments {
    /// the file, from the repository's root
    pub path: PathArgument,
    /// the first line, from 1
    pub first: Option<u32>,
    /// the last line; at most 400 lines are read
    pub last: Option<u32>,
    /// how many lines to read, where `last` is absent
    pub limit: Option<u32>,
    /// how many lines to read at most; 400 if absent
    pub max_lines: Option<usize>,
    /// longer lines are cut, in bytes; 500 if absent
    pub max_line_bytes: Option<usize>,
}

/// Reads lines of a file.
pub fn read(context: &ToolContext<'_>, arguments: &ReadArguments) -> Result<Excerpt, ToolError> {
    let (path, first, last) = arguments.span();
    let is_written = matches!(path, PathArgument::Written(_));
    let path = context.file(&path)?;
    if is_written && last < first {
        return Err(ToolError::Backwards { first, last });
    }
    let bounds = LineRange {
        first,
        last,
        max_lines: arguments.max_lines.unwrap_or(MAX_LINES),
        max_line_bytes: arguments.max_line_bytes.unwrap_or(MAX_LINE_BYTES),
        ..LineRange::default()
    };
    Ok(read_lines(context.worktree, &path, &bounds)?)
}

fn excerpt(arguments: &ReadArguments, excerpt: &Excerpt) -> Output {
    let (path, total, (_, first, _)) = (&excerpt.path, excerpt.total_lines, arguments.span());
    let nothing = format!("{path} has {total} lines, none of them from {first} on");
    let Some(last) = excerpt.lines.last().map(|line| line.line) else {
        return Output::listed([], &excerpt.cuts, &nothing, "no such lines".to_owned());
    };
    let head = neutral_head(&format!("{path}, lines {first}-{last} of {total}"));
    let texts = neutral_lines(path, excerpt.lines.iter().map(|line| &*line.text));
    let numbered = excerpt.lines.iter().zip(texts).map(|(line, text)| match line.cut_bytes {
        0 => format!("{:>5}  {text}", line.line),
        cut => format!("{:>5}  {text} [{cut} bytes cut]", line.line),
    });
    let lines = std::iter::once(head).chain(numbered);
    let summary = format!("lines {first}-{last} of {total}");
    Output::listed(lines, &excerpt.cuts, &nothing, summary).with_shown([(path.clone(), first, last)])
}

impl ReadArguments {
    /// Returns the file, the first and the last line. The path of a model may end with line numbers.
    fn span(&self) -> (PathArgument, u32, u32) {
        let (path, lines) = match &self.path {
            PathArgument::Written(written) => {
                let (path, lines) = repo_tools::split_lines(written);
                (path.to_owned().into(), lines)
            }
            checked => (checked.clone(), None),
        };
        let first = self.first.or(lines.map(|(first, _)| first)).unwrap_or(1).max(1);
        let limited = self.limit.map(|count| first.saturating_add(count.max(1) - 1));
        let last = self.last.or(limited).or(lines.map(|(_, last)| last));
        (path, first, last.unwrap_or(u32::MAX))
    }
}

/// The arguments of [`tree`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct TreeArguments {
    /// the directory to begin with; without it the whole repository
    #[serde(default)]
    pub path: Paths,
    /// levels to show
    pub depth: Option<usize>,
    /// only files that fit, such as `*.rs`
    #[serde(default)]
    pub glob: Globs,
    /// what the text may cost, estimated; 1,500 if absent
    pub tokens: Option<usize>,
}

/// Shows directories as a tree. Lists the files of the index if there is one and no glob is given.
pub fn tree(context: &ToolContext<'_>, arguments: &TreeArguments) -> Result<repo_tools::Tree, ToolError> {
    let limits = TreeLimits {
        filter: context.filter(&arguments.path.0, &arguments.glob)?,
        max_depth: arguments.depth.unwrap_or(usize::MAX),
        max_tokens: arguments.tokens.unwrap_or(TREE_TOKENS),
        until: context.until.clone(),
    };
    let Some(snapshot) = context.snapshot.filter(|_| limits.filter.globs.is_empty()) else {
        return Ok(repo_tools::tree(context.worktree, &limits)?);
    };
    let under = &limits.filter.under;
    let wanted = |path: &RelPath| under.is_empty() || under.iter().any(|under| path.is_under(under));
    let files = snapshot.files().map(|(_, file)| &file.facts.path);
    let paths: Vec<RelPath> = files.filter(|path| wanted(path)).cloned().collect();
    Ok(tree_of(&paths, &limits))
}

fn directories(_: &TreeArguments, tree: &repo_tools::Tree) -> Output {
    let summary = format!("{} files in {} directories", tree.files, tree.directories);
    Output::listed(tree.text().lines().map(str::to_owned), &tree.cuts, "no files", summary)
}

/// The arguments of [`list`].
#[derive(Deserialize, JsonSchema)]
struct ListArguments {
    /// the directory; without it the root
    path: Option<PathArgument>,
}

/// Lists one directory.
fn list(context: &ToolContext<'_>, arguments: &ListArguments) -> Result<Listing, ToolError> {
    let directory = context.under(arguments.path.as_slice())?.pop();
    Ok(repo_tools::list(context.worktree, directory.as_ref(), MAX_ENTRIES, &context.until)?)
}

fn entries(_: &ListArguments, listing: &Listing) -> Output {
    let entry = |entry: &ListEntry| match (entry.kind, entry.size) {
        (EntryKind::Directory, _) => format!("{}/", entry.path),
        (EntryKind::Symlink, _) => format!("{} (a symlink)", entry.path),
        (EntryKind::File, size) => format!("{} ({} bytes)", entry.path, size.unwrap_or(0)),
    };
    let summary = format!("{} entries", listing.entries.len());
    Output::listed(listing.entries.iter().map(entry), &listing.cuts, "an empty directory", summary)
}

/// The arguments of [`find`].
#[derive(Deserialize, JsonSchema)]
struct FindArguments {
    /// the glob, or a part of the path
    name: String,
    /// the directory to look in
    #[serde(default)]
    path: Paths,
}

/// Finds files by name.
fn find(context: &ToolContext<'_>, arguments: &FindArguments) -> Result<FindResult, ToolError> {
    let query = FindQuery {
        name: arguments.name.clone(),
        filter: FileFilter { globs: Vec::new(), under: context.under(&arguments.path.0)? },
        max_files: MAX_ENTRIES,
        until: context.until.clone(),
    };
    Ok(repo_tools::find(context.worktree, &query)?)
}

fn paths(_: &FindArguments, found: &FindResult) -> Output {
    let summary = format!("{} files", found.paths.len());
    let paths = found.paths.iter().map(RelPath::to_string);
    Output::listed(paths, &found.cuts, "no file has such a name", summary)
}
