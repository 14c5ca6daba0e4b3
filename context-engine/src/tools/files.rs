//! The tools `read`, `tree`, `list` and `find`.

use muninn_base::RelPath;
use muninn_repo_tools::{
    EntryKind, Excerpt, FileFilter, FindQuery, FindResult, LineRange, ListEntry, Listing, TreeLimits,
    find as find_files, list as list_entries, read_lines, tree, tree_of,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::output::{neutral_head, neutral_lines};
use super::{Globs, Output, Parameter, PathArgument, Paths, Tool, ToolContext, ToolError};

/// Maximum number of lines of one call; a page may have fewer.
const MAX_LINES: usize = 400;
const MAX_LINE_BYTES: usize = 500;
const TREE_TOKENS: usize = 1_500;
const MAX_ENTRIES: usize = 500;

/// Reads lines of a file.
pub struct Read;

/// The arguments of [`Read`].
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

impl Tool for Read {
    type Arguments = ReadArguments;
    type Answer = Excerpt;

    const NAME: &'static str = "read";
    const HINT: &'static str = "read file lines";
    const IS_PROSE: bool = true;
    const DESCRIPTION: &'static str =
        "Read lines of a file, numbered. Read the part that you need and not the whole file.";
    const PARAMETERS: &'static [Parameter] = &[
        PathArgument::FILE,
        Parameter::described("first", &["start", "start_line", "line_start", "offset"]),
        Parameter::described("last", &["end", "end_line", "line_end"]),
        Parameter::accepted("limit", &["count"]),
    ];

    fn answer(&self, context: &ToolContext<'_>, arguments: &ReadArguments) -> Result<Excerpt, ToolError> {
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

    fn output(&self, arguments: &ReadArguments, excerpt: &Excerpt) -> Output {
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
}

impl ReadArguments {
    /// Returns the file, the first and the last line. The path of a model may end with line numbers.
    fn span(&self) -> (PathArgument, u32, u32) {
        let (path, lines) = match &self.path {
            PathArgument::Written(written) => {
                let (path, lines) = with_lines(written);
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

/// Splits `src/a.rs:10-20` into the path and the lines.
fn with_lines(written: &str) -> (&str, Option<(u32, u32)>) {
    let Some((path, lines)) = written.rsplit_once(':') else {
        return (written, None);
    };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) => (path, Some((first, last))),
        _ => (written, None),
    }
}

/// Shows directories as a tree.
pub struct Tree;

/// The arguments of [`Tree`].
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

impl Tool for Tree {
    type Arguments = TreeArguments;
    type Answer = muninn_repo_tools::Tree;

    const NAME: &'static str = "tree";
    const HINT: &'static str = "directory tree layout";
    const IS_PROSE: bool = true;
    const DESCRIPTION: &'static str = "Show the directories and files as a tree, with counts.";
    const PARAMETERS: &'static [Parameter] = &[
        Paths::PARAMETER,
        Parameter::described("depth", &["max_depth", "level"]),
        Parameter::accepted("glob", Globs::ALIASES),
    ];

    /// Lists the files of the index if there is one and no glob is given.
    fn answer(&self, context: &ToolContext<'_>, arguments: &TreeArguments) -> Result<Self::Answer, ToolError> {
        let limits = TreeLimits {
            filter: context.filter(&arguments.path.0, &arguments.glob)?,
            max_depth: arguments.depth.unwrap_or(usize::MAX),
            max_tokens: arguments.tokens.unwrap_or(TREE_TOKENS),
            until: context.until.clone(),
        };
        let Some(snapshot) = context.snapshot.filter(|_| limits.filter.globs.is_empty()) else {
            return Ok(tree(context.worktree, &limits)?);
        };
        let under = &limits.filter.under;
        let wanted = |path: &RelPath| under.is_empty() || under.iter().any(|under| path.is_under(under));
        let files = snapshot.files().map(|(_, file)| &file.facts.path);
        let paths: Vec<RelPath> = files.filter(|path| wanted(path)).cloned().collect();
        Ok(tree_of(&paths, &limits))
    }

    fn output(&self, _: &TreeArguments, tree: &Self::Answer) -> Output {
        let summary = format!("{} files in {} directories", tree.files, tree.directories);
        Output::listed(tree.text().lines().map(str::to_owned), &tree.cuts, "no files", summary)
    }
}

/// Lists one directory.
pub struct List;

/// The arguments of [`List`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct ListArguments {
    /// the directory; without it the root
    pub path: Option<PathArgument>,
}

impl Tool for List {
    type Arguments = ListArguments;
    type Answer = Listing;

    const NAME: &'static str = "list";
    const DESCRIPTION: &'static str = "List what is in one directory, with sizes.";
    const PARAMETERS: &'static [Parameter] = &[Paths::PARAMETER];

    fn answer(&self, context: &ToolContext<'_>, arguments: &ListArguments) -> Result<Listing, ToolError> {
        let directory = context.under(arguments.path.as_slice())?.pop();
        Ok(list_entries(context.worktree, directory.as_ref(), MAX_ENTRIES, &context.until)?)
    }

    fn output(&self, _: &ListArguments, listing: &Listing) -> Output {
        let entry = |entry: &ListEntry| match (entry.kind, entry.size) {
            (EntryKind::Directory, _) => format!("{}/", entry.path),
            (EntryKind::Symlink, _) => format!("{} (a symlink)", entry.path),
            (EntryKind::File, size) => format!("{} ({} bytes)", entry.path, size.unwrap_or(0)),
        };
        let summary = format!("{} entries", listing.entries.len());
        Output::listed(listing.entries.iter().map(entry), &listing.cuts, "an empty directory", summary)
    }
}

/// Finds files by name.
pub struct Find;

/// The arguments of [`Find`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct FindArguments {
    /// the glob, or a part of the path
    pub name: String,
    /// the directory to look in
    #[serde(default)]
    pub path: Paths,
}

impl Tool for Find {
    type Arguments = FindArguments;
    type Answer = FindResult;

    const NAME: &'static str = "find";
    const DESCRIPTION: &'static str =
        "Find files by name: a glob such as `*_test.go` or `src/**/mod.rs`, or a part of the path.";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::described("name", &["pattern", "glob", "query"]), Paths::PARAMETER];

    fn answer(&self, context: &ToolContext<'_>, arguments: &FindArguments) -> Result<FindResult, ToolError> {
        let query = FindQuery {
            name: arguments.name.clone(),
            filter: FileFilter { globs: Vec::new(), under: context.under(&arguments.path.0)? },
            max_files: MAX_ENTRIES,
            until: context.until.clone(),
        };
        Ok(find_files(context.worktree, &query)?)
    }

    fn output(&self, _: &FindArguments, found: &FindResult) -> Output {
        let summary = format!("{} files", found.paths.len());
        let paths = found.paths.iter().map(RelPath::to_string);
        Output::listed(paths, &found.cuts, "no file has such a name", summary)
    }
}
