//! An agent's actions become records, and records become segments in git.

use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::{Conversation, gather, records_in};
use crate::stage::{FILES, QUESTION};

/// A repository that was set up to share its memory, and a gateway over it.
pub(crate) struct Team {
    pub(crate) env: TestEnv,
    pub(crate) upstream: Upstream,
    pub(crate) root: std::path::PathBuf,
}

impl Team {
    fn new(memory: &str) -> Team {
        Team::with(memory, "")
    }

    /// The same, with more TOML tables in the user's configuration.
    pub(crate) fn with(memory: &str, more: &str) -> Team {
        Team::before(Upstream::start(), memory, more)
    }

    /// The same, with this backend.
    pub(crate) fn before(upstream: Upstream, memory: &str, more: &str) -> Team {
        let env = TestEnv::new(MUNINN);
        env.connect_with(&upstream, more);
        let root = env.repository("demo", &FILES);
        env.stdout_of(&root, &["init", "--memory", memory]);
        env.commit(&root, "memory");
        Team { env, upstream, root }
    }

    pub(crate) fn serve(&self) -> Gateway {
        let gateway = self.env.serve(&self.root, &[]);
        gateway.wait_ready();
        gateway
    }

    /// All records of all segments below a directory, with the name of the file of each.
    pub(crate) fn segments(&self) -> Vec<(String, Value)> {
        records_in(&self.root.join(".muninn/memory/sessions"))
    }

    /// Asserts that git sees new segments only.
    pub(crate) fn has_new_segments_alone(&self) {
        let status = self.env.git(&self.root, &["status", "--porcelain"]);
        let new = |line: &str| line.starts_with("?? .muninn/memory/sessions/session_") && line.ends_with(".jsonl");
        assert!(!status.is_empty() && status.lines().all(new), "{status}");
    }

    /// Everything that waits or was written outside the repository.
    pub(crate) fn state(&self) -> String {
        let mut text = String::new();
        gather(&self.env.state_dir().join("memory"), &mut text);
        text
    }
}

#[test]
fn turn_becomes_records_of_actions_not_of_text() {
    let team = Team::new("repo");
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(&format!("{QUESTION} Ask Persephone about hunter2hunter2."));
    conversation.says("Thanks. And the parser?");
    conversation.send(&gateway);
    gateway.stop_cleanly();
    let segments = team.segments();
    let hits: Vec<(&Value, &Value)> = segments
        .iter()
        .filter(|(_, record)| record["type"] == "context_hit")
        .map(|(_, record)| (&record["files"], &record["relevance"]))
        .collect();
    let expected =
        [(json!(["src/parser.rs"]), json!(0.95)), (json!(["src/rate_limiter.rs", "src/storage.rs"]), json!(0.8))];
    assert_eq!(hits, expected.iter().map(|(files, relevance)| (files, relevance)).collect::<Vec<_>>());
    let first = &segments[0].1;
    let terms: Vec<&str> = first["terms"].as_array().unwrap().iter().map(|term| term.as_str().unwrap()).collect();
    assert!(terms.contains(&"tokenbucket") || terms.contains(&"TokenBucket"), "{terms:?}");
    let head = team.env.git(&team.root, &["rev-parse", "HEAD"]);
    assert_eq!((&first["branch"], &first["commit"]), (&json!("main"), &json!(head.trim())));
    assert_eq!(first["sources"][0]["path"], "src/parser.rs");
    let blob = team.env.git(&team.root, &["hash-object", "src/parser.rs"]);
    assert_eq!(first["sources"][0]["blob"].as_str(), Some(blob.trim()));
    let summary = segments.iter().find(|(_, record)| record["type"] == "session_summary").unwrap();
    assert_eq!(summary.1["files_touched"], json!(["src/parser.rs"]));
    let written = format!("{segments:?}{}", team.state());
    for secret in ["Persephone", "hunter2", "persephone", "passwd", ".env", "Thanks"] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    // All that git sees are new segments, and a name says which session and which of its segments it is.
    team.has_new_segments_alone();
    let id = first["session"].as_str().unwrap();
    assert!(segments.iter().all(|(name, _)| *name == format!("session_{id}.0.jsonl")), "{segments:?}");
    assert_eq!(team.upstream.requests().len(), 1);
}

#[test]
fn nothing_is_learned_twice_or_from_side_requests() {
    let team = Team::new("repo");
    for _ in 0..2 {
        let gateway = team.serve();
        let mut conversation = Conversation::new(&team.root);
        conversation.turn(QUESTION);
        conversation.says("And the parser?");
        conversation.send(&gateway);
        conversation.send(&gateway);
        conversation.calls("Read", &json!({"file_path": format!("{}/src/lib.rs", team.root.display())}), "1\tpub mod");
        conversation.send(&gateway);
        let mut compacting = Conversation::new(&team.root);
        compacting.turn("Where is the invoice parsed?");
        compacting.says("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the conversation so far.");
        compacting.send(&gateway);
        gateway.stop_cleanly();
    }
    let segments = team.segments();
    let hits = segments.iter().filter(|(_, record)| record["type"] == "context_hit");
    let files: Vec<&Value> = hits.map(|(_, record)| &record["files"]).collect();
    let expected = [json!(["src/parser.rs"]), json!(["src/rate_limiter.rs", "src/storage.rs"]), json!(["src/lib.rs"])];
    assert_eq!(files, expected.iter().collect::<Vec<_>>());
}

