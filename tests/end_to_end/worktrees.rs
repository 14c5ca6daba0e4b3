//! Several worktrees in one gateway: each conversation gets context from its own worktree only.

use std::path::{Path, PathBuf};

use muninn_tests::http::Response;
use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::spans::inserted;
use crate::stage::{FILES, QUESTION};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

/// Answers [`QUESTION`], in words that no other repository has.
fn limiter(mark: &str) -> String {
    format!(
        "//! A rate limiter.\n\npub struct TokenBucket;\n\nimpl TokenBucket {{\n    /// Lets the TokenBucket of the rate limiter refill.\n    \
         pub fn refill(&mut self) {{\n        let {mark} = 1;\n    }}\n}}\n"
    )
}

struct Scene {
    env: TestEnv,
    upstream: Upstream,
    served: PathBuf,
    gateway: Gateway,
}

impl Scene {
    /// A served repository, and `roots` around others, all of them under the environment's `repositories`.
    fn new(roots: &[&str], prepare: impl FnOnce(&TestEnv, &Path)) -> Scene {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        let served = env.repository("served", &FILES);
        prepare(&env, &served);
        let folder = env.path("repositories").canonicalize().unwrap();
        let roots: Vec<_> = roots.iter().map(|root| folder.join(root)).collect();
        env.write_config(&format!("roots = {roots:?}\n{}[context]\ndeadline_ms = 20000\n", upstream.backend("mock")));
        let gateway = env.serve(&served, &[]);
        gateway.wait_ready();
        Scene { env, upstream, served, gateway }
    }

    fn post(&self, target: &str, headers: &[(&str, &str)], body: &Value) -> (Response, Value) {
        let response = self.gateway.post(target, headers, body.to_string().as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        let receipt = muninn_tests::why(&self.env, response.request_id());
        (response, receipt)
    }

    fn ask_in(&self, session: &str, directory: &Path) -> (Response, Value) {
        let headers = [("x-session-id", session), ("x-muninn-repo", directory.to_str().unwrap())];
        self.post(CHAT, &headers, &question())
    }

    /// What was put into the newest request.
    fn added(&self, body: &Value) -> String {
        inserted(body.to_string().as_bytes(), &self.upstream.last().body).concat()
    }

    fn worktrees(&self) -> Vec<(String, String)> {
        let health = self.gateway.health();
        let shown = |worktree: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&worktree["root"]), text(&worktree["index"]["state"]))
        };
        health["worktrees"].as_array().unwrap().iter().map(shown).collect()
    }

    fn wait_indexed(&self, root: &Path) {
        let ready = (root.display().to_string(), "ready".to_owned());
        wait_until("an index of another worktree", || self.worktrees().contains(&ready).then_some(()));
    }
}

fn question() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": QUESTION}]})
}

fn two_under_one_root(env: &TestEnv, _: &Path) {
    for name in ["one", "two"] {
        drop(env.repository(&format!("code/{name}"), &[("src/limit.rs", &limiter(&format!("mark_{name}")))]));
    }
}

#[test]
fn each_repository_gets_only_its_own_context() {
    let scene = Scene::new(&["code"], two_under_one_root);
    let code = scene.env.path("repositories").canonicalize().unwrap().join("code");
    for round in ["first", "second"] {
        for (name, other) in [("one", "two"), ("two", "one")] {
            let root = code.join(name);
            let environment = format!("# Environment\n - Primary working directory: {}\n", root.display());
            let metadata = json!({"workspaces": {root.to_str().unwrap(): {}}}).to_string();
            let cases = [
                (CHAT, vec![("x-muninn-repo", root.to_str().unwrap())], question()),
                (
                    MESSAGES,
                    vec![],
                    json!({"model": "m", "messages": [{"role": "user", "content": QUESTION}, {"role": "system", "content": environment}]}),
                ),
                (
                    RESPONSES,
                    vec![("x-codex-turn-metadata", metadata.as_str())],
                    json!({"model": "m", "input": QUESTION}),
                ),
            ];
            for (target, headers, body) in cases {
                let session = format!("{round} {name} {target}");
                let headers = [&headers[..], &[("x-session-id", session.as_str())]].concat();
                let (response, receipt) = scene.post(target, &headers, &body);
                let outcome = response.outcome();
                assert!(outcome == "injected" || (round == "first" && outcome == "partial"), "{receipt}");
                assert_eq!(receipt["worktree"], root.to_str().unwrap());
                let added = scene.added(&body);
                assert!(added.contains(&format!("mark_{name}")), "{session}: {added}");
                assert!(!added.contains(&format!("mark_{other}")), "{session}: {added}");
                assert!(!added.contains("per_second"), "the served one's: {added}");
            }
            scene.wait_indexed(&root);
        }
    }
    let (_, receipt) = scene.ask_in("served", &scene.served);
    assert_eq!(receipt["worktree"], scene.served.to_str().unwrap());
    assert!(scene.added(&question()).contains("per_second"));
    assert_eq!(scene.worktrees().len(), 3);
}

