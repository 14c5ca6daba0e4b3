//! The effects of an agent's tools between two human turns: edited, cited and read files, and failures.
//!
//! Only paths in the worktree are taken from the agent's text, and only the names of common programs from failed commands,
//! so that no other text gets into memory.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use muninn_memory::learn::Failure;
use muninn_repo_tools::RelPath;

use super::calls::{Call, FileUse, NamedFile, PathResolver};
use crate::wire::{Members, Prompt, Role, ToolPart, result_text};

/// Common programs, whose failures are recorded by name.
const PROGRAMS: [&str; 44] = [
    "bazel",
    "bundle",
    "bun",
    "cargo",
    "clang",
    "cmake",
    "composer",
    "ctest",
    "deno",
    "docker",
    "dotnet",
    "eslint",
    "gcc",
    "git",
    "go",
    "gradle",
    "jest",
    "just",
    "make",
    "mix",
    "mvn",
    "mypy",
    "ninja",
    "node",
    "npm",
    "npx",
    "php",
    "phpunit",
    "pip",
    "pnpm",
    "poetry",
    "pre-commit",
    "pyright",
    "pytest",
    "python",
    "python3",
    "rake",
    "ruff",
    "rustc",
    "swift",
    "tox",
    "tsc",
    "uv",
    "yarn",
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
    /// The file.
    pub path: RelPath,
    /// Whether it was edited.
    pub edited: bool,
    /// The exploring calls before.
    pub exploring_calls: u32,
}

/// Collects the effects in these messages. `claimed`: the directories that the client claims; only files for which
/// `is_there` holds count.
#[must_use]
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
            tool_effects.said(
                message
                    .blocks
                    .iter()
                    .filter_map(|block| block.text)
                    .map(|text| text.decode()),
                &resolver,
                is_there,
            );
        }
    }
    tool_effects
}

/// The outcome of a call.
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
        let (before, rest) = line
            .split_once("exit code")
            .or_else(|| line.split_once("exited with code"))?;
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
                self.reached.push(ReachedFile {
                    path,
                    edited,
                    exploring_calls: self.exploring_calls,
                });
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
            PROGRAMS
                .contains(&program.as_str())
                .then(|| match word.filter(is_plain) {
                    Some(word) => format!("{program} {word}"),
                    None => program,
                })
        };
        let programs = call.programs();
        let ran = !programs.is_empty();
        // The last program of a chain decides the exit code.
        let name = programs
            .into_iter()
            .rev()
            .find_map(known)
            .or_else(|| (!ran).then(|| call.name().to_owned()));
        let Some(name) = name else { return };
        let files: Vec<String> = files.iter().filter_map(resolved).map(|path| path.to_string()).collect();
        self.failures.push(Failure {
            attempt: [&[name][..], &files].concat().join(" "),
            outcome: outcome.to_owned(),
        });
    }

    fn said<'t>(
        &mut self,
        texts: impl Iterator<Item = std::borrow::Cow<'t, str>>,
        resolver: &PathResolver<'_>,
        is_there: &dyn Fn(&RelPath) -> bool,
    ) {
        for text in texts {
            let words = text.split(|c: char| c.is_whitespace() || "()[]{}<>\"'`,;*|".contains(c));
            let like_paths = words
                .map(path_in)
                .filter(|word| word.contains('.') || word.contains('/'));
            for word in like_paths.take(MOST_WORDS) {
                let named = NamedFile {
                    path: word.to_owned(),
                    directory: None,
                    file_use: FileUse::Mentioned,
                };
                if let Some(path) = resolver.resolve(&named).into_iter().find(|path| is_there(path)) {
                    push_new(&mut self.cited, path);
                }
            }
        }
    }
}

/// The path in a word, without line numbers and punctuation.
fn path_in(word: &str) -> &str {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let (path, anchor) = word.split_once("#L").unwrap_or((word, ""));
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b':');
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
mod tests {
    use super::*;
    use crate::wire::WireFormat;

    const THERE: [&str; 7] = [
        "src/a.rs",
        "src/b.rs",
        "src/c.rs",
        "src/n.rs",
        "src/z.rs",
        "src/new.rs",
        "docs/guide.md",
    ];

    fn of(format: WireFormat, body: &str) -> ToolEffects {
        let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
        let is_there = |path: &RelPath| THERE.contains(&path.as_str());
        let claimed = ["/w".to_owned()];
        tool_effects(
            &prompt,
            0..prompt.messages.len(),
            (Path::new("/w"), &claimed),
            &is_there,
        )
    }

