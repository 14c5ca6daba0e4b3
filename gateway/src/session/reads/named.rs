//! Which files a call of a tool names: tables of the tools that show files, and of how they are told which.

use std::borrow::Cow;

use crate::wire::{Element, Members, Text};

/// Tools that return a file's text, without the case, `_` and `-` of their names.
const READERS: [&str; 9] = [
    "read",             // Claude Code, opencode
    "view",             // Crush, Copilot
    "readfile",         // Cline, Roo Code, Gemini CLI, Cursor
    "readfiles",        // Roo Code
    "readtextfile",     // the filesystem server of MCP
    "readmanyfiles",    // Gemini CLI
    "openfile",         // OpenHands
    "viewfile",         // Windsurf
    "strreplaceeditor", // SWE-agent, OpenHands: its command `view`
];
/// Tools that run a command line.
const SHELLS: [&str; 10] = [
    "bash",            // Claude Code, opencode
    "shell",           // Codex
    "shellcommand",    // Codex
    "execcommand",     // Codex
    "localshellcall",  // Codex, as an item of its own
    "containerexec",   // Codex
    "runshellcommand", // Gemini CLI
    "executecommand",  // Cline, Roo Code
    "runterminalcmd",  // Cursor
    "terminal",        // Zed
];
/// Members of the arguments that name a file, or several.
const PATHS: [&str; 7] = [
    "file_path",
    "path",
    "filePath",
    "target_file",
    "absolute_path",
    "paths",
    "files",
];
/// Members that hold a command line, as a string or as a list of words.
const COMMANDS: [&str; 2] = ["command", "cmd"];
/// Members that say where a command runs.
const DIRECTORIES: [&str; 3] = ["workdir", "cwd", "working_directory"];
/// Programs that print files.
const PRINTERS: [&str; 10] = ["cat", "sed", "head", "tail", "nl", "bat", "less", "more", "awk", "tac"];

/// Longer command lines write files rather than read them.
const LONGEST_COMMAND: usize = 4096;
const MOST_PATHS: usize = 16;

/// A path as a call names it, and the directory that it counts from where the call says one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: String,
    pub(super) directory: Option<String>,
}

/// The files that a call may have read.
pub(super) fn named(name: Text<'_>, arguments: &str) -> Vec<Named> {
    let plain = |c: &char| c.is_ascii_alphanumeric();
    let name: String = name
        .decode()
        .chars()
        .filter(plain)
        .collect::<String>()
        .to_ascii_lowercase();
    let (reads, runs) = (READERS.contains(&&*name), SHELLS.contains(&&*name));
    if !reads && !runs {
        return Vec::new();
    }
    // Two of the formats have the object in a string.
    let decoded = Text::of(arguments).map(Text::decode);
    let Some(members) = Members::of(decoded.as_deref().unwrap_or(arguments).trim_start()) else {
        return Vec::new();
    };
    let mut named = Vec::new();
    if reads {
        let paths = PATHS.iter().flat_map(|key| strings(&members, key));
        named.extend(paths.map(|path| Named { path, directory: None }));
    } else {
        let directory = DIRECTORIES.iter().find_map(|key| members.said(key));
        let command = COMMANDS
            .iter()
            .map(|key| strings(&members, key))
            .find(|words| !words.is_empty());
        let line = command.unwrap_or_default().join(" ");
        if line.len() <= LONGEST_COMMAND {
            named = printed(&line, directory.as_deref());
        }
    }
    named.truncate(MOST_PATHS);
    named
}

/// A member that is a string, a list of strings, or a list of objects with a `path`.
fn strings(members: &Members<'_>, key: &str) -> Vec<String> {
    if let Some(text) = members.said(key) {
        return vec![text.into_owned()];
    }
    let string = |element: Element<'_>| match element.text() {
        Some(text) => Some(text.decode().into_owned()),
        None => element.object()?.string("path").map(Cow::into_owned),
    };
    members.elements(key).into_iter().filter_map(string).collect()
}

/// The words of a command line that may be files which it prints: those behind a program that prints files.
fn printed(line: &str, directory: Option<&str>) -> Vec<Named> {
    let mut directory = directory.map(str::to_owned);
    let mut named = Vec::new();
    for command in line.split(['|', ';', '&', '\n', '(', ')', '`']) {
        let unquoted = |word: &str| word.trim_matches(['"', '\'']).to_owned();
        let mut words = command.split_whitespace().map(unquoted).skip_while(|word| {
            // What stands before the program: shells, their options, variables.
            matches!(word.as_str(), "bash" | "sh" | "zsh" | "sudo" | "env")
                || word.starts_with('-')
                || word.contains('=')
        });
        match words.next() {
            Some(program) if program == "cd" => directory = words.next().or(directory),
            Some(program) if PRINTERS.contains(&program.as_str()) => {
                let scripts = usize::from(matches!(program.as_str(), "sed" | "awk"));
                let plain = words.filter(|word| !word.is_empty() && !word.starts_with('-'));
                let files = plain.skip(scripts);
                named.extend(files.map(|path| Named {
                    path,
                    directory: directory.clone(),
                }));
            }
            _ => {}
        }
    }
    named
}
