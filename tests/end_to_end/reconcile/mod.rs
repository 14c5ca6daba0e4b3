//! Team chores with real git: reconcile, and merges.

mod agent;
mod conflicts;
mod folds;

use std::path::{Path, PathBuf};

use muninn_tests::{TestEnv, git};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::FILES;

pub(crate) struct Team {
    pub(crate) env: TestEnv,
    pub(crate) root: PathBuf,
}

impl Team {
    pub(crate) fn new() -> Team {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        let team = Team { env, root };
        team.muninn(&["init", "--memory", "repo"]);
        team.commit("muninn");
        team
    }

    pub(crate) fn muninn(&self, arguments: &[&str]) -> String {
        self.env.stdout_of(&self.root, arguments)
    }

    pub(crate) fn git(&self, arguments: &str) -> String {
        self.env.git(&self.root, &arguments.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git("add --all");
        self.env.git(&self.root, &["commit", "--quiet", "--message", message]);
    }

    /// Remembers facts on a new branch from main.
    pub(crate) fn branch(&self, name: &str, facts: &[&str]) {
        self.git("checkout --quiet main");
        self.git(&format!("checkout --quiet -b {name}"));
        for fact in facts {
            self.muninn(&["remember", fact]);
        }
        self.commit(name);
    }

    fn reconcile(&self, arguments: &[&str]) -> String {
        let told = self.muninn(&[&["reconcile"], arguments].concat());
        self.commit("reconciled");
        told.trim().to_owned()
    }

    fn conflicts(&self) -> Vec<Value> {
        let told: Value = serde_json::from_str(&self.muninn(&["conflicts", "--json"])).unwrap();
        told["conflicts"].as_array().unwrap().clone()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.root.join(".muninn/memory").join(name)).unwrap_or_default()
    }
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

const BACKOFF: &str = "The retry queue uses jitter";
const NO_BACKOFF: &str = "The retry queue does not use jitter";
const DOCKER: &str = "Integration tests need docker";
const DOCKER_TOO: &str = "Integration tests need docker.";

#[test]
fn patterns_about_the_same_files_fold_or_wait_for_a_person() {
    let team = Team::new();
    let about = |texts: &[&str], branch: &str, files: [&str; 2]| {
        team.git("checkout --quiet main");
        team.git(&format!("checkout --quiet -b {branch}"));
        for text in texts {
            team.muninn(&["remember", text, "--type", "pattern", "--file", files[0], "--file", files[1]]);
        }
        team.commit(branch);
    };
    let [one, other] = [FILES[0].0, FILES[1].0];
    about(&["Changes come together", "Jitter is used in both"], "ada", [one, other]);
    about(&["Changes come together.", "Jitter is not used in both"], "ben", [other, one]);
    about(&["Changes come together"], "eve", [one, one]);
    team.git("checkout --quiet main");
    for branch in ["ada", "ben", "eve"] {
        team.git(&format!("merge --quiet --no-edit {branch}"));
    }
    assert_eq!(team.reconcile(&[]), "5 memories consolidated, 1 duplicate removed, 1 undecided pair");
    let told: Value = serde_json::from_str(&team.muninn(&["recall", "which changes come together", "--json"])).unwrap();
    let recalled = told["memories"].as_array().unwrap().iter();
    let of_both = recalled.filter(|memory| memory["text"].as_str().unwrap().starts_with("Changes"));
    assert_eq!(of_both.count(), 2, "of one of the files alone it is another: {told}");
    let open = team.conflicts();
    assert_eq!(open[0]["sides"][0]["text"], "Jitter is used in both");
    let mut entities = [one, other];
    entities.sort_unstable();
    let mut named: Vec<&str> =
        open[0]["sides"][1]["entities"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    named.sort_unstable();
    assert_eq!(named, entities);
    let id = team.conflicts()[0]["id"].as_str().unwrap().to_owned();
    assert!(team.muninn(&["conflicts", &id]).contains(&format!("about      {one}, {other}")));
}

#[test]
fn notes_of_a_branch_are_one_file_and_are_recalled_once_merged() {
    let team = Team::new();
    let segments =
        || team.git("ls-files .muninn/memory/sessions").lines().filter(|path| path.contains("session_")).count();
    team.branch("ada", &["The importer reads CSV", "The exporter writes XML", "The parser is strict"]);
    assert_eq!(segments(), 1, "one file for three notes");
    // A committed segment is not written again.
    team.muninn(&["remember", "The linter runs in CI"]);
    team.muninn(&["remember", "The docs are built nightly"]);
    team.commit("more");
    assert_eq!(segments(), 2);
    let told = team.muninn(&["reconcile", "--squash-sessions"]);
    assert!(told.starts_with("2 files combined into .muninn/memory/sessions/session_"), "{told}");
    team.commit("squashed");
    assert_eq!(segments(), 1);
    assert_eq!(team.muninn(&["reconcile", "--squash-sessions"]).trim(), "there are no files to combine");
    // A teammate without these sessions recalls the notes on the default branch, before anybody reconciles.
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    let mate = Team { env: TestEnv::new(MUNINN), root: copied(&team.root, &team.env.path("mate")) };
    let recalled = mate.muninn(&["recall", "which format does the importer read"]);
    assert!(recalled.contains("The importer reads CSV"), "{recalled}");
    assert_eq!(mate.reconcile(&[]), "5 memories consolidated, 0 duplicates removed, 0 undecided pairs");
}

#[test]
fn superseded_record_is_recalled_with_its_period() {
    let team = Team::new();
    let main = r#"{"id":"01A","ts":"2026-01-01T00:00:00Z","type":"learning","text":"the port is 8000"}
{"id":"01B","ts":"2026-02-01T00:00:00Z","type":"learning","text":"the port is 9000"}
{"id":"01C","ts":"2026-02-01T00:00:00Z","type":"supersedes","older":"01A","newer":"01B","since":"2026-02-01T00:00:00Z"}
"#;
    std::fs::write(team.root.join(".muninn/memory/main.jsonl"), main).unwrap();
    let now = team.muninn(&["recall", "which port"]);
    assert!(now.contains("9000") && !now.contains("8000"), "{now}");
    let once = team.muninn(&["recall", "which port", "--superseded"]);
    assert!(once.contains("8000") && !once.contains("9000"), "{once}");
    let said = "(valid from 2026-01-01T00:00:00Z until 2026-02-01T00:00:00Z, superseded by 01B)";
    assert!(once.contains(said), "{once}");
    let json: Value = serde_json::from_str(&team.muninn(&["recall", "--superseded", "--json"])).unwrap();
    let memory = &json["memories"][0];
    assert_eq!(
        [&memory["id"], &memory["until"], &memory["superseded_by"]],
        [&Value::from("01A"), &"2026-02-01T00:00:00Z".into(), &"01B".into()]
    );
}

impl Team {
    /// Where nothing changes, so that there is nothing to commit.
    fn reconcile_again(&self) -> String {
        let told = self.muninn(&["reconcile"]);
        assert_eq!(self.git("status --porcelain"), "");
        told.trim().to_owned()
    }
}

#[test]
fn reconciling_on_two_branches_converges() {
    let facts = [BACKOFF, NO_BACKOFF, DOCKER, DOCKER_TOO];
    let team = Team::new();
    team.branch("ada", &facts[..2]);
    team.branch("ben", &facts[2..]);
    team.branch("eve", &["Releases are cut on Mondays", "Never cut a release on a Friday"]);
    let copy = Team { root: copied(&team.root, &team.env.path("copy")), env: TestEnv::new(MUNINN) };
    // One person, all at once,
    copy.git("checkout --quiet main");
    for branch in ["ada", "ben", "eve"] {
        copy.git(&format!("merge --quiet --no-edit {branch}"));
    }
    copy.reconcile(&[]);
    // and three, each on their branch, merged without a conflict.
    for branch in ["ada", "ben", "eve"] {
        team.git(&format!("checkout --quiet {branch}"));
        team.reconcile(&["--here"]);
    }
    team.git("checkout --quiet main");
    for branch in ["ada", "ben", "eve"] {
        team.git(&format!("merge --quiet --no-edit {branch}"));
    }
    team.reconcile(&[]);
    for name in ["main.jsonl", "conflicts.jsonl"] {
        assert_eq!(sorted(&team.file(name)), sorted(&copy.file(name)), "{name}");
    }
    assert_eq!(team.reconcile_again(), "0 memories consolidated, 0 duplicates removed, 0 undecided pairs");
}

#[test]
fn merge_markers_of_a_forge_are_repaired() {
    let team = Team::new();
    team.branch("ada", &[BACKOFF]);
    team.reconcile(&["--here"]);
    team.branch("ben", &[DOCKER]);
    team.reconcile(&["--here"]);
    // A forge without the merge attribute leaves conflict markers.
    team.git("checkout --quiet main");
    std::fs::write(team.root.join(".git/info/attributes"), "*.jsonl merge=text\n").unwrap();
    team.git("merge --quiet --no-edit ada");
    assert!(git(&team.root, &["merge", "--no-edit", "ben"]).is_err());
    assert!(team.file("main.jsonl").contains("<<<<<<< "));
    let told = team.muninn(&["recall", "what do integration tests need"]);
    assert!(told.contains(DOCKER), "it is recalled all the same: {told}");
    team.muninn(&["reconcile"]);
    assert!(!team.file("main.jsonl").contains("<<<<<<<"));
    team.commit("merged");
    let main = team.file("main.jsonl");
    assert!(main.contains(BACKOFF) && main.contains(DOCKER), "{main}");
    assert_eq!(team.reconcile_again(), "0 memories consolidated, 0 duplicates removed, 0 undecided pairs");
    // A late segment restores no superseded record.
    let late = team.git("log --all --format=%H --diff-filter=A -1 -- .muninn/memory/sessions");
    team.git(&format!("checkout --quiet {} -- .muninn/memory/sessions", late.trim()));
    assert_eq!(team.muninn(&["reconcile"]).trim(), "0 memories consolidated, 0 duplicates removed, 0 undecided pairs");
    assert_eq!(team.file("main.jsonl"), main);
}

#[test]
fn init_adds_the_attributes_that_an_older_version_did_not_write() {
    let team = Team::new();
    let path = team.root.join(".muninn/.gitattributes");
    std::fs::write(&path, "memory/*.jsonl merge=union\nown -text\n").unwrap();
    assert!(team.muninn(&["init"]).starts_with("completed "));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("memory/*.jsonl merge=union\nown -text\n"), "{text}");
    assert!(text.contains("\nmemory/** linguist-generated\n"), "{text}");
    assert!(team.muninn(&["init"]).contains("nothing was changed"));
}

fn copied(from: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
    to.canonicalize().unwrap()
}
