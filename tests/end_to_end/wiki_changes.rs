//! Changes of wiki pages: by commands and by the tools of MCP clients; and the digest in prompts.

use std::path::{Path, PathBuf};
use std::process::Output;

use muninn_tests::TestEnv;
use serde_json::{Value, json};

use crate::MUNINN;
use crate::learning::Team;
use crate::mcp::{ALONE, Client};
use crate::stage::{FILES, QUESTION};

fn write(root: &Path, page: &str, text: &str) {
    let file = root.join(".muninn/knowledge").join(page);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn read(root: &Path, page: &str) -> String {
    std::fs::read_to_string(root.join(".muninn/knowledge").join(page)).unwrap()
}

fn team() -> (TestEnv, PathBuf) {
    let env = TestEnv::new(MUNINN);
    env.write_config(ALONE);
    let root = env.repository("demo", &FILES);
    write(&root, "http/errors.md", "---\n# reviewed in May\ndomain: http\n---\n# Errors\nSee [[money]].\n");
    write(&root, "money.md", "# Money\nAmounts are integers. [errors](http/errors.md)\n");
    (env, root)
}

fn wiki(env: &TestEnv, root: &Path, arguments: &[&str]) -> Output {
    env.run(root, &[&["wiki"], arguments].concat())
}

fn json_of(env: &TestEnv, root: &Path, arguments: &[&str]) -> Value {
    let output = wiki(env, root, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn commands_create_change_move_find_and_delete_pages() {
    let (env, root) = team();
    wiki(&env, &root, &["new", "http/retries"]);
    assert_eq!(read(&root, "http/retries.md"), "# retries\n");
    let draft = env.path("draft.md");
    std::fs::write(&draft, "Retries of [[http/errors]] double.\n").unwrap();
    let draft = draft.display().to_string();
    assert!(!wiki(&env, &root, &["new", "HTTP/Retries", "--from", &draft]).status.success());
    let etag = json_of(&env, &root, &["show", "http/errors"])["etag"].clone();
    let edit = |etag: &str| wiki(&env, &root, &["edit", "http/errors", "--from", &draft, "--etag", etag]);
    assert!(edit(etag.as_str().unwrap()).status.success());
    let kept = "---\n# reviewed in May\ndomain: http\n---\nRetries of [[http/errors]] double.\n";
    assert_eq!(read(&root, "http/errors.md"), kept);
    let refused = edit(etag.as_str().unwrap());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("was changed since it was read"), "{refused:?}");
    let moved = json_of(&env, &root, &["mv", "http/errors", "codes"]);
    assert_eq!(moved["rewritten"], json!(["codes", "money"]));
    assert_eq!(read(&root, "money.md"), "# Money\nAmounts are integers. [errors](codes.md)\n");
    let set = ["edit", "codes", "--set", "owner=ann", "--set", "tags=[1, true]", "--set", "domain="];
    assert!(wiki(&env, &root, &set).status.success());
    let shown = json_of(&env, &root, &["show", "codes"]);
    assert_eq!(shown["frontmatter"], json!({"owner": "ann", "tags": [1, true]}));
    assert!(read(&root, "codes.md").starts_with("---\n# reviewed in May\nowner: ann\ntags: [1, true]\n---\n"));
    let shown = wiki(&env, &root, &["show", "codes"]).stdout;
    assert!(String::from_utf8_lossy(&shown).contains("\nowner      ann\ntags       1, true\n"));
    assert_eq!(wiki(&env, &root, &["edit", "codes", "--set", "a:b=1"]).status.code(), Some(2));
    let found = json_of(&env, &root, &["search", "retries", "double"]);
    assert_eq!(found[0], json!({"path": "codes", "title": "codes", "snippet": "Retries of [[codes]] double."}));
    let deleted = json_of(&env, &root, &["rm", "codes"]);
    assert_eq!(deleted["broken"], json!([{"page": "money", "target": "codes.md"}]));
    let kept = deleted["trash"].as_str().unwrap();
    assert!(std::fs::read_to_string(kept).unwrap().contains("double"));
    assert_eq!(wiki(&env, &root, &["rm", "codes"]).status.code(), Some(4));
    assert_eq!(wiki(&env, &root, &["new", "../x"]).status.code(), Some(2));
    assert_eq!(wiki(&env, &root, &["edit", "money"]).status.code(), Some(2), "no editor and no terminal");
}

#[cfg(unix)]
#[test]
fn link_in_the_repository_leads_to_no_other_folder() {
    let (env, root) = team();
    let outside = env.path("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("diary.md"), "private").unwrap();
    std::fs::remove_dir_all(root.join(".muninn/knowledge")).unwrap();
    std::os::unix::fs::symlink(&outside, root.join(".muninn/knowledge")).unwrap();
    assert_eq!(wiki(&env, &root, &["list"]).status.code(), Some(4));
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "wiki"]);
    });
    let (result, text) = client.call("get_page", &json!({"path": "diary"}));
    assert!(result["isError"] == true && !text.contains("private"), "{text}");
}

