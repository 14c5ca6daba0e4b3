//! Whether remembered facts reach the prompts that they are about, and no others.
//!
//! The facts of a repository are written as records into a tree of it. Each question is sent through the gateway as the
//! first turn of a client with file tools, in a session of its own. The receipt says which records were packed.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use muninn_team::records::MAIN;
use serde::{Deserialize, Serialize};

use crate::abstain::prompts::{Half, Split, repositories};
use crate::command_line::{at, progress};
use crate::gateway_process::home;
use crate::json_lines;
use crate::record_store::{Line, write};
use crate::remembered::Remembered;
use crate::report::rounded;
use crate::trees::{Trees, clone_of};

/// Measures whether remembered facts reach the prompts that they are about.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "admit")]
pub struct Options {
    /// The half of the facts and questions.
    #[arg(long, value_enum, default_value_t = Split::Both)]
    pub split: Split,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: PathBuf,
    /// Facts with questions, one JSON object a line; without a question, a fact is only remembered.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/admit/facts.jsonl"))]
    pub facts: PathBuf,
    /// Questions without a fact, one JSON object a line.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/admit/unrelated.jsonl"))]
    pub unrelated: PathBuf,
    /// Keep trees here from run to run.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Write one JSON object for each question: the fact that it is about, and the packed ones.
    #[arg(long, value_name = "FILE")]
    pub per_question: Option<PathBuf>,
}

/// A fact, and a question that it answers in other words.
#[derive(Debug, Clone, Deserialize)]
struct Fact {
    repo: String,
    half: Half,
    fact: String,
    #[serde(default)]
    question: Option<String>,
}

/// A question that no fact answers.
#[derive(Debug, Clone, Deserialize)]
struct Unrelated {
    repo: String,
    half: Half,
    question: String,
}

/// The facts that a question got.
#[derive(Debug, Clone, Serialize)]
struct Asked {
    repo: String,
    half: Half,
    question: String,
    /// The fact that answers it; `None` for an unrelated question.
    fact: Option<usize>,
    /// The packed facts.
    packed: Vec<usize>,
    /// The facts that recall ranks first, with the features of their admission and, last, their probability.
    ranked: Vec<(usize, Vec<f32>)>,
}

/// The result of the benchmark; shares in percent.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The number of questions with a fact.
    pub facts: usize,
    /// Those whose fact was packed.
    pub injected: f64,
    /// Those whose fact recall ranks first, and among the first two.
    pub first: f64,
    /// Among the first two.
    pub first_two: f64,
    /// The mean number of other facts in these prompts.
    pub beside: f64,
    /// The number of questions without a fact.
    pub unrelated: usize,
    /// Those to which a fact was added.
    pub wrong: f64,
    /// The reliability of the probability, by tenths of it; tenths without a fact are left out.
    pub reliability: Vec<Tenth>,
}

/// The recalled facts with a probability in one tenth.
#[derive(Debug, Clone, Serialize)]
pub struct Tenth {
    /// Their number.
    pub facts: usize,
    /// The mean probability.
    pub predicted: f64,
    /// The share of facts that answer their question.
    pub observed: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// When a file cannot be read or written, or a tree cannot be checked out.
pub fn run(options: &Options) -> Result<Report> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let facts: Vec<Fact> = json_lines::read(&options.facts)?;
    let unrelated: Vec<Unrelated> = json_lines::read(&options.unrelated)?;
    let trees = Trees::new(options.work.as_deref())?;
    let mut asked = Vec::new();
    for (repo, commit) in repositories(&dir.join("abstain"))? {
        let facts: Vec<&Fact> = facts.iter().filter(|fact| fact.repo == repo).collect();
        if facts.is_empty() {
            continue;
        }
        let tree = trees.checkout(&clone_of(&options.repos, &repo), &repo, &commit, None)?;
        let lines = facts.iter().enumerate().map(|(at, fact)| Line {
            ts: format!("2026-01-01T00:{:02}:{:02}Z", at / 60, at % 60),
            text: fact.fact.clone(),
            session: format!("s{at}"),
        });
        let records = tree.root.join(MAIN);
        let remembered = Remembered::start(home(), &tree.root, write(&records, lines)?)?;
        let has_half = |half: Half| options.split.halves().contains(&half);
        let with_fact = facts.iter().enumerate().filter(|(_, fact)| has_half(fact.half));
        let questions = with_fact.filter_map(|(number, fact)| Some((fact.half, fact.question.as_ref()?, Some(number))));
        let without = unrelated.iter().filter(|one| one.repo == repo && has_half(one.half));
        let questions = questions.chain(without.map(|one| (one.half, &one.question, None)));
        for (half, question, fact) in questions {
            let (packed, ranked) = (remembered.packed(question, asked.len())?, remembered.ranked(question));
            asked.push(Asked { repo: repo.clone(), half, question: question.clone(), fact, packed, ranked });
        }
        progress(&format!("{repo}: {} questions so far", asked.len()));
        drop(remembered);
        // A kept tree is as before.
        std::fs::remove_file(&records).with_context(at(&records))?;
    }
    if let Some(path) = &options.per_question {
        let mut file = std::fs::File::create(path).with_context(at(path))?;
        for one in &asked {
            writeln!(file, "{}", serde_json::to_string(one)?)?;
        }
    }
    Ok(report(&asked))
}

fn report(asked: &[Asked]) -> Report {
    let about: Vec<(&Asked, usize)> = asked.iter().filter_map(|one| Some((one, one.fact?))).collect();
    let unrelated: Vec<&Asked> = asked.iter().filter(|one| one.fact.is_none()).collect();
    let percent = |count: usize, all: usize| rounded(count as f64 * 100.0 / all.max(1) as f64);
    let share = |holds: &dyn Fn(&Asked, usize) -> bool| {
        percent(about.iter().filter(|(one, fact)| holds(one, *fact)).count(), about.len())
    };
    let within = |one: &Asked, fact: usize, most: usize| one.ranked.iter().take(most).any(|(other, _)| *other == fact);
    let others = |(one, fact): &(&Asked, usize)| one.packed.iter().filter(|other| **other != *fact).count();
    Report {
        facts: about.len(),
        injected: share(&|one, fact| one.packed.contains(&fact)),
        first: share(&|one, fact| within(one, fact, 1)),
        first_two: share(&|one, fact| within(one, fact, 2)),
        beside: rounded(about.iter().map(others).sum::<usize>() as f64 / about.len().max(1) as f64),
        unrelated: unrelated.len(),
        wrong: percent(unrelated.iter().filter(|one| !one.packed.is_empty()).count(), unrelated.len()),
        reliability: reliability(asked),
    }
}

/// Compares the probability of each recalled fact, its last feature, with whether it answers the question.
fn reliability(asked: &[Asked]) -> Vec<Tenth> {
    let recalled = asked.iter().flat_map(|one| one.ranked.iter().map(|ranked| (one.fact, ranked)));
    let judged =
        recalled.filter_map(|(answer, (fact, features))| Some((f64::from(*features.last()?), answer == Some(*fact))));
    let mut tenths = vec![(0, 0.0, 0); 10];
    for (probability, is_answer) in judged {
        let (facts, predicted, answers) = &mut tenths[((probability * 10.0) as usize).min(9)];
        *facts += 1;
        *predicted += probability;
        *answers += usize::from(is_answer);
    }
    let full = tenths.into_iter().filter(|(facts, ..)| *facts > 0);
    full.map(|(facts, predicted, answers)| Tenth {
        facts,
        predicted: rounded(predicted / facts as f64),
        observed: rounded(answers as f64 / facts as f64),
    })
    .collect()
}