#[test]
fn records_survive_a_kill_and_wait_for_their_branch() {
    let team = Team::new("repo");
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(QUESTION);
    conversation.says("And the parser?");
    conversation.send(&gateway);
    wait_until("the records are in the spool", || team.state().contains("context_hit").then_some(()));
    gateway.kill();
    assert!(team.segments().is_empty());
    // Records in the spool do not prevent a checkout; they wait for their branch.
    team.env.git(&team.root, &["checkout", "-q", "-b", "other"]);
    team.env.git(&team.root, &["commit", "-q", "--allow-empty", "-m", "other"]);
    team.env.git(&team.root, &["checkout", "-q", "--orphan", "unrelated"]);
    team.env.git(&team.root, &["commit", "-q", "-m", "unrelated"]);
    let told = team.env.stdout_of(&team.root, &["flush"]);
    assert!(told.contains("main: ") && told.contains(" waiting until it is checked out or merged"), "{told}");
    assert!(team.segments().is_empty());
    team.env.git(&team.root, &["checkout", "-q", "other"]);
    let told = team.env.stdout_of(&team.root, &["flush"]);
    assert!(told.contains("records written:") && told.contains(".muninn/memory/sessions/session_"), "{told}");
    assert_eq!(team.segments().len(), 2);
    assert_eq!(team.env.stdout_of(&team.root, &["flush"]).trim(), "no records to write");
}

#[test]
fn without_consent_nothing_is_written_to_the_repository() {
    for memory in ["local", "off"] {
        let team = Team::new(memory);
        let gateway = team.serve();
        let mut conversation = Conversation::new(&team.root);
        conversation.turn(QUESTION);
        conversation.says("And the parser?");
        conversation.send(&gateway);
        gateway.stop_cleanly();
        assert!(team.segments().is_empty());
        assert_eq!(team.env.git(&team.root, &["status", "--porcelain"]), "", "{memory}");
        assert_eq!(team.state().contains("context_hit"), memory == "local");
    }
}

#[test]
fn remembered_text_is_recalled_until_forgotten() {
    let team = Team::new("repo");
    let said = team.env.stdout_of(
        &team.root,
        &[
            "remember",
            "Invoices over 10000 cents need a second approval ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "--file",
            "src/parser.rs",
            "--json",
        ],
    );
    let id = serde_json::from_str::<Value>(&said).unwrap()["id"].as_str().unwrap().to_owned();
    let (_, record) = team.segments().remove(0);
    assert_eq!(record["text"], "Invoices over 10000 cents need a second approval [redacted:github-token]");
    assert_eq!(record["sources"][0]["path"], "src/parser.rs");
    let missing = team.env.run(&team.root, &["remember", "x", "--file", "src/none.rs"]);
    assert_eq!(missing.status.code(), Some(4));
    let unknown = team.env.run(&team.root, &["forget", "01NOSUCHRECORD"]);
    assert_eq!(unknown.status.code(), Some(4));
    assert_eq!(record["id"], id.as_str());
}

#[test]
fn small_store_about_one_subject_answers_questions_with_other_words() {
    let team = Team::new("repo");
    let told = |arguments: &[&str]| team.env.stdout_of(&team.root, arguments);
    for text in [
        "The tax service times out after 30 seconds",
        "The tax service is retried three times",
        "The tax service needs a token",
    ] {
        told(&["remember", text]);
    }
    let recalled = told(&["recall", "Which timeout has the tax service in production?"]);
    assert!(recalled.contains("30 seconds"), "{recalled}");
    let other = ["recall", "Which colour has the login button?"];
    let nothing = team.env.run(&team.root, &other);
    assert_eq!(nothing.status.code(), Some(1), "{nothing:?}");
}