#[test]
fn settings_choose_another_folder_and_the_digest() {
    let (env, root) = team();
    env.write_config("[wiki]\npath = \"docs\"\n[wiki.digest]\nstopwords_extra = [\"TODO\"]\ncloud_size = 2\n");
    std::fs::create_dir(root.join("docs")).unwrap();
    std::fs::write(root.join("docs/a.md"), "todo todo todo alpha alpha beta").unwrap();
    let digest = json_of(&env, &root, &["digest"]);
    assert_eq!((&digest["page_count"], digest["cloud"].as_array().unwrap().len()), (&json!(1), 2));
    assert_eq!(digest["cloud"][0], json!({"term": "alpha", "count": 2}));
    env.write_config("[wiki]\npath = \"../elsewhere\"\n");
    assert_eq!(wiki(&env, &root, &["list"]).status.code(), Some(4));
}

#[test]
fn client_reads_the_digest_and_changes_pages() {
    let (env, root) = team();
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "wiki"]);
    });
    let mut call = |tool: &str, arguments: Value| {
        let (result, text) = client.call(tool, &arguments);
        (result["isError"] == true, result["structuredContent"].clone(), text)
    };
    let digest = call("get_wiki_digest", json!({})).1;
    assert_eq!(digest["page_count"], 2);
    assert!(digest["markdown"].as_str().unwrap().starts_with("This wiki contains 2 pages across 1 area."));
    let created =
        call("create_page", json!({"path": "plans/v2", "content": "# V2\nOf [[money]] and [[http/errors]].\n"}));
    assert!(!created.0, "{created:?}");
    assert!(call("create_page", json!({"path": "plans/V2", "content": "x"})).0);
    let page = call("get_page", json!({"path": "money"})).1;
    assert_eq!(page["backlinks"], json!(["http/errors", "plans/v2"]));
    let update = json!({"path": "money", "content": "# Money\nNew.\n", "etag": page["etag"]});
    assert!(!call("update_page", update.clone()).0);
    let refused = call("update_page", update);
    assert!(refused.0 && refused.2.contains("read it again with `get_page`"), "{refused:?}");
    let moved = call("move_page", json!({"from": "money", "to": "rules/amounts"})).1;
    assert_eq!(moved["rewritten"], json!(["http/errors", "plans/v2"]));
    let backlinks = call("get_backlinks", json!({"path": "rules/amounts"})).1;
    assert_eq!(backlinks["pages"][1]["path"], "plans/v2");
    assert_eq!(read(&root, "plans/v2.md"), "# V2\nOf [[rules/amounts]] and [[http/errors]].\n");
    let found = call("search_pages", json!({"query": "money"})).1;
    assert_eq!(found["pages"][0]["path"], "rules/amounts");
    let listed = call("list_pages", json!({"prefix": "plans/"})).1;
    assert_eq!(listed["pages"].as_array().unwrap().len(), 1);
    let context = call("get_wiki_context", json!({})).1;
    assert_eq!(context["top_level_dirs"], json!(["http", "plans", "rules"]));
    assert_eq!(context["recents"][0], "rules/amounts");
    let deleted = call("delete_page", json!({"path": "plans/v2"})).1;
    assert!(deleted["trash"].is_string());
    let long = format!("\n    indented\n{}\r\n\n", "line\n".repeat(4_000));
    assert!(!call("create_page", json!({"path": "long", "content": long})).0);
    assert_eq!(read(&root, "long.md"), long, "byte for byte");
    assert!(!call("update_page", json!({"path": "long", "content": ""})).0);
    assert_eq!(read(&root, "long.md"), "");
    let front = call("get_page", json!({"path": "http/errors"})).1;
    assert_eq!(front["frontmatter"], json!({"domain": "http"}));
    for values in [json!({"reviewed": 2026, "domain": null}), json!("{\"owner\": \"ann\"}")] {
        let changed = call("update_page", json!({"path": "http/errors", "frontmatter": values}));
        assert!(!changed.0, "{changed:?}");
    }
    let front = "---\n# reviewed in May\nreviewed: 2026\nowner: ann\n---\n# Errors\n";
    assert!(read(&root, "http/errors.md").starts_with(front));
    assert!(call("update_page", json!({"path": "http/errors"})).0, "nothing to change");
}

