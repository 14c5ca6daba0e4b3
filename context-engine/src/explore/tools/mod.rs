//! What an explorer may call. Every tool is bounded in bytes and time, stays inside the worktree and inside the scope of
//! its exploration, never shows a secret, and says what it left out.

mod arguments;
mod code;
mod files;
mod named;
mod remembered;
mod search;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use muninn_memory::Memories;
use muninn_memory::index::Snapshot;
use muninn_memory::model::Tool;
use muninn_memory::redact;
use muninn_repo_tools::{Cuts, FileFilter, RelPath, Tree, TreeLimits, Until, Worktree, tree, tree_of};
use serde_json::{Value, json};

pub(crate) use arguments::{Arguments, path_of};
pub(super) use search::Greps;

/// No single call takes longer than this.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is kept of a result for its pages, in bytes.
const LONGEST: usize = 1 << 18;

/// Opens a child exploration; it is run by the loop itself.
pub(crate) const EXPLORE: &str = "explore";
/// Ends an exploration.
pub(crate) const FINAL: &str = "final";

/// What the tools work on.
pub(crate) struct Toolbox<'a> {
    pub(crate) worktree: &'a Worktree,
    /// `None` while there is no index: then files are searched as they are.
    pub(crate) snapshot: Option<&'a Snapshot>,
    pub(crate) memories: &'a Memories,
    pub(crate) max_file_bytes: u64,
}

/// Whose call it is.
#[derive(Clone)]
pub(crate) struct Caller<'a> {
    /// The directory that the exploration is about; `None` for the worktree.
    pub(crate) scope: Option<&'a RelPath>,
    pub(crate) until: Until,
}

impl Caller<'_> {
    /// What tells a call from others: the same words mean another thing in another scope.
    pub(crate) fn key(&self, tool: &str, arguments: &Arguments) -> String {
        let scope = self.scope.map_or("", RelPath::as_str);
        format!("{scope}: {}", arguments.key(tool))
    }
}

/// What a call came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Output {
    /// For the model, redacted. Whole; [`Output::page`] is what is shown of it at a time.
    pub(crate) text: String,
    /// For the trace.
    pub(crate) summary: String,
    pub(crate) failed: bool,
    /// The lines of files that it showed.
    pub(crate) shown: Vec<(RelPath, u32, u32)>,
}

impl Output {
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        let text = reason.into();
        Self {
            summary: text.clone(),
            text: redact(&text).into_owned(),
            failed: true,
            shown: Vec::new(),
        }
    }

    /// One page of the text, from 1, cut between lines, with a word on what comes before and after.
    pub(crate) fn page(&self, number: usize, bytes: usize) -> String {
        let pages = pages(&self.text, bytes.max(200));
        let Some(page) = pages.get(number - 1) else {
            return format!("[there is no page {number}: the result has {}]", pages.len());
        };
        let mut shown = self.text[page.clone()].to_owned();
        if pages.len() > 1 {
            let next = match number < pages.len() {
                true => format!("; the same call with \"page\": {} shows more", number + 1),
                false => String::new(),
            };
            shown.push_str(&format!("\n[page {number} of {}{next}]", pages.len()));
        }
        shown
    }
}

/// Where the pages of a text are. A line that is longer than a page is cut.
fn pages(text: &str, bytes: usize) -> Vec<Range<usize>> {
    let mut pages = Vec::new();
    let mut start = 0;
    while text.len() - start > bytes {
        let cut = text.floor_char_boundary(start + bytes);
        let end = match text[start..cut].rfind('\n') {
            Some(line) if line > 0 => start + line + 1,
            _ => cut.max(start + 1),
        };
        let end = text.ceil_char_boundary(end);
        pages.push(start..end);
        start = end;
    }
    if start < text.len() || pages.is_empty() {
        pages.push(start..text.len());
    }
    pages
}

/// What a tool does; an error is told to the model.
type Run = fn(&Toolbox<'_>, &Arguments, &Caller<'_>) -> Result<Output, String>;

/// One tool: what the model is told of it, and what it does.
struct Spec {
    name: &'static str,
    description: &'static str,
    /// Name, JSON type, meaning; those that must be there come first, up to `required`.
    parameters: &'static [(&'static str, &'static str, &'static str)],
    required: usize,
    run: Option<Run>,
}

