//! Tests of the effects of tools.

use muninn_wire::WireFormat;

use super::*;

const THERE: [&str; 7] = ["src/a.rs", "src/b.rs", "src/c.rs", "src/n.rs", "src/z.rs", "src/new.rs", "docs/guide.md"];

fn of(format: WireFormat, body: &str) -> ToolEffects {
    let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
    let is_there = |path: &RelPath| THERE.contains(&path.as_str());
    let claimed = ["/w".to_owned()];
    tool_effects(&prompt, 0..prompt.messages.len(), (Path::new("/w"), &claimed), &is_there)
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
        ("Edit", r#"{"file_path":"/w/src/a.rs","old_string":"x","new_string":"y"}"#, vec!["src/a.rs"]),
        ("Write", r#"{"file_path":"/w/src/new.rs","content":"src/b.rs"}"#, vec!["src/new.rs"]),
        ("edit", r#"{"filePath":"/w/src/a.rs"}"#, vec!["src/a.rs"]),
        ("str_replace_editor", r#"{"command":"str_replace","path":"/w/src/a.rs"}"#, vec!["src/a.rs"]),
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
        ("Bash", r#"{"command":"sed -i 's/x/y/' src/a.rs && cargo fmt"}"#, vec!["src/a.rs"]),
        (
            "Bash",
            r#"{"command":"cat > src/n.rs <<'EOF'\nsee src/b.rs\nEOF\ncat src/c.rs >> docs/guide.md"}"#,
            vec!["src/n.rs", "docs/guide.md"],
        ),
        ("Bash", r#"{"command":"git mv src/a.rs src/z.rs 2>/dev/null"}"#, vec!["src/a.rs", "src/z.rs"]),
        ("Write", r#"{"file_path":"/w/.env","content":"x"}"#, vec![]),
        ("Edit", r#"{"file_path":"/elsewhere/a.rs"}"#, vec![]),
        ("Edit", r#"{"file_path":"/w/../etc/passwd"}"#, vec![]),
        ("mcp__any__thing", r#"{"file_path":"/w/src/a.rs"}"#, vec![]),
    ] {
        let mut found = ran(tool, input, "ok", false).edited;
        found.retain(|path| !path.as_str().starts_with("dev/"));
        assert!(edited.iter().all(|path| names(&found).contains(path)), "{tool} {input}: {found:?}");
        assert!(found.len() <= edited.len() + 1, "{tool} {input}: {found:?}");
    }
    assert_eq!(ran("Edit", r#"{"file_path":"/w/src/a.rs"}"#, "no match", true).edited, []);
}

#[test]
fn files_named_in_commands_count_as_read() {
    let found =
        ran("Bash", r#"{"command":"rg -n 'fn main' src/b.rs docs; wc -l src/a.rs | sort -o nothing.rs"}"#, "x", false);
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
        ("str_replace_editor", r#"{"command":"create","path":"/w/src/a.rs"}"#, false),
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
    let found = of(WireFormat::Messages, &format!(r#"{{"messages":[{}]}}"#, calls.join(",")));
    let reached: Vec<(&str, bool, u32)> =
        found.reached.iter().map(|file| (file.path.as_str(), file.edited, file.exploring_calls)).collect();
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
    assert_eq!((names(&found.edited), names(&found.cited)), (vec!["src/a.rs"], vec!["src/b.rs", "src/c.rs"]));
    let responses = r#"{"input":[
            {"type":"custom_tool_call","call_id":"p","name":"apply_patch","input":"*** Begin Patch\n*** Update File: src/a.rs\n"},
            {"type":"custom_tool_call_output","call_id":"p","output":"{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"},
            {"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"command\":[\"cargo\",\"test\",\"--\",\"src/b.rs\"],\"workdir\":\"/w\"}"},
            {"type":"function_call_output","call_id":"c1","output":"{\"output\":\"failed\",\"metadata\":{\"exit_code\":101}}"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"see [the guide](docs/guide.md#L4)"}]}]}"#;
    let found = of(WireFormat::Responses, responses);
    assert_eq!((names(&found.edited), names(&found.cited)), (vec!["src/a.rs"], vec!["docs/guide.md"]));
    let failure = Failure { attempt: "cargo test src/b.rs".to_owned(), outcome: "exit code 101".to_owned() };
    assert_eq!(found.failures, [failure]);
}

#[test]
fn failure_names_only_common_programs() {
    for (tool, input, result, expected) in [
        ("Bash", r#"{"command":"cd /w && cargo test -p secret-project"}"#, "Exit code 1\\nhello", Some("cargo test")),
        ("Bash", r#"{"command":"curl -H 'X: my words' http://x"}"#, "Exit code 7", None),
        ("Bash", r#"{"command":"npm MyScript"}"#, "x\\nProcess exited with code 2", Some("npm")),
        ("Bash", r#"{"command":"cargo test"}"#, "the docs on exit codes say that exit code 3 is bad", None),
        ("Bash", r#"{"command":"cargo test"}"#, "Exit code: 0", None),
    ] {
        let found = ran(tool, input, result, result.starts_with("Exit code 1"));
        assert_eq!(found.failures.first().map(|failure| failure.attempt.as_str()), expected, "{input}");
    }
    assert_eq!(ran("Edit", r#"{"file_path":"/w/src/a.rs"}"#, "x", true).failures[0].attempt, "edit src/a.rs");
}

#[test]
fn call_without_a_result_has_no_effect() {
    let body = r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/w/src/a.rs"}}]}]}"#;
    assert_eq!(of(WireFormat::Messages, body), ToolEffects::default());
}

#[test]
fn files_are_cited_in_all_notations_and_not_in_repeated_blocks() {
    for (text, cited) in [
        ("see src/a.rs:10-20, src/b.rs:3 and src/c.rs.", vec!["src/a.rs", "src/b.rs", "src/c.rs"]),
        ("`src/a.rs:10\u{2013}20` \u{2014} `/w/src/b.rs`", vec!["src/a.rs", "src/b.rs"]),
        ("[the guide](docs/guide.md#L4-L9)\u{2014}**src/a.rs:L3**", vec!["docs/guide.md", "src/a.rs"]),
        ("src/none.rs, ../etc/passwd, a.rs and main.rs", vec![]),
        (
            "As <muninn-context>\n## src/a.rs:1-9\n</muninn-context> says: src/b.rs. <muninn-context>src/c.rs",
            vec!["src/b.rs"],
        ),
    ] {
        let text = serde_json::Value::from(text);
        let body = format!(r#"{{"messages":[{{"role":"assistant","content":{text}}}]}}"#);
        assert_eq!(names(&of(WireFormat::Chat, &body).cited), cited, "{text}");
    }
}
