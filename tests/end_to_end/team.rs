//! Two people, two clones, three branches: memory follows the code through git and blocks no git command.

use std::collections::BTreeSet;
use std::path::PathBuf;

use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::{Conversation, gather};
use crate::stage::{FILES, QUESTION};

/// A person with a clone and a gateway that learns.
struct Desk {
    name: &'static str,
    env: TestEnv,
    upstream: Upstream,
    root: PathBuf,
    gateway: Gateway,
}

impl Desk {
    fn clone_of(origin: &str, name: &'static str) -> Desk {
        let env = TestEnv::new(MUNINN);
        let upstream = Upstream::start();
        env.connect(&upstream);
        let home = env.path("repositories");
        env.git(&home, &["clone", "--quiet", origin, name]);
        let root = home.join(name).canonicalize().unwrap();
        let gateway = env.serve(&root, &[]);
        gateway.wait_ready();
        Desk { name, env, upstream, root, gateway }
    }

    /// Runs git, which must succeed whatever the gateway is doing.
    fn git(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        self.env.git(&self.root, &arguments)
    }

    fn commit(&self, message: &str) {
        self.git("add --all");
        self.env.git(&self.root, &["commit", "--quiet", "--message", message]);
    }

    fn remember(&self, fact: &str) {
        self.env.stdout_of(&self.root, &["remember", fact]);
    }

    fn flush(&self) {
        self.env.stdout_of(&self.root, &["flush"]);
    }

    /// An agent edits a file for a question, and the gateway has learned it.
    fn work(&self, session: &str, question: &str, file: &str) {
        let path = self.root.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}// {session}\n")).unwrap();
        let learned = || {
            let mut text = String::new();
            gather(&self.env.state_dir().join("memory"), &mut text);
            text.matches("context_hit").count()
        };
        let before = learned();
        let mut conversation = Conversation::of(session, &self.root);
        conversation.says(question);
        conversation.calls("Edit", &json!({"file_path": path, "old_string": "x", "new_string": "y"}), "ok");
        conversation.answers("Done.");
        conversation.says("Thank you.");
        conversation.send(&self.gateway);
        wait_until("what was done is learned", || (learned() > before).then_some(()));
    }

    /// What is recalled here now: facts by their words, and files that mattered.
    fn recalls(&self, step: &str) -> BTreeSet<String> {
        let told = self
            .env
            .run(&self.root, &["recall", "--json", "--limit", "100", "--type", "learning", "--type", "context_hit"]);
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        let label = |memory: &Value| {
            let text = memory["text"].as_str().unwrap();
            text.lines().find_map(|line| line.strip_prefix("files: ")).unwrap_or(text).to_owned()
        };
        let recalled: BTreeSet<String> = told["memories"].as_array().unwrap().iter().map(label).collect();
        let branch = self.git("branch --show-current");
        println!("{step:<44} {:<4} {:<6} {recalled:?}", self.name, branch.trim());
        recalled
    }

    /// What the backend is sent for a question.
    fn asks(&self, session: &str, question: &str) -> String {
        let mut conversation = Conversation::of(session, &self.root);
        conversation.says(question);
        conversation.send(&self.gateway);
        self.upstream.requests().pop().unwrap().text()
    }
}

const RETRY: &str = "Retries wait twice as long each time";
const CACHE: &str = "The invoice cache is cleared at midnight";
const LIMITER: &str = "src/rate_limiter.rs";
const STORAGE: &str = "src/storage.rs";

