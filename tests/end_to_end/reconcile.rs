//! Team chores with real git: reconcile, conflicts, resolve, and merges.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use muninn_tests::at_terminal;
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
const DOCKER_TOO: &str = "Integration tests need Docker.";

#[test]
fn contradicting_branches_are_merged_reconciled_listed_and_settled() {
    let team = Team::new();
    team.branch("ada", &[BACKOFF, DOCKER]);
    team.branch("ben", &[NO_BACKOFF, DOCKER_TOO]);
    let refused = team.env.run(&team.root, &["reconcile"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        told.contains("ben is checked out, and main memory belongs to main"),
        "{told}"
    );
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.git("merge --quiet --no-edit ben");
    assert_eq!(
        team.reconcile(&[]),
        "4 memories consolidated, 1 duplicate removed, 1 conflict"
    );
    team.git("add --all .muninn/memory/sessions");
    assert_eq!(
        team.git("ls-files .muninn/memory/sessions").trim(),
        ".muninn/memory/sessions/.gitkeep\n.muninn/memory/sessions/archive/sessions.jsonl"
    );
    let open = team.conflicts();
    assert_eq!(
        (&open[0]["sides"][0]["text"], &open[0]["sides"][1]["text"]),
        (&BACKOFF.into(), &NO_BACKOFF.into())
    );
    assert_eq!(open[0]["sides"][0]["author"], "Ada", "as git knows who remembered it");
    // Recall returns both sides, each marked with its conflict.
    let told: Value =
        serde_json::from_str(&team.muninn(&["recall", "does the retry queue use jitter", "--json"])).unwrap();
    let recalled: Vec<&Value> = told["memories"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|memory| memory["conflict"] == open[0]["id"])
        .collect();
    assert_eq!(recalled.len(), 2, "{told}");
    let id = open[0]["id"].as_str().unwrap();
    team.muninn(&["resolve", &id[18..], "--keep", "left", "--note", "measured"]);
    assert!(team.conflicts().is_empty());
    team.commit("settled");
    let told = team.muninn(&["recall", "does the retry queue use jitter"]);
    assert!(told.contains(BACKOFF) && !told.contains(NO_BACKOFF), "{told}");
    assert_eq!(
        team.reconcile_again(),
        "0 memories consolidated, 0 duplicates removed, 0 conflicts"
    );
    let diff = team.git("show --stat HEAD~1");
    assert!(
        diff.contains(".muninn/memory/main.jsonl") && diff.contains(".muninn/memory/conflicts.jsonl"),
        "{diff}"
    );
}

/// Two facts that contradict each other.
const USES: [&str; 4] = [
    "The retry queue uses jitter",
    "The importer uses threads",
    "The login page uses cookies",
    "The billing report uses euros",
];

#[cfg(unix)]
#[test]
fn conflicts_are_settled_interactively() {
    let team = Team::new();
    team.branch("ada", &USES);
    let contrary = USES.map(|fact| fact.replace(" uses ", " does not use "));
    team.branch("ben", &contrary.each_ref().map(String::as_str));
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.git("merge --quiet --no-edit ben");
    team.reconcile(&[]);
    let before = team.conflicts();
    assert_eq!(before.len(), 4, "{before:?}");
    let walk = |typed: &str| {
        let mut command = team.env.muninn();
        command.current_dir(&team.root).arg("resolve");
        at_terminal(command, typed)
    };
    // An invalid answer is asked again, and the fourth conflict gets no answer.
    let (ended, shown) = walk("left\n\nwhatever\nb\n");
    assert!(ended.success(), "{shown}");
    for said in [
        "1 of 4",
        "4 of 4",
        "`whatever` is not one of these answers",
        "2 conflicts resolved, 2 open",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let text = |conflict: &Value, side: usize| conflict["sides"][side]["text"].as_str().unwrap().to_owned();
    let beside = shown.lines().find(|line| line.contains(&text(&before[0], 0)));
    assert!(
        beside.is_some_and(|line| line.contains(&text(&before[0], 1))),
        "side by side: {shown}"
    );
    let ids = |conflicts: &[Value]| conflicts.iter().map(|open| open["id"].clone()).collect::<Vec<_>>();
    assert_eq!(
        ids(&team.conflicts()),
        [before[1]["id"].clone(), before[3]["id"].clone()]
    );
    let main = team.file("main.jsonl");
    let decisions: Vec<Value> = main
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &Value| record["type"] == "decision")
        .collect();
    let side = |at: usize, side: usize| before[at]["sides"][side]["id"].clone();
    let kept: Vec<Vec<Value>> = decisions
        .iter()
        .map(|decision| decision["keep"].as_array().unwrap().clone())
        .collect();
    assert_eq!(kept, [vec![side(0, 0)], vec![side(2, 0), side(2, 1)]]);
    // Leaving at once settles nothing.
    let (ended, shown) = walk("quit\n");
    assert!(
        ended.success() && shown.contains("0 conflicts resolved, 2 open"),
        "{shown}"
    );
    // A pipe is not interactive.
    let piped = team.env.run(&team.root, &["resolve"]);
    assert_eq!(piped.status.code(), Some(2), "{piped:?}");
    let (ended, shown) = walk("r\nr\n");
    assert!(
        ended.success() && shown.contains("2 conflicts resolved, 0 open"),
        "{shown}"
    );
    assert!(team.conflicts().is_empty());
}

#[test]
fn patterns_about_the_same_files_fold_or_wait_for_a_person() {
    let team = Team::new();
    let about = |texts: &[&str], branch: &str, files: [&str; 2]| {
        team.git("checkout --quiet main");
        team.git(&format!("checkout --quiet -b {branch}"));
        for text in texts {
            team.muninn(&[
                "remember", text, "--type", "pattern", "--file", files[0], "--file", files[1],
            ]);
        }
        team.commit(branch);
    };
    let [one, other] = [FILES[0].0, FILES[1].0];
    about(
        &["Changes come together", "Jitter is used in both"],
        "ada",
        [one, other],
    );
    about(
        &["Changes come together.", "Jitter is not used in both"],
        "ben",
        [other, one],
    );
    about(&["Changes come together"], "eve", [one, one]);
    team.git("checkout --quiet main");
    for branch in ["ada", "ben", "eve"] {
        team.git(&format!("merge --quiet --no-edit {branch}"));
    }
    assert_eq!(
        team.reconcile(&[]),
        "5 memories consolidated, 1 duplicate removed, 1 conflict"
    );
    let told: Value = serde_json::from_str(&team.muninn(&["recall", "which changes come together", "--json"])).unwrap();
    let recalled = told["memories"].as_array().unwrap().iter();
    let of_both = recalled.filter(|memory| memory["text"].as_str().unwrap().starts_with("Changes"));
    assert_eq!(of_both.count(), 2, "of one of the files alone it is another: {told}");
    let open = team.conflicts();
    assert_eq!(open[0]["sides"][0]["text"], "Jitter is used in both");
    let mut entities = [one, other];
    entities.sort_unstable();
    let mut named: Vec<&str> = open[0]["sides"][1]["entities"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    named.sort_unstable();
    assert_eq!(named, entities);
    assert!(
        team.muninn(&["conflicts"])
            .contains(&format!("about      {one}, {other}"))
    );
}

#[test]
fn notes_about_one_subject_are_one_conflict_that_is_settled_in_any_way() {
    let limits = ["64", "32", "100", "16"].map(|limit| format!("Connections of the pool are capped at {limit}."));
    let settled = |arguments: &[&str]| {
        let team = Team::new();
        for (branch, limit) in ["ada", "ben", "cy", "dan"].iter().zip(&limits) {
            team.branch(branch, &[limit]);
        }
        team.git("checkout --quiet main");
        for branch in ["ada", "ben", "cy", "dan"] {
            team.git(&format!("merge --quiet --no-edit {branch}"));
        }
        assert_eq!(
            team.reconcile(&[]),
            "4 memories consolidated, 0 duplicates removed, 1 conflict"
        );
        let open = team.conflicts();
        assert_eq!(open[0]["sides"].as_array().unwrap().len(), 4, "{open:?}");
        assert_eq!(open[0]["sides"][1]["differing"], serde_json::json!(["32"]));
        let id = open[0]["id"].as_str().unwrap();
        team.muninn(&[&["resolve", id, "--note", "as measured"], arguments].concat());
        assert!(team.conflicts().is_empty());
        team.commit("settled");
        let again = team.muninn(&["reconcile"]);
        assert!(again.contains("0 conflicts"), "{again}");
        // Recall fails if it finds nothing.
        let recalled = team.env.run(&team.root, &["recall", "--type", "learning", "--json"]);
        let recalled: Value = serde_json::from_slice(&recalled.stdout).unwrap();
        let mut texts: Vec<String> = recalled["memories"]
            .as_array()
            .unwrap()
            .iter()
            .map(|memory| memory["text"].as_str().unwrap().to_owned())
            .collect();
        texts.sort();
        (team, open[0].clone(), texts)
    };
    let (team, conflict, texts) = settled(&["--keep", "2,3"]);
    assert_eq!(texts, [limits[2].clone(), limits[1].clone()]);
    // What was dropped is shown with who decided it, and why.
    let dropped = conflict["sides"][0]["id"].as_str().unwrap();
    for told in [
        team.muninn(&["recall", dropped]),
        team.muninn(&["recall", "pool connections", "--superseded"]),
    ] {
        assert!(
            told.contains("capped at 64") && told.contains("decided by Ada, because: as measured"),
            "{told}"
        );
    }
    let history = team.muninn(&["history", dropped]);
    assert!(
        history.contains("learning by Ada on ada")
            && history.contains("decision by Ada")
            && history.contains("as measured"),
        "{history}"
    );
    let unknown = team.env.run(&team.root, &["resolve", dropped, "--keep", "9"]);
    assert_eq!(unknown.status.code(), Some(4), "a record is no conflict: {unknown:?}");
    let (_, _, texts) = settled(&["--keep", "none"]);
    assert!(texts.is_empty(), "{texts:?}");
    let better = "The pool keeps 64 connections per worker.";
    let (team, _, texts) = settled(&["--write", better]);
    assert_eq!(texts, [better]);
    let told = team.muninn(&["recall", "pool connections"]);
    assert!(told.contains("by Ada"), "{told}");
}

#[test]
fn notes_of_a_branch_are_one_file_and_are_recalled_once_merged() {
    let team = Team::new();
    let segments = || {
        team.git("ls-files .muninn/memory/sessions")
            .lines()
            .filter(|path| path.contains("session_"))
            .count()
    };
    team.branch(
        "ada",
        &[
            "The importer reads CSV",
            "The exporter writes XML",
            "The parser is strict",
        ],
    );
    assert_eq!(segments(), 1, "one file for three notes");
    // A committed segment is not written again.
    team.muninn(&["remember", "The linter runs in CI"]);
    team.muninn(&["remember", "The docs are built nightly"]);
    team.commit("more");
    assert_eq!(segments(), 2);
    let told = team.muninn(&["reconcile", "--squash-sessions"]);
    assert!(
        told.starts_with("2 files combined into .muninn/memory/sessions/session_"),
        "{told}"
    );
    team.commit("squashed");
    assert_eq!(segments(), 1);
    assert_eq!(
        team.muninn(&["reconcile", "--squash-sessions"]).trim(),
        "there are no files to combine"
    );
    // A teammate without these sessions recalls the notes on the default branch, before anybody reconciles.
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    let mate = Team {
        env: TestEnv::new(MUNINN),
        root: copied(&team.root, &team.env.path("mate")),
    };
    let recalled = mate.muninn(&["recall", "which format does the importer read"]);
    assert!(recalled.contains("The importer reads CSV"), "{recalled}");
    assert_eq!(
        mate.reconcile(&[]),
        "5 memories consolidated, 0 duplicates removed, 0 conflicts"
    );
}

#[test]
fn newer_value_from_the_same_author_is_proposed_and_accepted() {
    let team = Team::new();
    let file = FILES[0].0;
    let limits = ["64", "32"].map(|limit| format!("Connections of the pool are capped at {limit}."));
    team.git("checkout --quiet -b ada");
    for limit in &limits {
        team.muninn(&["remember", limit, "--file", file]);
    }
    team.commit("ada");
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.reconcile(&[]);
    let open = team.conflicts();
    let evidence = open[0]["proposal"].as_str().unwrap().to_owned();
    assert!(evidence.contains("the value has changed"), "{evidence}");
    assert!(
        team.muninn(&["conflicts"])
            .contains("proposed: the newest replaces the others")
    );
    let refused = team.env.run(&team.root, &["resolve", "--accept", "--keep", "left"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let told = team.muninn(&["resolve", "--accept"]);
    assert!(
        told.contains("replaces 1 older record") && told.contains(&evidence),
        "{told}"
    );
    let recalled = team.muninn(&["recall", "pool connections"]);
    assert!(recalled.contains("32") && !recalled.contains("64"), "{recalled}");
    let past = team.muninn(&["recall", "pool connections", "--superseded"]);
    assert!(past.contains("64") && past.contains(&evidence), "{past}");
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
    team.branch(
        "eve",
        &["Releases are cut on Mondays", "Never cut a release on a Friday"],
    );
    let copy = Team {
        root: copied(&team.root, &team.env.path("copy")),
        env: TestEnv::new(MUNINN),
    };
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
    assert_eq!(
        team.reconcile_again(),
        "0 memories consolidated, 0 duplicates removed, 0 conflicts"
    );
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
    assert_eq!(
        team.reconcile_again(),
        "0 memories consolidated, 0 duplicates removed, 0 conflicts"
    );
    // A late segment restores no superseded record.
    let late = team.git("log --all --format=%H --diff-filter=A -1 -- .muninn/memory/sessions");
    team.git(&format!("checkout --quiet {} -- .muninn/memory/sessions", late.trim()));
    assert_eq!(
        team.muninn(&["reconcile"]).trim(),
        "0 memories consolidated, 0 duplicates removed, 0 conflicts"
    );
    assert_eq!(team.file("main.jsonl"), main);
}

fn copied(from: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => drop(copied(&entry.path(), &target)),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
    to.canonicalize().unwrap()
}
