//! Hooks: a coding agent that does not send its requests through the gateway gets the same context, and leaves the same
//! records. Whatever is wrong, the exit code is 0 and nothing is printed.

use std::path::{Path, PathBuf};
use std::process::Output;

use muninn_tests::{TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::{Conversation, SESSION};
use crate::learning::Team;
use crate::stage::{FILES, QUESTION};

/// Deadlines that an unoptimised binary on a busy machine keeps, and no daemon: each hook answers by itself.
pub(crate) const PATIENT: &str = "[hooks]\ndeadline_ms = 20000\ndaemon_idle_minutes = 0\n";

/// A session of Claude Code with hooks in an indexed repository.
pub(crate) struct Hooked {
    pub(crate) team: Team,
    pub(crate) conversation: Conversation,
    variables: Vec<(&'static str, String)>,
}

impl Hooked {
    pub(crate) fn new() -> Hooked {
        let team = Team::with("repo", PATIENT);
        team.env.stdout_of(&team.root, &["index"]);
        let conversation = Conversation::new(&team.root);
        Hooked { team, conversation, variables: Vec::new() }
    }

    fn transcript(&self) -> PathBuf {
        let path = self.team.env.path("transcript.jsonl");
        std::fs::write(&path, self.conversation.transcript()).unwrap();
        path
    }

    pub(crate) fn input(&self, more: Value) -> Value {
        let mut input = json!({"session_id": SESSION, "transcript_path": self.transcript(), "cwd": self.team.root});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        input
    }

    pub(crate) fn run(&self, event: &str, input: &Value) -> Output {
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        hook(&self.team.env, &self.team.root, &[event], input.to_string().as_bytes(), &variables)
    }

    /// The block for a prompt.
    pub(crate) fn prompt(&self, prompt: &str) -> Option<String> {
        context(&self.run("UserPromptSubmit", &self.input(json!({"prompt": prompt}))), "UserPromptSubmit")
    }

    fn end(&self) {
        assert_silent(&self.run("SessionEnd", &self.input(json!({"reason": "other"}))));
    }

    /// All receipts, newest first.
    fn receipts(&self) -> Vec<Value> {
        let listed = self.team.env.stdout_of(&self.team.root, &["why", "--json"]);
        serde_json::from_str(&listed).unwrap()
    }

    fn last_receipt(&self) -> Value {
        serde_json::from_str(&self.team.env.stdout_of(&self.team.root, &["why", "--last", "--json"])).unwrap()
    }
}

/// Runs `muninn hook` with this input.
pub(crate) fn hook(
    env: &TestEnv,
    directory: &Path,
    arguments: &[&str],
    input: &[u8],
    variables: &[(&str, &str)],
) -> Output {
    let mut command = env.muninn();
    command.current_dir(directory).arg("hook").args(arguments);
    command.envs(variables.iter().copied());
    muninn_tests::output_with(command, input)
}

#[track_caller]
pub(crate) fn assert_silent(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// The additional context that a hook prints.
#[track_caller]
pub(crate) fn context(output: &Output, event: &str) -> Option<String> {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    if output.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = &answer["hookSpecificOutput"];
    assert_eq!(answer["hookEventName"], event);
    Some(answer["additionalContext"].as_str().unwrap().to_owned())
}

/// Records without what differs between two runs.
fn comparable(records: Vec<(String, Value)>) -> Vec<Value> {
    let mut records: Vec<Value> = records.into_iter().map(|(_, record)| record).collect();
    for record in &mut records {
        for key in ["id", "ts", "commit", "session"] {
            record.as_object_mut().unwrap().remove(key);
        }
    }
    records
}

#[test]
fn prompt_gets_a_pack_with_a_receipt_and_gets_it_once() {
    let hooked = Hooked::new();
    let block = hooked.prompt(QUESTION).unwrap();
    assert!(block.starts_with("<muninn-context>") && block.contains("src/rate_limiter.rs"), "{block}");
    assert!(block.chars().count() <= 8_000);
    let receipt = hooked.last_receipt();
    assert_eq!((&receipt["format"], &receipt["outcome"]), (&json!("hook"), &json!("injected")));
    assert_eq!(receipt["session"], SESSION);
    assert_eq!(hooked.prompt(QUESTION), None, "a second hook for the same prompt adds nothing");
}

#[test]
fn later_turn_does_not_repeat_a_place() {
    let mut hooked = Hooked::new();
    let first = hooked.prompt(QUESTION).unwrap();
    hooked.conversation.says(QUESTION);
    hooked.conversation.answers("It refills by the elapsed time.");
    let second = hooked.prompt("And how does TokenBucket take one token in src/rate_limiter.rs?");
    let places = |block: &str| -> Vec<String> {
        let lines = block.lines().filter(|line| line.contains("src/"));
        lines.map(str::to_owned).collect()
    };
    for place in places(&second.unwrap_or_default()) {
        assert!(!places(&first).contains(&place), "{place}");
    }
    let receipt = hooked.last_receipt();
    assert_eq!(receipt["turn"], 2);
    assert_eq!(receipt["replayed"]["blocks"], 1, "the first block is known: {receipt}");
}

#[test]
fn place_is_given_again_after_a_compaction() {
    let mut hooked = Hooked::new();
    assert!(hooked.prompt(QUESTION).is_some());
    hooked.conversation.turn(QUESTION);
    let again = "How does the TokenBucket refill in the rate limiter, once more?";
    assert_eq!(hooked.prompt(again), None, "the conversation holds the place");
    let summary = json!({"type": "user", "isCompactSummary": true,
        "message": {"role": "user", "content": "This session is being continued. Summary: buckets were read."}});
    let transcript = format!("{}{summary}\n", hooked.conversation.transcript());
    let path = hooked.team.env.path("compacted.jsonl");
    std::fs::write(&path, transcript).unwrap();
    let input = hooked.input(json!({"prompt": again, "transcript_path": path}));
    let block = context(&hooked.run("UserPromptSubmit", &input), "UserPromptSubmit");
    assert!(block.unwrap().contains("src/rate_limiter.rs"));
}

#[test]
fn notices_of_the_client_get_nothing() {
    let hooked = Hooked::new();
    for prompt in [
        format!("<task-notification>{QUESTION}</task-notification>"),
        format!("CRITICAL: Respond with TEXT ONLY. {QUESTION}"),
        "thanks".to_owned(),
    ] {
        assert_eq!(hooked.prompt(&prompt), None, "{prompt}");
    }
    assert_eq!(hooked.receipts().len(), 3);
    let mut silenced = Hooked::new();
    silenced.variables.push(("MUNINN_REMINDER", "1".to_owned()));
    assert_eq!(silenced.prompt(QUESTION), None);
    assert_eq!(silenced.receipts().len(), 0);
}

#[test]
fn without_an_index_context_comes_from_a_search_and_no_index_is_built() {
    let env = TestEnv::new(MUNINN);
    env.write_config(&format!("[context]\ndeadline_ms = 20000\n{PATIENT}"));
    let root = env.repository("demo", &FILES);
    let input = json!({"session_id": SESSION, "cwd": root, "prompt": QUESTION}).to_string();
    let block = context(&hook(&env, &root, &["UserPromptSubmit"], input.as_bytes(), &[]), "UserPromptSubmit");
    assert!(block.unwrap().contains("src/rate_limiter.rs"));
    let receipt: Value = serde_json::from_str(&env.stdout_of(&root, &["why", "--last", "--json"])).unwrap();
    assert_eq!(receipt["outcome"], "partial");
    assert_eq!(env.git(&root, &["status", "--porcelain"]), "", "nothing is written in the worktree");
}

#[test]
fn session_start_orients_where_muninn_was_set_up() {
    let hooked = Hooked::new();
    hooked.team.env.stdout_of(&hooked.team.root, &["remember", "Invoices are archived once a year."]);
    let start = |source: &str| {
        let input = hooked.input(json!({"source": source}));
        context(&hooked.run("SessionStart", &input), "SessionStart")
    };
    let preamble = start("startup").unwrap();
    assert!(preamble.starts_with("<muninn-context>\n") && preamble.ends_with("\n</muninn-context>\n"), "{preamble}");
    assert!(preamble.contains("has Muninn: 1 memory.") && preamble.contains("`muninn recall WORDS`"), "{preamble}");
    let receipt = hooked.last_receipt();
    let part = &receipt["preamble"][0];
    assert_eq!(part["part"], "orientation");
    assert!(part["characters"].as_u64().unwrap() <= 600, "{receipt}");
    assert!(preamble.chars().count() <= 900, "{preamble}");
    assert!(receipt["tokens"].as_u64().unwrap() > 50, "{receipt}");
    assert_eq!(start("resume"), None, "the conversation holds it");
    assert!(start("compact").is_some());

    let env = TestEnv::new(MUNINN);
    env.write_config(PATIENT);
    let root = env.repository("demo", &FILES);
    let input = json!({"session_id": SESSION, "cwd": root, "source": "startup"}).to_string();
    assert_silent(&hook(&env, &root, &["SessionStart"], input.as_bytes(), &[]));
}

#[test]
fn hooks_and_traffic_leave_the_same_records_and_marks() {
    let second = "Where is the invoice parsed?";
    let through_gateway = Team::with("repo", "");
    let gateway = through_gateway.serve();
    let mut conversation = Conversation::new(&through_gateway.root);
    conversation.turn(QUESTION);
    conversation.says(second);
    conversation.send(&gateway);
    conversation.calls("Read", &json!({"file_path": "src/storage.rs"}), "1\tx");
    conversation.send(&gateway);
    gateway.stop_cleanly();

    let mut hooked = Hooked::new();
    assert!(hooked.prompt(QUESTION).is_some());
    hooked.conversation.turn(QUESTION);
    hooked.prompt(second);
    hooked.conversation.says(second);
    hooked.conversation.calls("Read", &json!({"file_path": "src/storage.rs"}), "1\tx");
    hooked.end();

    let expected = comparable(through_gateway.segments());
    assert!(expected.len() >= 3, "{expected:#?}");
    assert_eq!(comparable(hooked.team.segments()), expected);
    let first = hooked.receipts().pop().unwrap();
    let used = first["items"].as_array().unwrap().iter().find(|item| item["used"] == true);
    assert!(used.is_some(), "the receipt says what the agent used: {first}");
}

#[test]
fn session_end_learns_the_last_turn_with_its_answer_once() {
    let mut hooked = Hooked::new();
    hooked.prompt(QUESTION);
    hooked.conversation.turn(QUESTION);
    hooked.end();
    let records = comparable(hooked.team.segments());
    let is_cited = |record: &Value| record["files"].to_string().contains("src/storage.rs");
    assert!(records.iter().any(is_cited), "the answer cites it: {records:#?}");
    hooked.end();
    hooked.prompt("And now?");
    assert_eq!(comparable(hooked.team.segments()), records, "a resumed session learns nothing twice");
}

#[test]
fn compaction_learns_what_it_drops() {
    let mut hooked = Hooked::new();
    hooked.prompt(QUESTION);
    hooked.conversation.turn(QUESTION);
    let input = hooked.input(json!({"trigger": "manual"}));
    assert_silent(&hooked.run("PreCompact", &input));
    assert!(!hooked.team.segments().is_empty());
}

#[test]
fn secrets_in_prompts_and_transcripts_are_redacted() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let mut hooked = Hooked::new();
    let question = format!("{token} {QUESTION}");
    hooked.prompt(&question);
    hooked.conversation.turn(&question);
    hooked.conversation.says(&format!("We decided to keep {token} in src/storage.rs."));
    hooked.end();
    let mut text = String::new();
    crate::agent::gather(&hooked.team.env.state_dir(), &mut text);
    crate::agent::gather(&hooked.team.root.join(".muninn"), &mut text);
    assert!(!text.contains(token));
}

/// Drives a session of two turns through a gateway, with its hooks.
fn drive(team: &Team, hook: impl Fn(&Conversation, &str, Option<&str>, &str)) {
    let second = "Where is the invoice parsed?";
    let gateway = team.serve();
    let url = format!("http://{}", gateway.address);
    let mut conversation = Conversation::new(&team.root);
    hook(&conversation, "UserPromptSubmit", Some(QUESTION), &url);
    conversation.says(QUESTION);
    conversation.send(&gateway);
    conversation.calls("Read", &json!({"file_path": "src/rate_limiter.rs"}), "1\tx");
    conversation.send(&gateway);
    conversation.answers("Refilling is in src/rate_limiter.rs:14.");
    hook(&conversation, "UserPromptSubmit", Some(second), &url);
    conversation.says(second);
    conversation.send(&gateway);
    conversation.answers("In src/parser.rs.");
    hook(&conversation, "SessionEnd", None, &url);
    gateway.stop_cleanly();
}

/// A client whose requests go through a gateway and which also has hooks.
#[test]
fn session_through_both_doors_has_one_block_and_one_set_of_records() {
    let by_gateway = Team::with("repo", "");
    drive(&by_gateway, |_, _, _, _| {});

    // The gateway is found by its address, or, behind a proxy of another address, by its receipts from the second turn on.
    let both = Team::with("repo", PATIENT);
    drive(&both, |conversation, event, prompt, url| {
        let path = both.env.path("transcript.jsonl");
        std::fs::write(&path, conversation.transcript()).unwrap();
        let input = json!({"session_id": SESSION, "transcript_path": path, "cwd": both.root, "prompt": prompt});
        let input = input.to_string();
        assert_silent(&hook(&both.env, &both.root, &[event], input.as_bytes(), &[("ANTHROPIC_BASE_URL", url)]));
        if !conversation.transcript().is_empty() {
            // A receipt is written after its answer.
            wait_until("the receipt of a request", || {
                let receipts = both.env.stdout_of(&both.root, &["why", "--json"]);
                receipts.contains(SESSION).then_some(())
            });
            let proxy = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")];
            assert_silent(&hook(&both.env, &both.root, &[event], input.as_bytes(), &proxy));
        }
    });
    let blocks = |upstream: &Upstream| -> Vec<usize> {
        let requests = upstream.requests().into_iter();
        requests.map(|request| String::from_utf8_lossy(&request.body).matches("<muninn-context>").count()).collect()
    };
    assert_eq!(blocks(&both.upstream), blocks(&by_gateway.upstream));
    assert!(blocks(&both.upstream).iter().any(|count| *count > 0));
    assert_eq!(comparable(both.segments()), comparable(by_gateway.segments()));
    let receipts = both.env.stdout_of(&both.root, &["why", "--json"]);
    assert!(!receipts.contains("\"hook\""), "{receipts}");
}

#[test]
fn gateway_that_has_stopped_is_no_gateway() {
    let mut hooked = Hooked::new();
    let gateway = hooked.team.serve();
    hooked.variables.push(("ANTHROPIC_BASE_URL", format!("http://{}", gateway.address)));
    assert_eq!(hooked.prompt(QUESTION), None);
    gateway.stop_cleanly();
    assert!(hooked.prompt(QUESTION).is_some());
}