#[test]
fn each_page_of_the_chosen_folder_is_a_resource() {
    let (env, root) = team();
    env.write_config(&format!("{ALONE}[wiki]\npath = \"docs\"\n"));
    std::fs::create_dir_all(root.join("docs/größe")).unwrap();
    std::fs::write(root.join("docs/größe/a.md"), "---\na: 1\n---\n# A\n").unwrap();
    let mut client = Client::start(&env, &root, |_| {});
    let listed = client.request("resources/list", &json!({}));
    let listed = listed["result"]["resources"].as_array().unwrap();
    let pages: Vec<_> = listed.iter().filter(|page| page["uri"].as_str().unwrap().starts_with("muninn:")).collect();
    assert_eq!(pages.len(), 1, "{listed:?}");
    let address = pages[0]["uri"].clone();
    let page = client.request("resources/read", &json!({"uri": address}));
    assert_eq!(page["result"]["contents"][0]["text"], "---\na: 1\n---\n# A\n", "{page}");
    let outside = json!({"uri": "muninn://knowledge/../README.md"});
    assert!(client.request("resources/read", &outside)["error"].is_object());
}

#[test]
fn terms_are_kept_for_the_next_process_and_damaged_state_is_made_anew() {
    let (env, root) = team();
    let digest = || json_of(&env, &root, &["digest"]);
    let first = digest();
    write(&root, "new.md", "zebra zebra zebra zebra zebra\n");
    let second = digest();
    assert_eq!(second["page_count"], 3);
    assert_eq!(second["cloud"], first["cloud"], "counted less than five minutes ago");
    json_of(&env, &root, &["show", "money"]);
    let mut damaged = 0;
    for entry in std::fs::read_dir(env.state_dir().join("wiki")).unwrap() {
        for name in ["frequent-terms.json", "recents.json"] {
            let file = entry.as_ref().unwrap().path().join(name);
            damaged += usize::from(file.exists());
            std::fs::write(file, "{").unwrap();
        }
    }
    assert_eq!(damaged, 2);
    let third = wiki(&env, &root, &["digest", "--json"]);
    let warning = String::from_utf8_lossy(&third.stderr).into_owned();
    assert!(warning.contains("the terms are counted again") && warning.contains("are forgotten"), "{warning}");
    let third: Value = serde_json::from_slice(&third.stdout).unwrap();
    assert_eq!((&third["cloud"][0]["term"], &third["recents"]), (&json!("zebra"), &json!([])));
    json_of(&env, &root, &["show", "money"]);
    assert_eq!(digest()["recents"], json!(["money"]));
}

#[test]
fn long_page_is_shown_in_part_and_not_replaced() {
    let (env, root) = team();
    write(&root, "long.md", &"one line of text\n".repeat(4_000));
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "get_page,update_page"]);
    });
    let (result, _) = client.call("get_page", &json!({"path": "long"}));
    let page = &result["structuredContent"];
    assert!(page["cut"].as_str().unwrap().contains("of 68000 bytes are shown"), "{page}");
    let (result, text) = client.call("update_page", &json!({"path": "long", "content": page["body"]}));
    assert!(result["isError"] == true && text.contains("edit its file"), "{text}");
    assert_eq!(read(&root, "long.md").len(), 68_000);
}

/// The digest in the first block of a conversation.
fn first_block(config: &str, pages: usize) -> (String, Value) {
    let team = Team::with("repo", config);
    for number in 0..pages {
        write(&team.root, &format!("area/page{number}.md"), "# Ledger rules\nReplay the ledger.\n");
    }
    let gateway = team.serve();
    let tool = json!({"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}});
    let messages = json!([{"role": "user", "content": QUESTION}]);
    let body = json!({"model": "m", "tools": [tool], "messages": messages}).to_string();
    let response = gateway.post("/v1/chat/completions", &[("x-session-id", "s")], body.as_bytes());
    let receipt = muninn_tests::why(&team.env, response.request_id());
    (team.upstream.last().text(), receipt)
}

#[test]
fn digest_is_in_the_first_block_of_a_conversation_if_there_are_five_pages() {
    let (sent, receipt) = first_block("", 5);
    assert!(sent.contains("This wiki contains 5 pages across 1 area."), "{sent}");
    assert_eq!(receipt["preamble"][0]["part"], "wiki");
    for (config, pages, expected) in [
        ("", 4, false),
        ("[wiki]\ndigest_in_prompt = \"always\"\n", 1, true),
        ("[wiki]\ndigest_in_prompt = \"never\"\n", 5, false),
    ] {
        let (sent, _) = first_block(config, pages);
        assert_eq!(sent.contains("This wiki contains"), expected, "{config} {pages}");
    }
}
