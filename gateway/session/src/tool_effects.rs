//! The effects of an agent's tools between two human turns: edited, cited and read files, and failures.
//!
//! Only paths in the worktree are taken from the agent's text, and only the names of common programs from failed commands,
//! so that no other text gets into memory.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use muninn_base::RelPath;
use muninn_team::learn::Failure;
use muninn_wire::{Members, Prompt, Role, ToolPart, decoded_arguments, result_text};
use serde_json::Value;

use super::calls::{Call, FileUse, NamedFile, PathResolver};
use super::human::without_packs;

/// Common programs, whose failures are recorded by name.
const PROGRAMS: [&str; 44] = [
    "bazel", "bundle", "bun", "cargo", "clang", "cmake", "composer", "ctest", "deno", "docker", "dotnet", "eslint",
    "gcc", "git", "go", "gradle", "jest", "just", "make", "mix", "mvn", "mypy", "ninja", "node", "npm", "npx", "php",
    "phpunit", "pip", "pnpm", "poetry", "pre-commit", "pyright", "pytest", "python", "python3", "rake", "ruff",
    "rustc", "swift", "tox", "tsc", "uv", "yarn",
];
/// The bytes at each end of a result that are searched for an exit code.
const ENDS: usize = 400;
/// The most path-like words of an answer that are examined.
const MOST_WORDS: usize = 400;

/// The effects of tools; each file once, in order.
#[derive(Debug, Default, PartialEq)]
pub struct ToolEffects {
    /// Files that tools changed.
    pub edited: Vec<RelPath>,
    /// Files that the agent's text names.
    pub cited: Vec<RelPath>,
    /// Files that tools showed or commands named.
    pub read: Vec<RelPath>,
    /// Failed calls.
    pub failures: Vec<Failure>,
    /// The calls that searched, listed or read.
    pub exploring_calls: u32,
    /// The first read and the first edit of each file, in order.
    pub reached: Vec<ReachedFile>,
}

/// The first read, or the first edit, of a file.
#[derive(Debug, PartialEq)]
pub struct ReachedFile {
    pub path: RelPath,
    /// Whether the agent edited the file.
    pub edited: bool,
    /// The exploring calls before.
    pub exploring_calls: u32,
}

/// Collects the effects in these messages. `claimed`: the directories that the client claims; only files for which
/// `is_there` holds count.
pub fn tool_effects(
    prompt: &Prompt<'_>,
    messages: Range<usize>,
    (root, claimed): (&Path, &[String]),
    is_there: &dyn Fn(&RelPath) -> bool,
) -> ToolEffects {
    let mut tool_effects = ToolEffects::default();
    let resolver = PathResolver { root, claimed };
    let messages = &prompt.messages[messages];
    let ended = results(messages.iter().flat_map(|message| &message.tools));
    for message in messages {
        for part in &message.tools {
            let ToolPart::Call { id, name, arguments } = part else {
                continue;
            };
            let (Some(call), Some(end)) = (Call::of(*name, arguments), ended.get(id.literal())) else {
                continue;
            };
            let files = call.files();
            // An ambiguous relative path is resolved to the first file that exists.
            let resolved = |named: &NamedFile| resolver.resolve(named).into_iter().find(|path| is_there(path));
            match end {
                // A search without a match is no failure.
                CallOutcome::Failed(_) if call.searches() => {}
                CallOutcome::Failed(outcome) => tool_effects.failed(&call, &files, outcome, &resolved),
                CallOutcome::Succeeded => tool_effects.done(&files, &resolved),
            }
            tool_effects.exploring_calls += u32::from(call.explores(&files));
        }
        if message.role == Role::Assistant {
            for text in message.texts() {
                tool_effects.cite(text.decoded(), (root, claimed), is_there);
            }
        }
    }
    tool_effects
}

/// A call whose result the conversation holds.
#[derive(Debug, PartialEq)]
pub struct AnsweredCall {
    pub id: String,
    /// The tool.
    pub name: String,
    pub arguments: Value,
    /// The result's text, if the call failed.
    pub failure: Option<String>,
}

/// The calls in these messages that have a result, in their order.
pub fn answered_calls(prompt: &Prompt<'_>, messages: Range<usize>) -> Vec<AnsweredCall> {
    let parts = || prompt.messages[messages.clone()].iter().flat_map(|message| &message.tools);
    let failures: HashMap<&str, Option<String>> = parts()
        .filter_map(|part| match part {
            ToolPart::Result { id, content, failed } => {
                let is_failure = matches!(outcome_of(content, *failed), CallOutcome::Failed(_));
                Some((id.literal(), is_failure.then(|| result_text(content).unwrap_or_default())))
            }
            ToolPart::Call { .. } => None,
        })
        .collect();
    let call = |part: &ToolPart<'_>| match part {
        ToolPart::Call { id, name, arguments } => Some(AnsweredCall {
            failure: failures.get(id.literal())?.clone(),
            id: id.decode().into_owned(),
            name: name.decode().into_owned(),
            arguments: decoded_arguments(arguments).filter(|arguments| !arguments.is_string())?,
        }),
        ToolPart::Result { .. } => None,
    };
    parts().filter_map(call).collect()
}

enum CallOutcome {
    Succeeded,
    Failed(String),
}

