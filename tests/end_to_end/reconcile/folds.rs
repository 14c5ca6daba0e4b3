//! Folds, and records of reverted merges.

use super::*;

/// Statements of which no two are the same.
const DIFFERENT: [&str; 24] = [
    "The offset is +5",
    "The offset is -5",
    "Retry if a && b",
    "Retry if a || b",
    "Lint src/*",
    "Lint src/**",
    "Parsers are in C",
    "Parsers are in C++",
    "The link has 5 Mb",
    "The link has 5 MB",
    "The release is on 2026-01-02",
    "The release is on 2026-02-01",
    "Standup is at 10:30",
    "Standup is at 30:10",
    "All tests run at night",
    "Some tests run at night",
    "Round half up",
    "Round half even",
    "Take plan A",
    "Take plan B",
    "Call it résumé",
    "Call it resume",
    "Uploads go to S3",
    "Uploads go to S3 because disks are small",
];

#[test]
fn different_statements_are_all_recalled() {
    let team = Team::new();
    let half = |parity: usize| -> Vec<&str> {
        let texts = DIFFERENT.iter().enumerate();
        texts.filter(|(at, _)| at % 2 == parity).map(|(_, text)| *text).collect()
    };
    team.branch("ada", &half(0));
    team.branch("ben", &half(1));
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.git("merge --quiet --no-edit ben");
    let told: Value = serde_json::from_str(&team.muninn(&["reconcile", "--json"])).unwrap();
    assert_eq!((&told["duplicates"], &told["folds"]), (&0.into(), &serde_json::json!([])));
    let told: Value = serde_json::from_str(&team.muninn(&["recall", "--limit", "100", "--json"])).unwrap();
    let recalled: Vec<&str> =
        told["memories"].as_array().unwrap().iter().map(|memory| memory["text"].as_str().unwrap()).collect();
    for text in DIFFERENT {
        assert!(recalled.contains(&text), "{text}: {recalled:?}");
    }
}

#[test]
fn fold_is_listed_found_and_undone() {
    let team = Team::new();
    team.branch("ada", &["Don't cache the `token` in memory"]);
    team.branch("ben", &["Do not cache token  in memory."]);
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.git("merge --quiet --no-edit ben");
    let dry: Value = serde_json::from_str(&team.muninn(&["reconcile", "--dry-run", "--json"])).unwrap();
    let fold = &dry["folds"][0];
    let [id, older] = [&fold["id"], &fold["older"]["id"]].map(|id| id.as_str().unwrap().to_owned());
    let run = team.env.run(&team.root, &["reconcile"]);
    let listed = String::from_utf8_lossy(&run.stderr).into_owned();
    for part in [&*id, "Don't cache the `token` in memory", "Do not cache token in memory.", "--apart"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    team.commit("reconciled");
    let texts = |arguments: &[&str]| team.muninn(&[&["recall"], arguments].concat());
    let now = texts(&["token in memory"]);
    assert!(now.contains("Do not cache token") && !now.contains("Don't"), "{now}");
    let past = texts(&["token in memory", "--superseded"]);
    assert!(past.contains("Don't cache the `token`") && past.contains("superseded by"), "{past}");
    assert!(texts(&[&older]).contains("Don't cache the `token`"));
    let history = team.muninn(&["history", &older]);
    assert!(history.contains("is a duplicate of") && history.contains("the same statement"), "{history}");
    let unknown = team.env.run(&team.root, &["resolve", "ZZZZZZ", "--apart"]);
    assert_eq!(unknown.status.code(), Some(4), "{unknown:?}");
    let undone = team.muninn(&["resolve", &id[16..], "--apart"]);
    assert!(undone.contains(&id), "{undone}");
    team.commit("apart");
    let both = texts(&["token in memory"]);
    assert!(both.contains("Do not cache token") && both.contains("Don't cache"), "{both}");
    assert_eq!(team.reconcile_again(), "0 memories consolidated, 0 duplicates removed, 0 undecided pairs");
    assert!(team.muninn(&["history", &older]).contains("kept apart by a person"));
}

#[test]
fn folds_of_an_earlier_version_are_reviewed() {
    let team = Team::new();
    let main = r#"{"id":"01A","ts":"2026-01-01T00:00:00Z","type":"learning","text":"The exit code is 1"}
{"id":"01B","ts":"2026-02-01T00:00:00Z","type":"learning","text":"The exit code is -1"}
{"id":"01S","ts":"2026-02-01T00:00:00Z","type":"same","kept":"01A","folded":"01B","by":"rules","reason":"alike"}
"#;
    std::fs::write(team.root.join(".muninn/memory/main.jsonl"), main).unwrap();
    let told = team.muninn(&["reconcile", "--review-folds"]);
    for part in [
        "01A (2026-01-01): The exit code is 1",
        "01B (2026-02-01): The exit code is -1",
        "different texts",
        "resolve 01S --apart",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    team.muninn(&["resolve", "01S", "--apart"]);
    assert_eq!(team.muninn(&["reconcile", "--review-folds"]).trim(), "");
    let recalled = team.muninn(&["recall", "exit code"]);
    assert!(recalled.contains("is 1\n") && recalled.contains("is -1\n"), "{recalled}");
}

#[test]
fn reverting_a_merge_after_reconciling_takes_its_memories_away() {
    let team = Team::new();
    team.git("checkout --quiet -b feature");
    std::fs::write(team.root.join("feature.txt"), "new\n").unwrap();
    team.muninn(&["remember", "The importer reads CSV"]);
    team.commit("feature");
    team.git("checkout --quiet main");
    team.muninn(&["remember", "The exporter writes XML"]);
    team.commit("note");
    team.git("merge --quiet --no-ff --no-edit feature");
    team.reconcile(&[]);
    let recalls = |fact: &str| {
        let run = team.env.run(&team.root, &["recall", fact]);
        String::from_utf8_lossy(&run.stdout).contains(fact)
    };
    assert!(recalls("The importer reads CSV"));
    team.git("revert -m 1 --no-edit HEAD~1");
    assert!(!recalls("The importer reads CSV") && recalls("The exporter writes XML"));
    assert!(team.file("main.jsonl").contains("The importer reads CSV"), "main keeps it");
    let told = team.env.run(&team.root, &["reconcile"]);
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("1 memory withdrawn"), "{told}");
    team.git("revert --no-edit HEAD");
    assert!(recalls("The importer reads CSV") && recalls("The exporter writes XML"));
}
