//! Conflicts: listing, proposing and settling them.

#[cfg(unix)]
use muninn_tests::at_terminal;

use super::*;

#[test]
fn contradicting_branches_are_merged_reconciled_listed_and_settled() {
    let team = Team::new();
    team.branch("ada", &[BACKOFF, DOCKER]);
    team.branch("ben", &[NO_BACKOFF, DOCKER_TOO]);
    let refused = team.env.run(&team.root, &["reconcile"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("ben is checked out, and main memory belongs to main"), "{told}");
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.git("merge --quiet --no-edit ben");
    assert_eq!(team.reconcile(&[]), "4 memories consolidated, 1 duplicate removed, 1 undecided pair");
    team.git("add --all .muninn/memory/sessions");
    assert_eq!(
        team.git("ls-files .muninn/memory/sessions").trim(),
        ".muninn/memory/sessions/.gitkeep\n.muninn/memory/sessions/archive/sessions.jsonl"
    );
    let open = team.conflicts();
    assert_eq!(open[0]["state"], "undecided", "only a judge finds conflicts");
    assert_eq!((&open[0]["sides"][0]["text"], &open[0]["sides"][1]["text"]), (&BACKOFF.into(), &NO_BACKOFF.into()));
    assert_eq!(open[0]["sides"][0]["author"], "Ada", "as git knows who remembered it");
    // Recall returns both sides, each marked with its conflict.
    let told: Value =
        serde_json::from_str(&team.muninn(&["recall", "does the retry queue use jitter", "--json"])).unwrap();
    let recalled: Vec<&Value> =
        told["memories"].as_array().unwrap().iter().filter(|memory| memory["conflict"] == open[0]["id"]).collect();
    assert_eq!(recalled.len(), 2, "{told}");
    let id = open[0]["id"].as_str().unwrap();
    team.muninn(&["resolve", &id[18..], "--keep", "left", "--note", "measured"]);
    assert!(team.conflicts().is_empty());
    team.commit("settled");
    let told = team.muninn(&["recall", "does the retry queue use jitter"]);
    assert!(told.contains(BACKOFF) && !told.contains(NO_BACKOFF), "{told}");
    assert_eq!(team.reconcile_again(), "0 memories consolidated, 0 duplicates removed, 0 undecided pairs");
    let diff = team.git("show --stat HEAD~1");
    assert!(diff.contains(".muninn/memory/main.jsonl") && diff.contains(".muninn/memory/conflicts.jsonl"), "{diff}");
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
    for said in ["1 of 4", "4 of 4", "`whatever` is not one of these answers", "2 conflicts resolved, 2 open"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let text = |conflict: &Value, side: usize| conflict["sides"][side]["text"].as_str().unwrap().to_owned();
    let beside = shown.lines().find(|line| line.contains(&text(&before[0], 0)));
    assert!(beside.is_some_and(|line| line.contains(&text(&before[0], 1))), "side by side: {shown}");
    let ids = |conflicts: &[Value]| conflicts.iter().map(|open| open["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&team.conflicts()), [before[1]["id"].clone(), before[3]["id"].clone()]);
    let main = team.file("main.jsonl");
    let decisions: Vec<Value> = main
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &Value| record["type"] == "decision")
        .collect();
    let side = |at: usize, side: usize| before[at]["sides"][side]["id"].clone();
    let kept: Vec<Vec<Value>> = decisions.iter().map(|decision| decision["keep"].as_array().unwrap().clone()).collect();
    assert_eq!(kept, [vec![side(0, 0)], vec![side(2, 0), side(2, 1)]]);
    // Leaving at once settles nothing.
    let (ended, shown) = walk("quit\n");
    assert!(ended.success() && shown.contains("0 conflicts resolved, 2 open"), "{shown}");
    // A pipe is not interactive.
    let piped = team.env.run(&team.root, &["resolve"]);
    assert_eq!(piped.status.code(), Some(2), "{piped:?}");
    let (ended, shown) = walk("r\nr\n");
    assert!(ended.success() && shown.contains("2 conflicts resolved, 0 open"), "{shown}");
    assert!(team.conflicts().is_empty());
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
        assert_eq!(team.reconcile(&[]), "4 memories consolidated, 0 duplicates removed, 1 undecided pair");
        let open = team.conflicts();
        assert_eq!(open[0]["sides"].as_array().unwrap().len(), 4, "{open:?}");
        assert_eq!(open[0]["sides"][1]["differing"], serde_json::json!(["32"]));
        let id = open[0]["id"].as_str().unwrap();
        team.muninn(&[&["resolve", id, "--note", "as measured"], arguments].concat());
        assert!(team.conflicts().is_empty());
        team.commit("settled");
        let again = team.muninn(&["reconcile"]);
        assert!(again.contains("0 undecided pairs"), "{again}");
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
    // Recall shows a dropped record with the author and the reason of the decision.
    let dropped = conflict["sides"][0]["id"].as_str().unwrap();
    for told in [team.muninn(&["recall", dropped]), team.muninn(&["recall", "pool connections", "--superseded"])] {
        assert!(told.contains("capped at 64") && told.contains("decided by Ada, because: as measured"), "{told}");
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
    let told = team.muninn(&["conflicts"]);
    assert!(told.contains("1 undecided pair") && told.contains("at 64") && told.contains("at 32"), "{told}");
    let told = team.muninn(&["conflicts", open[0]["id"].as_str().unwrap()]);
    assert!(told.contains("proposed: the newest replaces the others"), "{told}");
    let refused = team.env.run(&team.root, &["resolve", "--accept", "--keep", "left"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let told = team.muninn(&["resolve", "--accept"]);
    assert!(told.contains("replaces 1 older record") && told.contains(&evidence), "{told}");
    let recalled = team.muninn(&["recall", "pool connections"]);
    assert!(recalled.contains("at 32.") && !recalled.contains("at 64."), "{recalled}");
    let past = team.muninn(&["recall", "pool connections", "--superseded"]);
    assert!(past.contains("at 64.") && past.contains(&evidence), "{past}");
}

#[test]
fn proposals_of_more_records_than_one_conflict_holds_are_all_accepted() {
    let team = Team::new();
    team.git("checkout --quiet -b ada");
    team.muninn(&["remember", "Connections of the pool are capped at 100.", "--file", FILES[0].0]);
    team.commit("ada");
    let name = team.git("ls-files .muninn/memory/sessions/session_*");
    let path = team.root.join(name.trim());
    let first: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let line = |at: usize| {
        let mut record = first.clone();
        record["id"] = format!("01M{at:023}").into();
        record["ts"] = format!("2026-01-02T03:04:{at:02}Z").into();
        record["text"] = format!("Connections of the pool are capped at {}.", 100 + at).into();
        format!("{record}\n")
    };
    std::fs::write(&path, (0..40).map(line).collect::<String>()).unwrap();
    team.commit("forty");
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.reconcile(&[]);
    let open = team.conflicts();
    let sides: Vec<usize> = open.iter().map(|open| open["sides"].as_array().unwrap().len()).collect();
    assert!(open.len() < 4 && sides.iter().all(|sides| *sides <= 32) && sides.iter().sum::<usize>() >= 40, "{sides:?}");
    let told = team.muninn(&["resolve", "--accept"]);
    assert!(team.conflicts().is_empty(), "{sides:?} {told}");
    let recalled = team.muninn(&["recall", "connections of the pool"]);
    assert!(recalled.contains("at 139.") && !recalled.contains("at 138."), "{recalled}");
}
