//! The files that a tool call names, by tables of known tools and their arguments.

use std::borrow::Cow;

use muninn_wire::{Element, Members, Prompt, Text};

use super::file_use::{FileUse, NamedFile};
use super::shell::{Command, commands, explores, files};

/// Tools that return a file's text. Names are in lower case, without `_` and `-`.
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
/// Tools that change files.
const EDITORS: [&str; 19] = [
    "edit",                // Claude Code, opencode
    "multiedit",           // Claude Code
    "write",               // Claude Code, opencode
    "notebookedit",        // Claude Code
    "applypatch",          // Codex
    "patch",               // opencode
    "writefile",           // Gemini CLI, the filesystem server of MCP
    "replace",             // Gemini CLI
    "editfile",            // Zed, Cursor, the filesystem server of MCP
    "createfile",          // Copilot
    "deletefile",          // Cursor
    "searchreplace",       // Cursor
    "writetofile",         // Cline, Roo Code
    "replaceinfile",       // Cline
    "applydiff",           // Roo Code
    "insertcontent",       // Roo Code
    "strreplace",          // Kimi
    "inserteditintofile",  // Copilot
    "replacestringinfile", // Copilot
];
/// Tools that run a command line.
const SHELLS: [&str; 11] = [
    "bash",            // Claude Code, opencode
    "shell",           // Codex
    "shellcommand",    // Codex
    "execcommand",     // Codex
    "localshell",      // Codex, declared by its type
    "localshellcall",  // Codex, as an item of its own
    "containerexec",   // Codex
    "runshellcommand", // Gemini CLI
    "executecommand",  // Cline, Roo Code
    "runterminalcmd",  // Cursor
    "terminal",        // Zed
];
/// Tools that search or list files, without a file's text.
const SEARCHERS: [&str; 17] = [
    "grep",                    // Claude Code, opencode
    "glob",                    // Claude Code, opencode, Gemini CLI
    "ls",                      // Claude Code
    "list",                    // opencode
    "listdir",                 // Codex, Cursor
    "grepfiles",               // Codex
    "codebasesearch",          // Cursor, Roo Code
    "grepsearch",              // Cursor, Copilot
    "filesearch",              // Cursor, Copilot
    "searchfiles",             // Cline, Roo Code, the filesystem server of MCP
    "listfiles",               // Cline, Roo Code
    "listcodedefinitionnames", // Cline, Roo Code
    "searchfilecontent",       // Gemini CLI
    "listdirectory",           // Gemini CLI, Zed, the filesystem server of MCP
    "directorytree",           // the filesystem server of MCP
    "semanticsearch",          // Copilot
    "findpath",                // Zed
];
/// Arguments that name one file or several.
const PATHS: [&str; 8] =
    ["file_path", "notebook_path", "path", "filePath", "target_file", "absolute_path", "paths", "files"];
/// Arguments with a command line, as a string or a list of words.
const COMMANDS: [&str; 2] = ["command", "cmd"];
/// Arguments with a patch.
const PATCHES: [&str; 3] = ["input", "patch", "patchText"];
/// Arguments with a command's working directory.
const DIRECTORIES: [&str; 3] = ["workdir", "cwd", "working_directory"];
const MOST_PATHS: usize = 16;

/// The kind of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Reads,
    Edits,
    Runs,
    Searches,
}

impl Tool {
    /// The kind of a tool with this plain name; `None` if it is unknown.
    fn of(name: &str) -> Option<Tool> {
        match name {
            name if READERS.contains(&name) => Some(Tool::Reads),
            name if EDITORS.contains(&name) => Some(Tool::Edits),
            name if SHELLS.contains(&name) => Some(Tool::Runs),
            name if SEARCHERS.contains(&name) => Some(Tool::Searches),
            _ => None,
        }
    }
}

/// A tool's name in lower case, without `_` and `-`, and without the server in front of it: clients call the tools of MCP
/// servers `mcp__server__tool`.
fn plain(name: &str) -> String {
    let name = name.rsplit("__").next().unwrap_or(name);
    let plain = name.chars().filter(char::is_ascii_alphanumeric);
    plain.collect::<String>().to_ascii_lowercase()
}

/// Whether the client declares a tool that can show the text of files.
pub fn has_file_tools(prompt: &Prompt<'_>) -> bool {
    let shows = |name: &str| matches!(Tool::of(&plain(name)), Some(Tool::Reads | Tool::Runs));
    prompt.tool_names().any(shows)
}

/// Whether the client declares a tool that runs commands.
pub fn has_shell(prompt: &Prompt<'_>) -> bool {
    prompt.tool_names().any(|name| Tool::of(&plain(name)) == Some(Tool::Runs))
}