#[test]
fn first_question_to_a_large_worktree_gets_the_file_that_defines_a_name() {
    let scene = Scene::new(&["code"], |env, _| {
        let line = "    let request = handle(request, invoice);\n".repeat(40);
        let mut files: Vec<(String, String)> = (0..300)
            .map(|number| (format!("src/a/part_{number:03}.rs"), format!("fn part_{number}() {{\n{line}}}\n")))
            .collect();
        let definition = "/// Settles.\npub fn settle_invoice_batch() -> u32 {\n    7\n}\n";
        files.push(("src/zz/last.rs".to_owned(), definition.to_owned()));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        drop(env.repository("code/large", &files));
    });
    let large = scene.env.path("repositories").canonicalize().unwrap().join("code/large");
    let headers = [("x-muninn-repo", large.to_str().unwrap())];
    let question = "How does settle_invoice_batch handle a request?";
    let body = json!({"model": "m", "messages": [{"role": "user", "content": question}]});
    let (response, receipt) = scene.post(CHAT, &headers, &body);
    assert_eq!(response.outcome(), "partial", "{receipt}");
    assert!(scene.added(&body).contains("src/zz/last.rs:"), "{receipt}");
    assert!(receipt["reason"].as_str().unwrap().contains("index is not ready"), "{receipt}");
}

#[test]
fn equal_openings_in_two_worktrees_share_no_block() {
    let scene = Scene::new(&["code"], two_under_one_root);
    let code = scene.env.path("repositories").canonicalize().unwrap().join("code");
    // Claude Code names its directory behind the person's words, and here no session at all.
    let turn = |name: &str, later: &[&str]| {
        let environment = format!("# Environment\n - Primary working directory: {}\n", code.join(name).display());
        let mut messages =
            vec![json!({"role": "user", "content": QUESTION}), json!({"role": "system", "content": environment})];
        for words in later {
            messages.push(json!({"role": "assistant", "content": "ok"}));
            messages.push(json!({"role": "user", "content": words}));
        }
        json!({"model": "m", "messages": messages})
    };
    for later in [vec![], vec!["thanks"], vec!["thanks", "bye"]] {
        for (name, other) in [("one", "two"), ("two", "one")] {
            let body = turn(name, &later);
            scene.post(MESSAGES, &[], &body);
            let added = scene.added(&body);
            assert!(added.contains(&format!("mark_{name}")), "{name} {later:?}: {added}");
            assert!(!added.contains(&format!("mark_{other}")), "{name} {later:?}: {added}");
        }
    }
}

#[test]
fn worktree_outside_the_roots_gets_nothing() {
    let scene = Scene::new(&["code"], |env, served| {
        two_under_one_root(env, served);
        let private = env.repository("private", &[("src/limit.rs", &limiter("mark_private"))]);
        std::os::unix::fs::symlink(&private, env.path("repositories/code/link")).unwrap();
        std::fs::create_dir(env.path("repositories/code/plain")).unwrap();
    });
    let repositories = scene.env.path("repositories").canonicalize().unwrap();
    let claims = [
        "private", "private/src", "code/link", "code/link/src", "code/one/../../private", "code/plain", "code/gone",
        "code", ".",
    ];
    for claim in claims {
        let claim = repositories.join(claim);
        let (response, receipt) = scene.ask_in(&claim.display().to_string(), &claim);
        assert_eq!(response.outcome(), "none", "{receipt}");
        assert_eq!(scene.upstream.last().text(), question().to_string());
        let reason = receipt["reason"].as_str().unwrap();
        assert!(
            reason.contains(claim.to_str().unwrap()) && reason.contains("roots = [") && reason.contains("--root"),
            "{reason}"
        );
    }
    assert_eq!(scene.worktrees().len(), 1, "and nothing was opened");
}

