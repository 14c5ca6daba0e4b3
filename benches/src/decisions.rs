//! Whether a question gets the statement that holds now, after two people wrote down the old and the new one.
//!
//! The old statements are notes of one person on one branch, the new ones notes of another person on another branch, each
//! with its date. Both branches are merged, `muninn reconcile` runs, and the proposals are accepted. Then each question is
//! sent through the gateway in a session of its own; the receipt says which statements were packed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use muninn_team::records::SESSIONS;
use muninn_tests::{TestEnv, output};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::gateway::{home, muninn};
use crate::graded::remembered::Remembered;
use crate::harness::stats::percent_of;
use crate::harness::{at, json_lines};

/// Measures whether a question gets the statement that holds now.
#[derive(Debug, Clone, Parser)]
#[command(name = "decisions")]
pub(crate) struct Options {
    /// Reversals, one JSON object a line: `old` and `new` with `text`, `date` and `path`, `question`, `change`.
    #[arg(long, value_name = "FILE")]
    reversals: PathBuf,
    /// Questions without an answer among the statements, one JSON object a line with `question`.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/admit/train.jsonl"))]
    unrelated: PathBuf,
    /// Write one JSON object for each question.
    #[arg(long, value_name = "FILE")]
    per_question: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
struct Reversal {
    old: Statement,
    new: Statement,
    question: String,
    change: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Statement {
    text: String,
    date: String,
    path: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Unrelated {
    /// A line with a fact is about one.
    fact: Option<String>,
    questions: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Asked {
    question: String,
    /// The number of the statement that answers it; `None` for an unrelated question.
    fact: Option<usize>,
    change: Option<String>,
    /// The packed statements: an even number is an old one, and the next number its successor.
    packed: Vec<usize>,
    /// See [`Remembered::ranked`].
    ranked: Vec<(usize, BTreeMap<&'static str, f32>)>,
}

/// The results of the questions about one kind of change.
#[derive(Debug, Clone, Default, Serialize)]
struct Got {
    questions: usize,
    /// The new statement alone.
    new: usize,
    /// Both, as an open conflict.
    both: usize,
    old: usize,
    others: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    conflicts: usize,
    proposals: usize,
    got: BTreeMap<String, Got>,
    injected: f64,
    unrelated: usize,
    wrong: f64,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let reversals: Vec<Reversal> = json_lines::read(&options.reversals)?;
    let unrelated: Vec<Unrelated> = json_lines::read(&options.unrelated)?;
    let home = home();
    let root = home.repository("decisions", &[("README.md", "# Decisions\n")]);
    let numbers = merge_notes(&home, &root, &reversals)?;
    run_muninn(&home, &root, &["reconcile"])?;
    let conflicts: Value = serde_json::from_str(&run_muninn(&home, &root, &["conflicts", "--json"])?)?;
    let conflicts = conflicts["conflicts"].as_array().cloned().unwrap_or_default();
    let proposals = conflicts.iter().filter(|conflict| !conflict["proposal"].is_null()).count();
    if proposals > 0 {
        run_muninn(&home, &root, &["resolve", "--accept"])?;
    }
    home.commit(&root, "reconciled");
    let remembered = Remembered::start(home, &root, numbers, None)?;
    let about = reversals.iter().enumerate().map(|(at, reversal)| {
        let change = Some(reversal.change.clone());
        (&reversal.question, Some(at * 2 + 1), change)
    });
    let without_fact = unrelated.iter().filter(|one| one.fact.is_none());
    let others = without_fact.flat_map(|one| &one.questions).map(|question| (question, None, None));
    let asked = about.chain(others).enumerate().map(|(session, (question, fact, change))| {
        Ok(Asked {
            question: question.clone(),
            fact,
            change,
            packed: remembered.packed(question, session)?.concat(),
            ranked: remembered.ranked(question),
        })
    });
    let asked = asked.collect::<Result<Vec<Asked>>>()?;
    json_lines::write(options.per_question.as_deref(), &asked)?;
    Ok(report(&asked, conflicts.len(), proposals))
}

fn report(asked: &[Asked], conflicts: usize, proposals: usize) -> Report {
    let mut got: BTreeMap<String, Got> = BTreeMap::new();
    for one in asked {
        let (Some(new), Some(change)) = (one.fact, &one.change) else { continue };
        let got = got.entry(change.clone()).or_default();
        got.questions += 1;
        match (one.packed.contains(&new), one.packed.contains(&(new - 1))) {
            (true, false) => got.new += 1,
            (true, true) => got.both += 1,
            (false, true) => got.old += 1,
            (false, false) => {}
        }
        let others = one.packed.iter().filter(|packed| **packed / 2 != new / 2);
        got.others += others.count();
    }
    let injected: usize = got.values().map(|got| got.new + got.both).sum();
    let questions: usize = got.values().map(|got| got.questions).sum();
    let unrelated: Vec<&Asked> = asked.iter().filter(|one| one.fact.is_none()).collect();
    let wrong = unrelated.iter().filter(|one| !one.packed.is_empty()).count();
    Report {
        conflicts,
        proposals,
        injected: percent_of(injected, questions),
        got,
        unrelated: unrelated.len(),
        wrong: percent_of(wrong, unrelated.len()),
    }
}

/// Writes the old and the new statements on two branches and merges both. Returns the number of each record.
fn merge_notes(home: &TestEnv, root: &Path, reversals: &[Reversal]) -> Result<HashMap<String, usize>> {
    run_muninn(home, root, &["init", "--memory", "repo"])?;
    home.commit(root, "init");
    let mut numbers = HashMap::new();
    for (side, author) in [(0, "Ann"), (1, "Ben")] {
        let branch = format!("notes-{author}");
        home.git(root, &["checkout", "--quiet", "-b", &branch, "main"]);
        let session = format!("01{side:024}");
        let mut lines = String::new();
        for (at, reversal) in reversals.iter().enumerate() {
            let statement = [&reversal.old, &reversal.new][side];
            let number = at * 2 + side;
            let id = format!("02{number:024}");
            let record = json!({
                "id": id, "ts": format!("{}T12:00:0{side}Z", statement.date), "type": "learning",
                "text": statement.text, "author": author, "session": session, "branch": branch,
                "sources": [{"path": statement.path}], "stated": true,
            });
            lines.push_str(&format!("{record}\n"));
            numbers.insert(id, number);
        }
        let path = root.join(SESSIONS).join(format!("session_{session}.0.jsonl"));
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written.and_then(|()| std::fs::write(&path, lines)).with_context(at(&path))?;
        home.commit(root, "notes");
    }
    home.git(root, &["checkout", "--quiet", "main"]);
    for author in ["Ann", "Ben"] {
        home.git(root, &["merge", "--quiet", "--no-edit", &format!("notes-{author}")]);
    }
    Ok(numbers)
}

fn run_muninn(home: &TestEnv, root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = muninn(home);
    command.current_dir(root).args(arguments);
    let ran = output(command);
    let errors = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "muninn {}: {errors}", arguments.join(" "));
    Ok(String::from_utf8(ran.stdout)?)
}