const SPECS: &[Spec] = &[
    search::GREP,
    files::READ,
    files::TREE,
    files::LIST,
    files::FIND,
    code::SYMBOLS,
    code::DEFINITION,
    code::CALLERS,
    remembered::METIS,
    remembered::RECALL,
    Spec {
        name: EXPLORE,
        description: "Open an exploration of its own for a part of the question. It has a share of what may still be \
                      spent, sees only its scope, and returns the places that it found. For parts that take many calls.",
        parameters: &[
            ("question", "string", "what to find out, complete in itself"),
            (
                "scope",
                "string",
                "the directory to look in; without it the whole repository",
            ),
        ],
        required: 1,
        run: None,
    },
    Spec {
        name: FINAL,
        description: "End the exploration with the places that answer the question, the most important first. Cite only \
                      lines that you have seen.",
        parameters: &[
            (
                "citations",
                "array",
                "the places, each a text `path:first-last` with line numbers, at most 12",
            ),
            ("answer", "string", "the answer in one or two sentences, if you know it"),
        ],
        required: 1,
        run: None,
    },
];

/// The names of all tools.
pub(crate) fn names() -> Vec<&'static str> {
    SPECS.iter().map(|spec| spec.name).collect()
}

/// All tools with the names of their parameters.
pub(crate) fn parameters() -> Vec<(&'static str, Vec<&'static str>)> {
    let of = |spec: &Spec| (spec.name, spec.parameters.iter().map(|(name, ..)| *name).collect());
    SPECS.iter().map(of).collect()
}

/// What a model is told of the tools. `deeper`: whether a child may be opened. `strict`: whether its arguments are held to
/// their schemas by the backend.
pub(crate) fn tools(deeper: bool, strict: bool) -> Vec<Tool> {
    let told = SPECS.iter().filter(|spec| deeper || spec.name != EXPLORE);
    told.map(|spec| Tool {
        name: spec.name,
        description: spec.description.to_owned(),
        schema: schema(spec, strict).to_string(),
        strict,
    })
    .collect()
}

/// The tools in words, for a model whose backend takes none.
pub(crate) fn described(deeper: bool) -> String {
    let mut text = String::new();
    for spec in SPECS.iter().filter(|spec| deeper || spec.name != EXPLORE) {
        text.push_str(&format!("- {}: {}\n", spec.name, spec.description));
        for (at, (name, kind, meaning)) in spec.parameters.iter().enumerate() {
            let optional = if at < spec.required { "" } else { ", optional" };
            text.push_str(&format!("    {name} ({kind}{optional}): {meaning}\n"));
        }
    }
    text
}