/// The outcome of each call, by the literal of its id.
fn results<'a>(parts: impl Iterator<Item = &'a ToolPart<'a>>) -> HashMap<&'a str, CallOutcome> {
    let end = |part: &'a ToolPart<'a>| match part {
        ToolPart::Result { id, content, failed } => Some((id.literal(), outcome_of(content, *failed))),
        ToolPart::Call { .. } => None,
    };
    parts.filter_map(end).collect()
}

fn outcome_of(content: &str, failed: bool) -> CallOutcome {
    let text = result_text(content).unwrap_or_default();
    let members = Members::of(&text);
    let metadata = members.and_then(|members| members.object("metadata").get("exit_code").map(str::to_owned));
    match metadata.and_then(|code| code.parse().ok()).or_else(|| exit_code(&text)) {
        Some(0) if !failed => CallOutcome::Succeeded,
        Some(code) if code != 0 => CallOutcome::Failed(format!("exit code {code}")),
        _ if failed => CallOutcome::Failed("error".to_owned()),
        _ => CallOutcome::Succeeded,
    }
}

/// The exit code that a client writes before or after a command's output.
fn exit_code(text: &str) -> Option<i64> {
    let head = &text[..text.floor_char_boundary(ENDS)];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(ENDS))..];
    [head, tail].into_iter().flat_map(str::lines).find_map(|line| {
        let line = line.to_ascii_lowercase();
        let (before, rest) = line.split_once("exit code").or_else(|| line.split_once("exited with code"))?;
        // A longer line is the command's own output.
        let rest = rest.trim_start_matches([':', ' ', '=']);
        let code = rest.split(|c: char| !c.is_ascii_digit() && c != '-').next()?;
        (before.len() < 24).then(|| code.parse().ok())?
    })
}

impl ToolEffects {
    fn done(&mut self, files: &[NamedFile], resolved: &dyn Fn(&NamedFile) -> Option<RelPath>) {
        for named in files {
            let Some(path) = resolved(named) else { continue };
            let edited = named.file_use == FileUse::Changed;
            let paths = if edited { &mut self.edited } else { &mut self.read };
            if push_new(paths, path.clone()) {
                self.reached.push(ReachedFile { path, edited, exploring_calls: self.exploring_calls });
            }
        }
    }

    fn failed(
        &mut self,
        call: &Call,
        files: &[NamedFile],
        outcome: &str,
        resolved: &dyn Fn(&NamedFile) -> Option<RelPath>,
    ) {
        let known = |(program, word): (String, Option<String>)| {
            let program = program.rsplit('/').next().unwrap_or_default().to_owned();
            let is_plain =
                |word: &String| word.len() <= 20 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            PROGRAMS.contains(&program.as_str()).then(|| match word.filter(is_plain) {
                Some(word) => format!("{program} {word}"),
                None => program,
            })
        };
        let programs = call.programs();
        let ran = !programs.is_empty();
        // The last program of a chain decides the exit code.
        let name = programs.into_iter().rev().find_map(known).or_else(|| (!ran).then(|| call.name().to_owned()));
        let Some(name) = name else { return };
        let files: Vec<String> = files.iter().filter_map(resolved).map(|path| path.to_string()).collect();
        self.failures.push(Failure { attempt: [&[name][..], &files].concat().join(" "), outcome: outcome.to_owned() });
    }

    /// Adds the files that a text of the agent names.
    pub fn cite(&mut self, text: &str, places: (&Path, &[String]), is_there: &dyn Fn(&RelPath) -> bool) {
        for path in named_files(&without_packs(text), places, is_there) {
            push_new(&mut self.cited, path);
        }
    }
}

/// The files for which `is_there` holds that a text names, in its order. `claimed`: as in [`tool_effects`].
pub fn named_files(
    text: &str,
    (root, claimed): (&Path, &[String]),
    is_there: &dyn Fn(&RelPath) -> bool,
) -> Vec<RelPath> {
    let words = text.split(|c: char| c.is_whitespace() || is_around_paths(c));
    let is_like_path = |word: &&str| memchr::memchr2(b'.', b'/', word.as_bytes()).is_some();
    let like_paths = words.filter(is_like_path).map(path_in).filter(is_like_path);
    let mut files = Vec::new();
    for word in like_paths.take(MOST_WORDS) {
        if let Some(path) = named_file(word, (root, claimed), is_there) {
            push_new(&mut files, path);
        }
    }
    files
}

/// The file for which `is_there` holds that a path names. `claimed`: as in [`tool_effects`].
pub fn named_file(
    path: &str,
    (root, claimed): (&Path, &[String]),
    is_there: &dyn Fn(&RelPath) -> bool,
) -> Option<RelPath> {
    let named = NamedFile { path: path.to_owned(), directory: None, file_use: FileUse::Mentioned };
    PathResolver { root, claimed }.resolve(&named).into_iter().find(is_there)
}

fn is_around_paths(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '"' | '\'' | '`' | ',' | ';' | '*' | '|' | '\u{2014}')
}

/// The path in a word, without line numbers and punctuation.
fn path_in(word: &str) -> &str {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let (path, anchor) = word.split_once("#L").unwrap_or((word, ""));
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "L-\u{2013}:".contains(c));
    match path.split_once(':') {
        Some((path, lines)) if is_number(lines) && anchor.is_empty() => path,
        _ => path,
    }
}

/// Adds a path unless it is there. Returns whether it was added.
fn push_new(paths: &mut Vec<RelPath>, path: RelPath) -> bool {
    let is_new = !paths.contains(&path);
    if is_new {
        paths.push(path);
    }
    is_new
}

#[cfg(test)]
mod tests;