#[test]
fn receipt_shows_which_items_were_used() {
    let team = Team::new("repo");
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.says(QUESTION);
    conversation.send(&gateway);
    let newest = || {
        let all: Value = serde_json::from_str(&team.env.stdout_of(&team.root, &["why", "--json"])).unwrap();
        all.as_array().unwrap().iter().find(|receipt| receipt["outcome"] == "injected").cloned()
    };
    let first = wait_until("the receipt is written", newest);
    assert!(first["items"][0]["used"].is_null(), "{first}");
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(QUESTION);
    conversation.says("Thanks.");
    conversation.send(&gateway);
    let used = wait_until("what was used is noted", || {
        let told: Value =
            serde_json::from_str(&team.env.stdout_of(&team.root, &["why", first["id"].as_str().unwrap(), "--json"]))
                .unwrap();
        told["items"][0]["used"].is_boolean().then(|| told["items"].clone())
    });
    let used: Vec<(&str, bool)> = used
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["source"].as_str().unwrap().split(':').next().unwrap(), item["used"].as_bool().unwrap()))
        .collect();
    assert!(used.contains(&("src/rate_limiter.rs", true)), "{used:?}");
    // The last answer cites no file, so nothing was used.
    let mut asked = Conversation::of("asked once", &team.root);
    asked.says(QUESTION);
    asked.send(&gateway);
    gateway.stop_cleanly();
    let last: Value = serde_json::from_str(&team.env.stdout_of(&team.root, &["why", "--last", "--json"])).unwrap();
    assert_eq!(last["outcome"], "injected");
    assert_eq!((&last["items"][0]["used"], &last["effect"]["places_used"]), (&json!(false), &json!(0)));
}

#[test]
fn remembered_record_keeps_author_and_confidence() {
    for kind in ["learning", "pattern", "failure"] {
        let team = Team::new("repo");
        let remember = ["remember", "Retrying a torn invoice", "--type", kind, "--confidence", "0.4"];
        team.env.stdout_of(&team.root, &remember);
        let (_, record) = team.segments().remove(0);
        assert_eq!(record["confidence"], 0.4);
        let author = record["author"].as_str().unwrap().to_owned();
        assert!(!author.is_empty());
        let told = team.env.stdout_of(&team.root, &["recall", "torn invoice"]);
        assert!(told.contains(&format!("by {author}, confidence 0.4")), "{told}");
        let told = team.env.stdout_of(&team.root, &["recall", "torn invoice", "--json"]);
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["memories"][0]["author"], author.as_str());
    }
}

#[test]
fn a_memory_of_more_than_two_kilobytes_is_refused() {
    let team = Team::new("repo");
    let remember = |bytes: usize| team.env.run(&team.root, &["remember", &"w".repeat(bytes)]);
    assert!(remember(2_048).status.success());
    let refused = remember(2_049);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        told.contains("at most 2048") && told.contains(".muninn/knowledge/: `muninn knowledge new TITLE`"),
        "{told}"
    );
    assert_eq!(team.segments().len(), 1);
}

#[test]
fn files_of_init_are_not_recalled() {
    let team = Team::new("repo");
    let recalled = team.env.run(&team.root, &["recall", "what goes into this folder"]);
    assert_eq!(String::from_utf8_lossy(&recalled.stdout), "");
}

#[test]
fn every_command_takes_an_unambiguous_part_of_an_id() {
    let team = Team::new("repo");
    let remember = |text: &str| {
        let told = team.env.stdout_of(&team.root, &["remember", text, "--json"]);
        serde_json::from_str::<Value>(&told).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let ids = [remember("Invoices are in cents."), remember("Refills are lazy."), remember("Tokens are opaque.")];
    let refused = |arguments: &[&str]| {
        let output = team.env.run(&team.root, arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = refused(&["forget", &ids[0][..2]]);
    assert!(ids.iter().all(|id| error.contains(id.as_str())), "{error}");
    let alike = ["01JAAAAAAAAAAAAAAAAAAAAAA1", "01JAAAAAAAAAAAAAAAAAAAAAA2"];
    let lines = alike.map(|id| {
        format!("{{\"id\":\"{id}\",\"ts\":\"2026-01-01T00:00:00Z\",\"type\":\"learning\",\"text\":\"Fact {id}\"}}\n")
    });
    std::fs::write(team.root.join(".muninn/memory/main.jsonl"), lines.concat()).unwrap();
    for command in ["forget", "recall"] {
        let error = refused(&[command, "01jaaaaa"]);
        assert!(alike.iter().all(|id| error.contains(id)), "{error}");
    }
    let unknown = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    for (command, noun) in [("forget", "record"), ("recall", "record"), ("why", "receipt"), ("conflicts", "conflict")] {
        let error = refused(&[command, unknown]);
        let expected = format!("error: no {noun} has an id that contains `{unknown}`\nhint: ");
        assert!(error.starts_with(&expected), "{error}");
    }
    assert!(refused(&["recall", "--task", unknown]).contains("no task has an id that contains"));
    // A part without a digit is a word to `recall`.
    let digit_before = |id: &str, end: usize| id[..end].rfind(|c: char| c.is_ascii_digit()).unwrap();
    let parts = [(&ids[0], digit_before(&ids[0], 15)..26), (&ids[1], digit_before(&ids[1], 13)..25), (&ids[2], 0..26)];
    for (id, part) in parts {
        let told = team.env.stdout_of(&team.root, &["recall", &id[part.clone()].to_lowercase(), "--json"]);
        let found: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(found["memories"][0]["id"], id.as_str(), "{told}");
        let told = team.env.stdout_of(&team.root, &["forget", &id[part].to_lowercase()]);
        assert_eq!(told.trim(), format!("{id} is forgotten"));
    }
}
