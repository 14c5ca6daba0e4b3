//! The files that the client's tools have read, with the text of their results.
//!
//! Only the results of tools that show files count, because clients truncate results and files change. Paths are collected
//! generously: every word of a shell command that could be one. A wrong path does no harm: its file's text does not match
//! the result.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use muninn_base::RelPath;
use muninn_wire::{Members, Prompt, Text, ToolPart, result_text};

use super::calls::{Call, FileUse, PathResolver};

/// The most results that are examined, newest first, and their most bytes together.
const MOST_RESULTS: usize = 128;
const MOST_BYTES: usize = 512 * 1024;

/// The results of tools that showed files below `root`, newest first, each with the paths it may belong to. Relative paths
/// are resolved against the claimed directories and the root.
pub fn reads(prompt: &Prompt<'_>, root: &Path, claimed: &[String]) -> Vec<(Vec<RelPath>, String)> {
    let parts = || prompt.messages.iter().flat_map(|message| &message.tools);
    let calls: HashMap<&str, (Text<'_>, &str)> = parts()
        .filter_map(|part| match part {
            ToolPart::Call { id, name, arguments } => Some((id.literal(), (*name, *arguments))),
            ToolPart::Result { .. } => None,
        })
        .collect();
    let mut left = MOST_BYTES;
    let mut reads = Vec::new();
    let results = prompt.messages.iter().rev().flat_map(|message| message.tools.iter().rev());
    let read = results.filter_map(|part| match part {
        ToolPart::Result { id, content, .. } => {
            let (name, arguments) = calls.get(id.literal())?;
            let resolver = PathResolver { root, claimed };
            let named =
                Call::of(*name, arguments)?.files().into_iter().filter(|named| named.file_use == FileUse::Shown);
            let paths: Vec<RelPath> = named.flat_map(|named| resolver.resolve(&named)).collect();
            (!paths.is_empty()).then_some((paths, *content))
        }
        ToolPart::Call { .. } => None,
    });
    for (paths, content) in read.take(MOST_RESULTS) {
        let Some(rest) = left.checked_sub(content.len()) else {
            continue;
        };
        left = rest;
        reads.extend(result_text(content).map(|text| (paths, unwrapped(text))));
    }
    reads
}

/// The output in a result of Codex, which may wrap it in JSON.
fn unwrapped(text: String) -> String {
    let inner = Members::of(&text).and_then(|members| members.non_empty("output").map(Cow::into_owned));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::NamedFile;
    use muninn_wire::WireFormat;

    fn read(format: WireFormat, body: &str) -> Vec<(String, String)> {
        let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
        let mut found: Vec<_> = reads(&prompt, Path::new("/w"), &["/w/sub".to_owned()])
            .into_iter()
            .flat_map(|(paths, text)| paths.into_iter().map(move |path| (path.to_string(), text.clone())))
            .collect();
        found.sort();
        found
    }

    fn pair(path: &str, text: &str) -> (String, String) {
        (path.to_owned(), text.to_owned())
    }

    /// The arguments' paths, for a tool of this name.
    fn paths(tool: &str, arguments: &str) -> Vec<String> {
        let body = format!(
            r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"{tool}","input":{arguments}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"x"}}]}}]}}"#
        );
        let read = read(WireFormat::Messages, &body);
        read.into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn results_are_found_in_each_format() {
        let messages = r#"{"messages":[{"role":"user","content":"q"},
            {"role":"assistant","content":[{"type":"text","text":"ok"},
                {"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/w/src/a.rs","offset":5,"limit":2}},
                {"type":"tool_use","id":"t2","name":"Grep","input":{"path":"/w/src/b.rs"}}]},
            {"role":"user","content":[
                {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"     5\u2192x\n"},{"type":"image"}]},
                {"type":"tool_result","tool_use_id":"t2","content":"b"},
                {"type":"tool_result","tool_use_id":"t3","content":"a result of no call"}]}]}"#;
        assert_eq!(read(WireFormat::Messages, messages), [pair("src/a.rs", "     5\u{2192}x\n")]);
        let chat = r#"{"messages":[
            {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{\"filePath\":\"/w/src/a.rs\"}"}}]},
            {"role":"tool","tool_call_id":"c","content":"00001| x"}]}"#;
        assert_eq!(read(WireFormat::Chat, chat), [pair("src/a.rs", "00001| x")]);
        let responses = r#"{"input":[
            {"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"sed -n '1,9p' a.rs\"],\"workdir\":\"/w/src\"}"},
            {"type":"function_call_output","call_id":"c1","output":"{\"output\":\"x\\ny\",\"metadata\":{}}"},
            {"type":"local_shell_call","call_id":"c2","action":{"type":"exec","command":["cat","/w/b.rs"]}},
            {"type":"function_call_output","call_id":"c2","output":"z"}]}"#;
        assert_eq!(read(WireFormat::Responses, responses), [pair("b.rs", "z"), pair("src/a.rs", "x\ny")]);
    }

    #[test]
    fn paths_are_found_in_all_argument_forms() {
        let nothing: [&str; 0] = [];
        assert_eq!(paths("Read", r#"{"file_path":"/w/src/../a.rs"}"#), ["a.rs"]);
        assert_eq!(paths("read_file", r#"{"path":"a.rs"}"#), ["a.rs", "sub/a.rs"], "it is not said from where");
        assert_eq!(paths("read_many_files", r#"{"paths":["/w/a.rs","/w/b.rs"]}"#), ["a.rs", "b.rs"]);
        assert_eq!(paths("read_file", r#"{"files":[{"path":"/w/a.rs"}]}"#), ["a.rs"]);
        assert_eq!(paths("Bash", r#"{"command":"cd /w/src && cat a.rs | head -5; ls b.rs"}"#), ["src/a.rs"]);
        assert_eq!(paths("Bash", r#"{"command":"nl -ba \"/w/a.rs\" | sed -n '1,5p'"}"#).last().unwrap(), "a.rs");
        assert_eq!(paths("Read", r#"{"file_path":"/elsewhere/a.rs"}"#), nothing);
        assert_eq!(paths("Read", r#"{"file_path":"../../../etc/passwd"}"#), nothing);
        assert_eq!(paths("Write", r#"{"file_path":"/w/a.rs"}"#), nothing);
        assert_eq!(paths("Read", r#"[1]"#), nothing);
        assert_eq!(paths("Bash", r#"{"command":7}"#), nothing);
    }

    #[test]
    fn claimed_directory_may_stand_for_the_root() {
        let resolver = PathResolver { root: Path::new("/real/w"), claimed: &["/link".to_owned()] };
        let named = |path: &str| NamedFile { path: path.to_owned(), directory: None, file_use: FileUse::Shown };
        let resolved = |path: &str| resolver.resolve(&named(path));
        assert_eq!(resolved("/link/a.rs"), [RelPath::new("a.rs").unwrap()]);
        assert_eq!(resolved("a.rs"), [RelPath::new("a.rs").unwrap()]);
        assert_eq!(resolved("/other/a.rs"), []);
    }

    #[test]
    fn newest_results_are_read_within_the_limits() {
        let one = |n: usize, text: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{n}","name":"Read","input":{{"file_path":"/w/{n}.rs"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"{text}"}}]}}"#
            )
        };
        let body = |texts: &[String]| {
            let pairs: Vec<_> = texts.iter().enumerate().map(|(n, text)| one(n, text)).collect();
            format!(r#"{{"messages":[{}]}}"#, pairs.join(","))
        };
        let many = vec!["x".to_owned(); MOST_RESULTS + 3];
        let found = read(WireFormat::Messages, &body(&many));
        assert_eq!(found.len(), MOST_RESULTS);
        assert!(!found.iter().any(|(path, _)| path == "2.rs") && found.iter().any(|(path, _)| path == "3.rs"));
        let large = vec!["small".to_owned(), "x".repeat(MOST_BYTES / 2), "x".repeat(MOST_BYTES / 2 + 1)];
        let found = read(WireFormat::Messages, &body(&large));
        let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["0.rs", "2.rs"]);
    }
}