#[test]
fn linked_worktree_is_separate() {
    let scene = Scene::new(&["code"], |env, served| {
        std::fs::create_dir(env.path("repositories/code")).unwrap();
        let linked = env.path("repositories/code/linked");
        env.git(served, &["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
        std::fs::remove_file(linked.join("src/rate_limiter.rs")).unwrap();
        std::fs::write(linked.join("src/limit.rs"), limiter("mark_linked")).unwrap();
    });
    let linked = scene.env.path("repositories").canonicalize().unwrap().join("code/linked");
    for session in ["first", "second"] {
        let (response, receipt) = scene.ask_in(session, &linked);
        assert!(["injected", "partial"].contains(&response.outcome()), "{receipt}");
        assert_eq!(receipt["worktree"], linked.to_str().unwrap());
        let added = scene.added(&question());
        assert!(added.contains("mark_linked") && !added.contains("per_second"), "{added}");
        scene.wait_indexed(&linked);
    }
    scene.ask_in("main", &scene.served);
    let added = scene.added(&question());
    assert!(added.contains("per_second") && !added.contains("mark_linked"), "{added}");
}

#[test]
fn the_built_in_model_answers_from_the_same_worktree() {
    let scene = Scene::new(&["code"], two_under_one_root);
    let one = scene.env.path("repositories").canonicalize().unwrap().join("code/one");
    let body = json!({"model": "muninn/context", "messages": [{"role": "user", "content": QUESTION}]});
    let (response, receipt) = scene.post(CHAT, &[("x-muninn-repo", one.to_str().unwrap())], &body);
    assert!(response.text().contains("mark_one") && !response.text().contains("per_second"), "{receipt}");
    let (response, receipt) = scene.post(CHAT, &[("x-muninn-repo", "/")], &body);
    assert!(!response.text().contains("per_second"), "{}", response.text());
    assert!(receipt["reason"].as_str().unwrap().contains("roots = ["), "{receipt}");
}

#[test]
fn each_worktree_has_its_own_settings() {
    let scene = Scene::new(&["code"], |env, served| {
        two_under_one_root(env, served);
        let folder = env.path("repositories/code/two/.muninn");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "[context]\nenabled = false\n").unwrap();
    });
    let code = scene.env.path("repositories").canonicalize().unwrap().join("code");
    assert_eq!(scene.ask_in("two", &code.join("two")).0.outcome(), "off");
    assert_ne!(scene.ask_in("one", &code.join("one")).0.outcome(), "off");
    assert_eq!(scene.ask_in("served", &scene.served).0.outcome(), "injected");
}

#[test]
fn receipt_names_client_and_turn() {
    let scene = Scene::new(&[], |_, _| {});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "ok"}, {"role": "user", "content": "and then?"}]});
    let headers = [("x-claude-code-session-id", "s-1"), ("x-claude-code-agent-id", "a-7")];
    let (_, receipt) = scene.post(MESSAGES, &headers, &body);
    assert_eq!(receipt["session"], "s-1");
    assert_eq!(receipt["agent"], "a-7");
    assert_eq!(receipt["turn"], 2);
    assert_eq!(receipt.get("derived"), None);
    let said = scene.env.stdout_of(&scene.served, &["why", receipt["id"].as_str().unwrap()]);
    assert!(said.contains("a-7") && said.contains("turn"), "{said}");

    let (_, one) = scene.post(MESSAGES, &[], &body);
    let (_, two) = scene.post(MESSAGES, &[], &question());
    let (_, three) =
        scene.post(MESSAGES, &[], &json!({"model": "m", "messages": [{"role": "user", "content": "something else"}]}));
    assert!(one["derived"].is_string() && one.get("session").is_none() && one.get("agent").is_none());
    assert_eq!(one["derived"], two["derived"], "the same opening");
    assert_ne!(one["derived"], three["derived"]);
}

#[test]
fn key_restricted_to_one_worktree_sees_no_other() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let served = env.repository("served", &FILES);
    two_under_one_root(&env, &served);
    let code = env.path("repositories").canonicalize().unwrap().join("code");
    let made: Value = serde_json::from_str(&env.stdout_of(&served, &["key", "new", "ana", "--json"])).unwrap();
    env.write_config(&format!(
        "roots = [{code:?}]\n{}[context]\ndeadline_ms = 20000\n{}roots = [{:?}]\n",
        upstream.backend("mock"),
        made["toml"].as_str().unwrap(),
        code.join("one")
    ));
    let gateway = env.serve(&served, &[]);
    let ask = |directory: &Path| {
        let directory = directory.to_str().unwrap();
        let headers = [
            ("x-muninn-key", made["key"].as_str().unwrap()),
            ("x-session-id", directory),
            ("x-muninn-repo", directory),
        ];
        let response = gateway.post(CHAT, &headers, question().to_string().as_bytes());
        let receipt = muninn_tests::why(&env, response.request_id());
        (response.outcome().to_owned(), receipt)
    };
    for forbidden in [served, code.join("two")] {
        let (outcome, receipt) = ask(&forbidden);
        assert_eq!(outcome, "none", "{receipt}");
        assert_eq!(upstream.last().text(), question().to_string());
        assert!(receipt["reason"].as_str().unwrap().contains("`ana` does not allow"), "{receipt}");
    }
    let (outcome, receipt) = ask(&code.join("one"));
    assert!(["injected", "partial"].contains(&outcome.as_str()), "{receipt}");
    assert!(upstream.last().text().contains("mark_one"));
}