fn schema(spec: &Spec, strict: bool) -> Value {
    let told = spec.parameters.iter().enumerate();
    let property = |(at, (name, kind, meaning)): (usize, &(&str, &str, &str))| {
        let mut property = json!({"type": kind, "description": meaning});
        if strict && at >= spec.required {
            property["type"] = json!([kind, "null"]);
        }
        if *kind == "array" {
            property["items"] = json!({"type": "string"});
        }
        ((*name).to_owned(), property)
    };
    let properties: serde_json::Map<String, Value> = told.map(property).collect();
    let required = if strict { spec.parameters.len() } else { spec.required };
    let required: Vec<_> = spec.parameters[..required].iter().map(|(name, ..)| name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

impl<'a> Toolbox<'a> {
    /// Runs one call. It neither fails nor panics: what went wrong is told to the model.
    pub(crate) fn run(&self, tool: &str, arguments: &Arguments, caller: &Caller<'_>) -> Output {
        let Some(run) = SPECS.iter().find(|spec| spec.name == tool).and_then(|spec| spec.run) else {
            return Output::failed(format!("there is no tool {tool:?}; there are {}", names().join(", ")));
        };
        let bounded = Caller {
            until: caller.until.no_later_than(Instant::now() + PATIENCE),
            ..caller.clone()
        };
        let ran = catch_unwind(AssertUnwindSafe(|| run(self, arguments, &bounded)));
        match ran {
            Ok(Ok(output)) => output,
            Ok(Err(reason)) => Output::failed(reason),
            Err(_) => Output::failed(format!("{tool} broke on this call")),
        }
    }

    /// All files of the index within a scope; `None` while there is no index.
    fn paths(&self, caller: &Caller<'_>) -> Option<Vec<RelPath>> {
        let within = |path: &RelPath| caller.scope.is_none_or(|scope| path.is_under(scope));
        let files = self.snapshot?.files().map(|(_, file)| &file.facts.path);
        Some(files.filter(|path| within(path)).cloned().collect())
    }

    /// The tree below what a filter names, out of the index where there is one.
    pub(crate) fn tree(&self, limits: &TreeLimits) -> Result<Tree, String> {
        let Some(snapshot) = self.snapshot.filter(|_| limits.filter.globs.is_empty()) else {
            return tree(self.worktree, limits).map_err(|error| error.to_string());
        };
        let under = &limits.filter.under;
        let wanted =
            |path: &RelPath| under.is_empty() || under.iter().any(|under| path == under || path.is_under(under));
        let files = snapshot.files().map(|(_, file)| &file.facts.path);
        let paths: Vec<RelPath> = files.filter(|path| wanted(path)).cloned().collect();
        Ok(tree_of(&paths, limits))
    }

    /// The file or directory that an argument names, which must lie in the scope; the scope itself where it names none.
    fn under(&self, arguments: &Arguments, caller: &Caller<'_>) -> Result<Option<RelPath>, String> {
        let Some(written) = arguments.text(&["path", "file", "file_path", "filename", "directory", "dir", "scope"])
        else {
            return Ok(caller.scope.cloned());
        };
        match (path_of(self.worktree.root(), &written)?, caller.scope) {
            (None, scope) => Ok(scope.cloned()),
            (Some(path), Some(scope)) if path != *scope && !path.is_under(scope) => {
                Err(format!("{path} is outside of {scope}, which this exploration is about"))
            }
            (path, _) => Ok(path),
        }
    }

    fn filter(&self, arguments: &Arguments, caller: &Caller<'_>) -> Result<FileFilter, String> {
        let globs = arguments.text(&["glob", "include", "globs"]);
        Ok(FileFilter {
            globs: globs.into_iter().flat_map(|globs| split_globs(&globs)).collect(),
            under: self.under(arguments, caller)?.into_iter().collect(),
        })
    }
}

/// `*.rs, *.toml` is two globs, `*.{rs,toml}` is one.
fn split_globs(globs: &str) -> Vec<String> {
    let pieces: Vec<&str> = match globs.contains('{') {
        true => vec![globs],
        false => globs.split([',', ' ']).collect(),
    };
    let pieces = pieces.into_iter().map(str::trim).filter(|glob| !glob.is_empty());
    pieces.map(str::to_owned).collect()
}

/// A result's lines, bounded and redacted, with a word on what its bounds left out.
fn listed(lines: impl IntoIterator<Item = String>, cuts: &Cuts, nothing: &str, summary: String) -> Output {
    let (mut text, mut more) = (String::new(), 0usize);
    for line in lines {
        if text.len() + line.len() < LONGEST {
            text.push_str(&line);
            text.push('\n');
        } else {
            more += 1;
        }
    }
    if text.is_empty() {
        text.push_str(nothing);
        text.push('\n');
    }
    if more > 0 {
        text.push_str(&format!("[{more} more lines were left out]\n"));
    }
    if !cuts.is_empty() {
        text.push_str(&format!("[cut by: {}; ask for less to see all of it]\n", cuts.words()));
    }
    Output {
        text: redact(text.trim_end_matches('\n')).into_owned(),
        summary,
        failed: false,
        shown: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let text: String = (0..300).map(|line| format!("line {line} ünï\n")).collect();
        for bytes in [200, 333, 1_000, 100_000] {
            let pages = pages(&text, bytes);
            assert_eq!(pages.iter().map(|page| &text[page.clone()]).collect::<String>(), text);
            assert!(pages.iter().all(|page| page.len() <= bytes + 3), "{pages:?}");
        }
        let output = Output::of(text);
        assert!(
            output
                .page(1, 300)
                .ends_with("the same call with \"page\": 2 shows more]")
        );
        assert!(output.page(99, 300).contains("no page 99"));
        assert_eq!(Output::of("").page(1, 300), "");
        let long = Output::of("é".repeat(1_000));
        assert!(long.page(2, 300).starts_with('é'));
    }

    #[test]
    fn every_tool_is_told_with_a_schema() {
        let told = tools(true, false);
        assert_eq!(told.len(), 12);
        for tool in tools(true, true) {
            let schema: Value = serde_json::from_str(&tool.schema).unwrap();
            let properties = schema["properties"].as_object().unwrap();
            assert_eq!(
                schema["required"].as_array().unwrap().len(),
                properties.len(),
                "{}",
                tool.name
            );
        }
        for tool in &told {
            let schema: Value = serde_json::from_str(&tool.schema).unwrap();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert!(
                schema["required"]
                    .as_array()
                    .is_some_and(|required| required.len() <= 1)
            );
            assert!(described(true).contains(&format!("- {}: ", tool.name)));
        }
        assert!(!tools(false, false).iter().any(|tool| tool.name == EXPLORE));
    }

    /// A model's prompt is part of the contract: models were measured with these words.
    #[test]
    fn a_model_is_told_the_recorded_words_and_schemas() {
        let mut text = described(true);
        for strict in [false, true] {
            for tool in tools(true, strict) {
                text.push_str(&format!("\n{} {strict}\n{}\n", tool.name, tool.schema));
            }
        }
        assert_eq!(text, include_str!("../offered.txt"));
    }
}