fn set(labels: &[&str]) -> BTreeSet<String> {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

#[test]
fn memory_branches_merges_and_reverts_with_the_code() {
    let shared = TestEnv::new(MUNINN);
    let first = shared.repository("first", &FILES);
    shared.stdout_of(&first, &["init", "--memory", "repo"]);
    shared.git(&first, &["add", "--all"]);
    shared.git(&first, &["commit", "--quiet", "--message", "muninn"]);
    shared.git(&shared.path("repositories"), &["clone", "--quiet", "--bare", "first", "origin"]);
    let origin = shared.path("repositories").join("origin").display().to_string();
    let (ada, ben) = (Desk::clone_of(&origin, "ada"), Desk::clone_of(&origin, "ben"));

    ada.git("checkout --quiet -b retry");
    ada.remember(RETRY);
    ada.work("retrying", QUESTION, LIMITER);
    assert_eq!(ada.recalls("learned on a branch"), set(&[RETRY, LIMITER]));
    // Records in the spool and a dirty worktree block no git command.
    ada.git("stash --quiet --include-untracked");
    ada.git("checkout --quiet main");
    assert_eq!(ada.recalls("elsewhere, before it is merged"), set(&[]));
    ada.git("checkout --quiet retry");
    ada.git("stash pop --quiet");
    assert_eq!(ada.recalls("and back"), set(&[RETRY, LIMITER]));
    ada.flush();
    ada.commit("retry");

    ben.git("checkout --quiet -b cache");
    ben.remember(CACHE);
    ben.work("caching", "Where does the InvoiceStore archive an invoice?", STORAGE);
    ben.flush();
    ben.commit("cache");
    assert_eq!(ben.recalls("learned by another"), set(&[CACHE, STORAGE]));

    ada.git("checkout --quiet main");
    std::fs::write(ada.root.join("NOTES.md"), "moved on\n").unwrap();
    ada.commit("main moves on");
    ada.git("checkout --quiet retry");
    ada.work("retrying more", QUESTION, LIMITER);
    ada.git("stash --quiet");
    ada.git("rebase --quiet main");
    ada.git("stash pop --quiet");
    assert_eq!(ada.recalls("rebased"), set(&[RETRY, LIMITER]));
    ada.flush();
    ada.commit("retry more");
    ada.git("checkout --quiet main");
    ada.git("merge --quiet --no-ff --no-edit retry");
    ada.git("push --quiet origin main");
    assert_eq!(ada.recalls("merged: her own, though not reconciled"), set(&[RETRY, LIMITER]));

    ben.git("checkout --quiet main");
    ben.work("on main", "What does the parser do with a negative total?", "src/parser.rs");
    ben.git("stash --quiet");
    ben.git("pull --quiet --rebase");
    ben.git("stash pop --quiet");
    assert_eq!(
        ben.recalls("pulled: what others stated is recalled, and what they learned waits to be reconciled"),
        set(&["src/parser.rs", RETRY])
    );
    ben.flush();
    ben.commit("parser");
    ben.git("merge --quiet --no-ff --no-edit cache");
    ben.git("push --quiet origin main");
    assert_eq!(ben.recalls("merged"), set(&[CACHE, STORAGE, "src/parser.rs", RETRY]));

    ada.git("pull --quiet --rebase");
    assert_eq!(ada.recalls("pulled"), set(&[RETRY, LIMITER, CACHE]));
    ada.git("checkout --quiet -b both");
    let all = set(&[RETRY, LIMITER, CACHE, STORAGE, "src/parser.rs"]);
    assert_eq!(ada.recalls("a third branch has all segments"), all);
    let question = "When is the invoice cache cleared?";
    assert!(ada.asks("before", question).contains(CACHE), "and so has the prompt");

    ben.git("revert --no-edit -m 1 HEAD");
    ben.git("push --quiet origin main");
    assert_eq!(ben.recalls("the merge is reverted"), set(&["src/parser.rs", RETRY]));
    ada.git("checkout --quiet main");
    ada.git("pull --quiet --rebase");
    ada.git("checkout --quiet -b after");
    assert_eq!(ada.recalls("and what came with it is gone"), set(&[RETRY, LIMITER, "src/parser.rs"]));
    assert!(!ada.asks("after", question).contains(CACHE));
    for desk in [&ada, &ben] {
        assert_eq!(desk.git("status --porcelain"), "");
    }
}