    /// A tool's call in the messages format, and its result.
    fn ran(tool: &str, input: &str, result: &str, failed: bool) -> ToolEffects {
        of(
            WireFormat::Messages,
            &format!(
                r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"{tool}","input":{input}}}]}},
                {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","is_error":{failed},"content":"{result}"}}]}}]}}"#
            ),
        )
    }

    fn names(paths: &[RelPath]) -> Vec<&str> {
        paths.iter().map(RelPath::as_str).collect()
    }

    #[test]
    fn edits_of_all_clients_are_found() {
        for (tool, input, edited) in [
            (
                "Edit",
                r#"{"file_path":"/w/src/a.rs","old_string":"x","new_string":"y"}"#,
                vec!["src/a.rs"],
            ),
            (
                "Write",
                r#"{"file_path":"/w/src/new.rs","content":"src/b.rs"}"#,
                vec!["src/new.rs"],
            ),
            ("edit", r#"{"filePath":"/w/src/a.rs"}"#, vec!["src/a.rs"]),
            (
                "str_replace_editor",
                r#"{"command":"str_replace","path":"/w/src/a.rs"}"#,
                vec!["src/a.rs"],
            ),
            (
                "apply_patch",
                r#"{"input":"*** Begin Patch\n*** Update File: src/a.rs\n@@\n*** Add File: src/n.rs\n"}"#,
                vec!["src/a.rs", "src/n.rs"],
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: src/a.rs\nEOF"]}"#,
                vec!["src/a.rs"],
            ),
            (
                "Bash",
                r#"{"command":"sed -i 's/x/y/' src/a.rs && cargo fmt"}"#,
                vec!["src/a.rs"],
            ),
            (
                "Bash",
                r#"{"command":"cat > src/n.rs <<'EOF'\nsee src/b.rs\nEOF\ncat src/c.rs >> docs/guide.md"}"#,
                vec!["src/n.rs", "docs/guide.md"],
            ),
            (
                "Bash",
                r#"{"command":"git mv src/a.rs src/z.rs 2>/dev/null"}"#,
                vec!["src/a.rs", "src/z.rs"],
            ),
            ("Write", r#"{"file_path":"/w/.env","content":"x"}"#, vec![]),
            ("Edit", r#"{"file_path":"/elsewhere/a.rs"}"#, vec![]),
            ("Edit", r#"{"file_path":"/w/../etc/passwd"}"#, vec![]),
            ("mcp__any__thing", r#"{"file_path":"/w/src/a.rs"}"#, vec![]),
        ] {
            let mut found = ran(tool, input, "ok", false).edited;
            found.retain(|path| !path.as_str().starts_with("dev/"));
            assert!(
                edited.iter().all(|path| names(&found).contains(path)),
                "{tool} {input}: {found:?}"
            );
            assert!(found.len() <= edited.len() + 1, "{tool} {input}: {found:?}");
        }
        assert_eq!(
            ran("Edit", r#"{"file_path":"/w/src/a.rs"}"#, "no match", true).edited,
            []
        );
    }

    #[test]
    fn files_named_in_commands_count_as_read() {
        let found = ran(
            "Bash",
            r#"{"command":"rg -n 'fn main' src/b.rs docs; wc -l src/a.rs | sort -o nothing.rs"}"#,
            "x",
            false,
        );
        assert_eq!(names(&found.read), ["src/b.rs", "src/a.rs"]);
        assert_eq!(found.edited, []);
        let found = ran("Read", r#"{"file_path":"/w/src/a.rs"}"#, "x", false);
        assert_eq!(names(&found.read), ["src/a.rs"]);
    }

    #[test]
    fn calls_that_search_list_or_read_explore() {
        for (tool, input, explores) in [
            ("Grep", r#"{"pattern":"x","path":"/w/src/a.rs"}"#, true),
            ("mcp__fs__list_directory", r#"{"path":"/w"}"#, true),
            ("Read", r#"{"file_path":"/w/src/a.rs"}"#, true),
            ("str_replace_editor", r#"{"command":"view","path":"/w/src/a.rs"}"#, true),
            (
                "str_replace_editor",
                r#"{"command":"create","path":"/w/src/a.rs"}"#,
                false,
            ),
            ("Bash", r#"{"command":"cd /w && git grep -n refill | head"}"#, true),
            ("Bash", r#"{"command":"sed -n '1,9p' src/a.rs"}"#, true),
            ("Bash", r#"{"command":"sed -i s/x/y/ src/a.rs"}"#, false),
            ("Bash", r#"{"command":"cat > src/n.rs"}"#, false),
            ("Bash", r#"{"command":"cargo test 2>&1 | tail -5"}"#, false),
            ("Bash", r#"{"command":"git commit -m grep"}"#, false),
            ("Edit", r#"{"file_path":"/w/src/a.rs"}"#, false),
            ("get_weather", r#"{"path":"/w/src/a.rs"}"#, false),
        ] {
            let found = ran(tool, input, "ok", false);
            assert_eq!(found.exploring_calls, u32::from(explores), "{tool} {input}");
        }
        let without_match = ran("Grep", r#"{"pattern":"x"}"#, "no match", true);
        assert_eq!((without_match.exploring_calls, without_match.failures), (1, Vec::new()));
    }

    #[test]
    fn reached_files_have_the_number_of_exploring_calls_before() {
        let call = |at: usize, tool: &str, input: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{at}","name":"{tool}","input":{input}}}]}},
                {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{at}","content":"ok"}}]}}"#
            )
        };
        let calls = [
            call(0, "Grep", r#"{"pattern":"x"}"#),
            call(1, "Read", r#"{"file_path":"/w/src/a.rs"}"#),
            call(2, "Read", r#"{"file_path":"/w/src/a.rs"}"#),
            call(3, "Edit", r#"{"file_path":"/w/src/a.rs"}"#),
            call(4, "Bash", r#"{"command":"cat src/b.rs"}"#),
        ];
        let found = of(
            WireFormat::Messages,
            &format!(r#"{{"messages":[{}]}}"#, calls.join(",")),
        );
        let reached: Vec<(&str, bool, u32)> = found
            .reached
            .iter()
            .map(|file| (file.path.as_str(), file.edited, file.exploring_calls))
            .collect();
        let expected = [("src/a.rs", false, 1), ("src/a.rs", true, 3), ("src/b.rs", false, 3)];
        assert_eq!(reached, expected);
        assert_eq!(found.exploring_calls, 4);
    }

    #[test]
    fn effects_are_found_in_every_format() {
        let chat = r#"{"messages":[{"role":"user","content":"look at docs/guide.md"},
            {"role":"assistant","content":"It is in `src/b.rs:10-12`, see ./src/c.rs. Not in src/none.rs.","tool_calls":[{"id":"c","type":"function","function":{"name":"edit","arguments":"{\"filePath\":\"/w/src/a.rs\"}"}}]},
            {"role":"tool","tool_call_id":"c","content":"done"}]}"#;
        let found = of(WireFormat::Chat, chat);
        assert_eq!(
            (names(&found.edited), names(&found.cited)),
            (vec!["src/a.rs"], vec!["src/b.rs", "src/c.rs"])
        );
        let responses = r#"{"input":[
            {"type":"custom_tool_call","call_id":"p","name":"apply_patch","input":"*** Begin Patch\n*** Update File: src/a.rs\n"},
            {"type":"custom_tool_call_output","call_id":"p","output":"{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"},
            {"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"command\":[\"cargo\",\"test\",\"--\",\"src/b.rs\"],\"workdir\":\"/w\"}"},
            {"type":"function_call_output","call_id":"c1","output":"{\"output\":\"failed\",\"metadata\":{\"exit_code\":101}}"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"see [the guide](docs/guide.md#L4)"}]}]}"#;
        let found = of(WireFormat::Responses, responses);
        assert_eq!(
            (names(&found.edited), names(&found.cited)),
            (vec!["src/a.rs"], vec!["docs/guide.md"])
        );
        let failure = Failure {
            attempt: "cargo test src/b.rs".to_owned(),
            outcome: "exit code 101".to_owned(),
        };
        assert_eq!(found.failures, [failure]);
    }

    #[test]
    fn failure_names_only_common_programs() {
        for (tool, input, result, expected) in [
            (
                "Bash",
                r#"{"command":"cd /w && cargo test -p secret-project"}"#,
                "Exit code 1\\nhello",
                Some("cargo test"),
            ),
            (
                "Bash",
                r#"{"command":"curl -H 'X: my words' http://x"}"#,
                "Exit code 7",
                None,
            ),
            (
                "Bash",
                r#"{"command":"npm MyScript"}"#,
                "x\\nProcess exited with code 2",
                Some("npm"),
            ),
            (
                "Bash",
                r#"{"command":"cargo test"}"#,
                "the docs on exit codes say that exit code 3 is bad",
                None,
            ),
            ("Bash", r#"{"command":"cargo test"}"#, "Exit code: 0", None),
        ] {
            let found = ran(tool, input, result, result.starts_with("Exit code 1"));
            assert_eq!(
                found.failures.first().map(|failure| failure.attempt.as_str()),
                expected,
                "{input}"
            );
        }
        assert_eq!(
            ran("Edit", r#"{"file_path":"/w/src/a.rs"}"#, "x", true).failures[0].attempt,
            "edit src/a.rs"
        );
    }

    #[test]
    fn call_without_a_result_has_no_effect() {
        let body = r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/w/src/a.rs"}}]}]}"#;
        assert_eq!(of(WireFormat::Messages, body), ToolEffects::default());
    }
}
