//! The git journals of several clones: their entries meet, and two overviews are merged by a person or a model.

use std::path::{Path, PathBuf};

use muninn_tests::{Reply, TestEnv, Upstream, git};
use serde_json::{Value, json};

use crate::journal::{journal, json_of, repository};
use crate::mcp::{ALONE, Client};
use crate::summarizer::completion;

/// Two clones of one remote, each with a user of its own.
fn clones() -> (TestEnv, PathBuf, PathBuf, PathBuf) {
    let (env, root) = repository();
    let remote = env.path("remote.git");
    git(&root, &["clone", "--quiet", "--bare", ".", remote.to_str().unwrap()]).unwrap();
    git(&root, &["remote", "add", "origin", remote.to_str().unwrap()]).unwrap();
    let other = env.path("other");
    git(&root, &["clone", "--quiet", remote.to_str().unwrap(), other.to_str().unwrap()]).unwrap();
    (env, root, other, remote)
}

#[test]
fn clones_exchange_entries_and_settle_two_overviews() {
    let (env, one, two, _) = clones();
    let overview = env.path("overview.md");
    let write = |root: &Path, entry: &str, text: &str| {
        std::fs::write(&overview, text).unwrap();
        let version = json_of(&env, root, &["read", "area"])["version"].clone();
        let arguments = ["write", "area", "--entry", entry, "--version", version.as_str().unwrap()];
        json_of(&env, root, &[&arguments[..], &["--overview", overview.to_str().unwrap()]].concat())
    };
    let empty = json_of(&env, &one, &["sync"]);
    assert_eq!(empty, json!({"received": 0, "moved": 0, "pushed": false, "conflicts": []}));
    write(&one, "begins", "common");
    assert_eq!(json_of(&env, &one, &["push"])["pushed"], true);
    assert_eq!(json_of(&env, &two, &["fetch"])["received"], 1);
    let mine = write(&one, "of one", "overview of one");
    write(&two, "of two", "overview of two");
    assert_eq!(json_of(&env, &two, &["sync"])["pushed"], true);
    let refused = journal(&env, &one, &["push"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("muninn journal sync"), "{refused:?}");
    let synced = json_of(&env, &one, &["sync"]);
    assert_eq!(synced, json!({"received": 1, "moved": 1, "pushed": true, "conflicts": ["area"]}));
    let read = json_of(&env, &one, &["read", "area"]);
    assert_eq!((&read["overview"], &read["entry_count"]), (&json!("overview of two"), &json!(3)));
    assert_eq!(read["conflict"], json!({"other": "overview of one", "base": "common"}));
    assert_eq!(json_of(&env, &one, &["read", mine["id"].as_str().unwrap()])["content"], "of one");
    json_of(&env, &two, &["sync"]);
    let shown = env.stdout_of(&two, &["journal", "read", "area"]);
    assert!(shown.contains("overview of one\n\n--- both come from\n\ncommon\n"), "{shown}");
    write(&two, "settles", "overview of both");
    json_of(&env, &two, &["sync"]);
    json_of(&env, &one, &["sync"]);
    for root in [&one, &two] {
        let read = json_of(&env, root, &["read", "area"]);
        assert_eq!((&read["overview"], read.get("conflict")), (&json!("overview of both"), None));
        assert_eq!(git(root, &["status", "--porcelain"]).unwrap(), "");
    }
    let graph = git(&one, &["log", "--graph", "--format=%s", "refs/muninn/journal"]).unwrap();
    assert_eq!(graph.lines().count(), 4, "{graph}");
    assert!(!graph.contains('|'), "one line of commits: {graph}");
}

#[test]
fn remote_that_refuses_the_ref_or_is_none_is_an_error() {
    let (env, one, _, remote) = clones();
    json_of(&env, &one, &["write", "a", "--entry", "x", "--version", "new"]);
    git(&remote, &["config", "receive.hideRefs", "refs/muninn"]).unwrap();
    let refused = journal(&env, &one, &["sync"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && told.contains("must accept refs/muninn/journal"), "{told}");
    for remote in ["nowhere", "--upload-pack=touch /tmp/x", ""] {
        assert_eq!(journal(&env, &one, &["sync", "--", remote]).status.code(), Some(1), "{remote}");
    }
    // A hook of the repository does not run.
    let hook = one.join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\ntouch hook-ran\nexit 1\n").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(&remote, &["config", "--unset", "receive.hideRefs"]).unwrap();
    assert_eq!(json_of(&env, &one, &["sync"])["pushed"], true);
    assert!(!one.join("hook-ran").exists());
}

/// A section with two overviews, in the first clone.
fn with_two_overviews() -> (TestEnv, PathBuf, PathBuf) {
    let (env, one, two, _) = clones();
    let overview = env.path("overview.md");
    let write = |root: &Path, text: &str| {
        std::fs::write(&overview, text).unwrap();
        let version = json_of(&env, root, &["read", "area"])["version"].clone();
        let version = version.as_str().unwrap().to_owned();
        let arguments = ["write", "area", "--entry", text, "--version", &version, "--overview"];
        json_of(&env, root, &[&arguments[..], &[overview.to_str().unwrap()]].concat());
    };
    write(&one, "Limits:\n- ten a second\n- none at night\n");
    json_of(&env, &one, &["sync"]);
    json_of(&env, &two, &["sync"]);
    write(&one, "Limits:\n- twenty a second\n- none at night\n");
    write(&two, "Limits:\n- ten a second\n- none at night\n- one a day for guests\n");
    json_of(&env, &two, &["sync"]);
    assert_eq!(json_of(&env, &one, &["sync"])["conflicts"], json!(["area"]));
    (env, one, overview)
}

#[test]
fn person_or_calling_model_merges_two_overviews() {
    let (env, root, overview) = with_two_overviews();
    let merged = "Limits:\n- twenty a second\n- none at night\n- one a day for guests";
    let shown = env.stdout_of(&root, &["journal", "resolve", "area"]);
    assert_eq!(shown.trim_end(), merged, "changes of different lines merge");
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "journal"]);
    });
    let arguments = json!({"section": "area", "work_context": "limits"});
    let (sides, _) = client.call("journal_synthesize_conflict", &arguments);
    let sides = &sides["structuredContent"];
    let base = "Limits:\n- ten a second\n- none at night";
    assert_eq!((&sides["merge_base"], sides["three_way"].as_str().map(str::trim_end)), (&json!(base), Some(merged)));
    assert!(sides["instructions"].as_str().unwrap().contains("journal_write"), "{sides}");
    let write = json!({"path": "area", "entry": "Merged.", "overview": merged, "version": sides["version"]});
    client.call("journal_write", &write);
    let read = json_of(&env, &root, &["read", "area"]);
    assert_eq!((&read["overview"], read.get("conflict")), (&json!(merged), None));
    std::fs::write(&overview, merged).unwrap();
    let again = journal(&env, &root, &["resolve", "area", "--overview", overview.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing to merge"), "{again:?}");

    let (env, root, overview) = with_two_overviews();
    std::fs::write(&overview, merged).unwrap();
    json_of(&env, &root, &["resolve", "area", "--overview", overview.to_str().unwrap()]);
    assert!(json_of(&env, &root, &["read", "area"]).get("conflict").is_none());
    let unasked = journal(&env, &root, &["resolve", "area", "--ask-model"]);
    assert_eq!(unasked.status.code(), Some(2));
}

#[test]
fn configured_model_merges_two_overviews_at_a_cost_on_a_receipt() {
    let (env, root, _) = with_two_overviews();
    let answer = "```markdown\nLimits: all of them.\n```";
    let model = Upstream::start_with(move |_| Reply::json(200, completion(answer, 321)));
    let settings = "[journal]\nbackend = \"mock\"\nmodel = \"small\"\n";
    env.write_config(&format!("{}{ALONE}{settings}", model.backend("mock")));
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "journal"]);
    });
    assert!(model.requests().is_empty());
    let (merged, text) = client.call("journal_synthesize_conflict", &json!({"section": "area"}));
    assert_eq!(merged["structuredContent"]["overview"], "Limits: all of them.", "{text}");
    let asked = model.last().text();
    assert!(asked.contains("one a day for guests") && asked.contains("twenty a second"), "{asked}");
    let read = json_of(&env, &root, &["read", "area"]);
    assert_eq!((&read["overview"], read.get("conflict")), (&json!("Limits: all of them."), None));
    drop(client);
    let receipts: Value = serde_json::from_str(&env.stdout_of(&root, &["why", "--json"])).unwrap();
    let reason = receipts.to_string();
    assert!(reason.contains("merged two overviews of area: 321 + "), "{reason}");
}