/// A call of a known tool.
pub(crate) struct Call {
    tool: Tool,
    /// The tool's name in lower case, without `_` and `-`.
    name: String,
    /// The arguments: an object, or the text of a free-text tool.
    arguments: String,
}

impl Call {
    /// Reads a call. Chat and responses write the arguments' object as a string.
    pub(crate) fn of(name: Text<'_>, arguments: &str) -> Option<Call> {
        let name = plain(&name.decode());
        let tool = Tool::of(&name)?;
        let arguments = Text::of(arguments).map_or(Cow::Borrowed(arguments), Text::decode).into_owned();
        Some(Call { tool, name, arguments })
    }

    /// The files that the call may read, change or name.
    pub(crate) fn files(&self) -> Vec<NamedFile> {
        let members = Members::of(self.arguments.trim_start());
        let mut named: Vec<NamedFile> = match (self.tool, &members) {
            (Tool::Edits, None) => patched(&self.arguments),
            (_, None) | (Tool::Searches, _) => Vec::new(),
            (Tool::Reads, Some(members)) => {
                let shows = members.non_empty("command").is_none_or(|command| command == "view");
                paths(members, if shows { FileUse::Shown } else { FileUse::Changed })
            }
            (Tool::Edits, Some(members)) => {
                let patches = PATCHES.iter().filter_map(|key| members.non_empty(key));
                let patched = patches.flat_map(|patch| patched(&patch));
                paths(members, FileUse::Changed).into_iter().chain(patched).collect()
            }
            (Tool::Runs, Some(members)) => {
                let line = line(members);
                match patched(&line) {
                    patched if patched.is_empty() => commands_of(members, &line).iter().flat_map(files).collect(),
                    patched => patched,
                }
            }
        };
        named.truncate(MOST_PATHS);
        named
    }

    /// The programs that the call runs, each with its first argument.
    pub(crate) fn programs(&self) -> Vec<(String, Option<String>)> {
        let members = Members::of(self.arguments.trim_start()).filter(|_| self.tool == Tool::Runs);
        let commands = members.map(|members| commands_of(&members, &line(&members)));
        let named = |command: Command| (command.program, command.words.into_iter().next());
        commands.unwrap_or_default().into_iter().map(named).collect()
    }

    /// Whether the tool only searches or lists files.
    pub(crate) fn searches(&self) -> bool {
        self.tool == Tool::Searches
    }

    /// Whether the call explores: it searches, lists or reads, and changes nothing. The first program of a command line
    /// decides.
    pub(crate) fn explores(&self, files: &[NamedFile]) -> bool {
        let looks = match self.tool {
            Tool::Reads | Tool::Searches => true,
            Tool::Edits => false,
            Tool::Runs => {
                let members = Members::of(self.arguments.trim_start());
                let commands = members.map(|members| commands_of(&members, &line(&members)));
                commands.is_some_and(|commands| commands.first().is_some_and(explores))
            }
        };
        looks && files.iter().all(|file| file.file_use != FileUse::Changed)
    }

    /// The normalised name of the tool.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn paths(members: &Members<'_>, file_use: FileUse) -> Vec<NamedFile> {
    let paths = PATHS.iter().flat_map(|key| strings(members, key));
    paths.map(|path| NamedFile { path, directory: None, file_use }).collect()
}

fn line(members: &Members<'_>) -> String {
    let mut lines = COMMANDS.iter().map(|key| strings(members, key));
    lines.find(|words| !words.is_empty()).unwrap_or_default().join(" ")
}

fn commands_of(members: &Members<'_>, line: &str) -> Vec<Command> {
    let directory = DIRECTORIES.iter().find_map(|key| members.non_empty(key));
    commands(line, directory.as_deref())
}

/// The files of a patch in Codex's format.
fn patched(patch: &str) -> Vec<NamedFile> {
    let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let path = |line: &str| heads.iter().find_map(|head| line.strip_prefix(head)).map(|path| path.trim().to_owned());
    let changed = |path| NamedFile { path, directory: None, file_use: FileUse::Changed };
    patch.lines().filter_map(path).map(changed).collect()
}

/// A member that is a string, a list of strings, or a list of objects with a `path`.
fn strings(members: &Members<'_>, key: &str) -> Vec<String> {
    if let Some(text) = members.non_empty(key) {
        return vec![text.into_owned()];
    }
    let string = |element: Element<'_>| match element.text() {
        Some(text) => Some(text.decode().into_owned()),
        None => element.object()?.string("path").map(Cow::into_owned),
    };
    members.elements(key).into_iter().filter_map(string).collect()
}
