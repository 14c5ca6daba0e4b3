//! `read`, `tree`, `list` and `find`.

use muninn_repo_tools::{
    EntryKind, FindQuery, LineRange, RelPath, TreeLimits, find as find_files, list as list_entries, read_lines,
};

use super::{Arguments, Caller, Output, Spec, Toolbox, listed, path_of};

/// Lines of one call; a page may hold fewer.
const MAX_LINES: usize = 400;
const MAX_LINE_BYTES: usize = 500;
const TREE_TOKENS: usize = 1_500;
const MAX_ENTRIES: usize = 500;

pub(super) const READ: Spec = Spec {
    name: "read",
    description: "Read lines of a file, numbered. Read the part that you need and not the whole file.",
    parameters: &[
        ("path", "string", "the file, from the repository's root"),
        ("first", "integer", "the first line, from 1"),
        ("last", "integer", "the last line; at most 400 lines are read"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 1,
    run: Some(read),
};

pub(super) const TREE: Spec = Spec {
    name: "tree",
    description: "Show the directories and files as a tree, with counts.",
    parameters: &[
        (
            "path",
            "string",
            "the directory to begin with; without it the whole repository",
        ),
        ("depth", "integer", "levels to show"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 0,
    run: Some(tree),
};

pub(super) const LIST: Spec = Spec {
    name: "list",
    description: "List what is in one directory, with sizes.",
    parameters: &[
        ("path", "string", "the directory; without it the root"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 0,
    run: Some(list),
};

pub(super) const FIND: Spec = Spec {
    name: "find",
    description: "Find files by name: a glob such as `*_test.go` or `src/**/mod.rs`, or a part of the path.",
    parameters: &[
        ("name", "string", "the glob, or a part of the path"),
        ("path", "string", "the directory to look in"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 1,
    run: Some(find),
};

fn read(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let written = arguments.needed(&["path", "file", "file_path", "filename"])?;
    let (written, lines) = with_lines(&written);
    let path = path_of(tools.worktree.root(), written)?.ok_or("`path` is a directory: name a file")?;
    if caller
        .scope
        .is_some_and(|scope| path != *scope && !path.is_under(scope))
    {
        return Err(format!("{path} is outside of what this exploration is about"));
    }
    let first = arguments.number(&["first", "start", "start_line", "line_start", "offset"]);
    let last = arguments.number(&["last", "end", "end_line", "line_end"]);
    let first = first.or(lines.map(|(first, _)| first)).unwrap_or(1).max(1);
    let length = arguments
        .number(&["limit", "count"])
        .map(|count| first.saturating_add(count.max(1) - 1));
    let last = last.or(length).or(lines.map(|(_, last)| last)).unwrap_or(u32::MAX);
    if last < first {
        return Err(format!("`last` ({last}) is before `first` ({first})"));
    }
    let range = LineRange {
        first,
        last,
        max_lines: MAX_LINES,
        max_line_bytes: MAX_LINE_BYTES,
        ..LineRange::default()
    };
    let excerpt = read_lines(tools.worktree, &path, &range).map_err(|error| error.to_string())?;
    let shown_to = excerpt.lines.last().map_or(0, |line| line.line);
    let total = excerpt.total_lines;
    let head = format!("{path}, lines {first}-{shown_to} of {total}");
    let line = |line: &muninn_repo_tools::Line| match line.cut_bytes {
        0 => format!("{:>5}  {}", line.line, line.text),
        cut => format!("{:>5}  {} [{cut} bytes cut]", line.line, line.text),
    };
    let nothing = format!("{path} has {total} lines, none of them from {first} on");
    let lines: Vec<String> = match excerpt.lines.is_empty() {
        true => Vec::new(),
        false => std::iter::once(head).chain(excerpt.lines.iter().map(line)).collect(),
    };
    let summary = match shown_to {
        0 => "no such lines".to_owned(),
        _ => format!("lines {first}-{shown_to} of {total}"),
    };
    let mut output = listed(lines, &excerpt.cuts, &nothing, summary);
    if shown_to > 0 {
        output.shown = vec![(path, first, shown_to)];
    }
    Ok(output)
}

/// `src/a.rs:10-20` where only a path belongs.
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

fn tree(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let limits = TreeLimits {
        filter: tools.filter(arguments, caller)?,
        max_depth: arguments
            .number(&["depth", "max_depth", "level"])
            .map_or(usize::MAX, |depth| depth as usize),
        max_tokens: TREE_TOKENS,
        until: caller.until.clone(),
    };
    let tree = tools.tree(&limits)?;
    let summary = format!("{} files in {} directories", tree.files, tree.directories);
    let text = tree.text();
    Ok(listed(text.lines().map(str::to_owned), &tree.cuts, "no files", summary))
}

fn list(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let directory = tools.under(arguments, caller)?;
    let listing = list_entries(tools.worktree, directory.as_ref(), MAX_ENTRIES, &caller.until);
    let listing = listing.map_err(|error| error.to_string())?;
    let entry = |entry: &muninn_repo_tools::ListEntry| match (entry.kind, entry.size) {
        (EntryKind::Directory, _) => format!("{}/", entry.path),
        (EntryKind::Symlink, _) => format!("{} (a symlink)", entry.path),
        (EntryKind::File, size) => format!("{} ({} bytes)", entry.path, size.unwrap_or(0)),
    };
    let summary = format!("{} entries", listing.entries.len());
    Ok(listed(
        listing.entries.iter().map(entry),
        &listing.cuts,
        "an empty directory",
        summary,
    ))
}

fn find(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let query = FindQuery {
        name: arguments.needed(&["name", "pattern", "glob", "query"])?,
        filter: muninn_repo_tools::FileFilter {
            globs: Vec::new(),
            under: tools.under(arguments, caller)?.into_iter().collect(),
        },
        max_files: MAX_ENTRIES,
        until: caller.until.clone(),
    };
    let found = find_files(tools.worktree, &query).map_err(|error| error.to_string())?;
    let summary = format!("{} files", found.paths.len());
    Ok(listed(
        found.paths.iter().map(RelPath::to_string),
        &found.cuts,
        "no file has such a name",
        summary,
    ))
}