#[test]
fn shallow_and_partial_clones_have_the_whole_journal() {
    let (env, one, _, remote) = clones();
    for number in 0..3 {
        let version = json_of(&env, &one, &["read", "area"])["version"].clone();
        let overview = env.path("overview.md");
        std::fs::write(&overview, format!("overview {number}")).unwrap();
        let write = ["write", "area", "--entry", "x", "--overview", overview.to_str().unwrap(), "--version"];
        json_of(&env, &one, &[&write[..], &[version.as_str().unwrap()]].concat());
    }
    json_of(&env, &one, &["sync"]);
    git(&remote, &["config", "uploadpack.allowFilter", "true"]).unwrap();
    for (name, how) in [("shallow", "--depth=1"), ("partial", "--filter=blob:none")] {
        let root = env.path(name);
        let address = format!("file://{}", remote.display());
        git(remote.parent().unwrap(), &["clone", "--quiet", "--no-checkout", how, &address, root.to_str().unwrap()])
            .unwrap();
        let synced = json_of(&env, &root, &["sync"]);
        let read = json_of(&env, &root, &["read", "area"]);
        assert_eq!((&read["overview"], &read["entry_count"]), (&json!("overview 2"), &synced["received"]), "{name}");
        let version = read["version"].as_str().unwrap();
        json_of(&env, &root, &["write", "area", "--entry", name, "--version", version]);
        assert_eq!(json_of(&env, &root, &["sync"])["pushed"], true, "{name}");
        json_of(&env, &one, &["sync"]);
        let listed = json_of(&env, &one, &["list", "area", "--length", "1"]);
        assert_eq!(listed[0]["summary"], name);
    }
}
