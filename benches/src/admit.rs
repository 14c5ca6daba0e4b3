//! Whether remembered facts reach the prompts that they are about, and no others.
//!
//! The facts of a repository are written as records into a tree of it. Each question is sent through the gateway as the
//! first turn of a client with file tools, in a session of its own. The receipt names the packed records.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use muninn_base::Supervisor;
use muninn_team::records::MAIN;
use muninn_text::embed::{StaticVectors, minilm};
use serde::{Deserialize, Serialize};

use crate::gateway::home;
use crate::graded::record_store::{Line, write};
use crate::graded::remembered::Remembered;
use crate::graded::split::repositories;
use crate::graded::trees::{Trees, clone_of};
use crate::harness::stats::{percent_of, rounded, share};
use crate::harness::{at, json_lines, progress};

/// Measures whether remembered facts reach the prompts that they are about.
#[derive(Debug, Clone, Parser)]
#[command(name = "admit")]
pub(crate) struct Options {
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Facts and questions, one JSON object a line.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/admit/train.jsonl"))]
    texts: PathBuf,
    /// The commits of the repositories, in sets.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/relevance/repositories.json"))]
    list: PathBuf,
    /// Keep trees here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// The directory of MiniLM's files; without it, static vectors serve.
    #[arg(long, value_name = "DIR")]
    minilm: Option<PathBuf>,
    /// Record the questions that the author of a fact expected.
    #[arg(long)]
    answers: bool,
    /// Write one JSON object for each question: the fact that it is about, the packed ones and those that are named.
    #[arg(long, value_name = "FILE")]
    per_question: Option<PathBuf>,
}

/// A fact, and questions that it answers in other words; without a fact, questions that no fact answers.
#[derive(Debug, Clone, Deserialize)]
struct Text {
    repo: String,
    #[serde(default)]
    fact: Option<String>,
    #[serde(default)]
    answers: Vec<String>,
    questions: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Asked {
    repo: String,
    question: String,
    /// The fact that answers it; `None` for an unrelated question.
    fact: Option<usize>,
    packed: Vec<usize>,
    named: Vec<usize>,
    /// See [`Remembered::ranked`].
    ranked: Vec<(usize, BTreeMap<&'static str, f32>)>,
    /// The vectors of the question, by which its form is judged.
    r#static: Vec<f32>,
    minilm: Option<Vec<f32>>,
}

/// Shares are percent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    facts: usize,
    reached: f64,
    injected: f64,
    first: f64,
    first_two: f64,
    beside: f64,
    unrelated: usize,
    wrong: f64,
    wrong_named: f64,
    reliability: Vec<Tenth>,
}

/// The recalled facts with a probability in one tenth.
#[derive(Debug, Clone, Serialize)]
struct Tenth {
    facts: usize,
    predicted: f64,
    observed: f64,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let texts: Vec<Text> = json_lines::read(&options.texts)?;
    let list = std::fs::read(&options.list).with_context(at(&options.list))?;
    let sets: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_slice(&list).with_context(at(&options.list))?;
    let commits: BTreeMap<String, String> = sets.into_values().flatten().chain(repositories()?).collect();
    let trees = Trees::new(options.work.as_deref())?;
    let statics = StaticVectors::shipped()?;
    let encoder = options.minilm.as_deref().map(|directory| minilm(directory, &Supervisor::default())).transpose()?;
    let mut asked = Vec::new();
    for of_repo in texts.chunk_by(|a, b| a.repo == b.repo) {
        let repo = &of_repo[0].repo;
        let commit = commits.get(repo).with_context(|| format!("no commit of {repo}"))?;
        let facts: Vec<(&str, &Text)> = of_repo.iter().filter_map(|text| Some((text.fact.as_deref()?, text))).collect();
        let tree = trees.checkout(&clone_of(&options.repos, repo), repo, commit, None)?;
        let lines = facts.iter().enumerate().map(|(at, (fact, text))| Line {
            ts: format!("2026-01-01T00:{:02}:{:02}Z", at / 60, at % 60),
            text: (*fact).to_owned(),
            session: format!("s{at}"),
            answers: if options.answers { text.answers.clone() } else { Vec::new() },
        });
        let records = tree.root.join(MAIN);
        let remembered = Remembered::start(home(), &tree.root, write(&records, lines)?, options.minilm.as_deref())?;
        let about = facts
            .iter()
            .enumerate()
            .flat_map(|(number, (_, text))| text.questions.iter().map(move |question| (question, Some(number))));
        let others = of_repo.iter().filter(|text| text.fact.is_none());
        let others = others.flat_map(|text| &text.questions).map(|question| (question, None));
        for (question, fact) in about.chain(others) {
            let ([packed, named], ranked) = (remembered.packed(question, asked.len())?, remembered.ranked(question));
            let minilm = encoder.as_ref().map(|encoder| encoder.embed_question(question)).transpose()?;
            let r#static = statics.embed_one(question);
            asked.push(Asked {
                repo: repo.clone(),
                question: question.clone(),
                fact,
                packed,
                named,
                ranked,
                r#static,
                minilm,
            });
        }
        progress(&format!("{repo}: {} questions so far", asked.len()));
        drop(remembered);
        // A kept tree is as before.
        std::fs::remove_file(&records).with_context(at(&records))?;
    }
    json_lines::write(options.per_question.as_deref(), &asked)?;
    Ok(report(&asked))
}

fn report(asked: &[Asked]) -> Report {
    let about: Vec<(&Asked, usize)> = asked.iter().filter_map(|one| Some((one, one.fact?))).collect();
    let unrelated: Vec<&Asked> = asked.iter().filter(|one| one.fact.is_none()).collect();
    let percent = |holds: &dyn Fn(&Asked, usize) -> bool| {
        percent_of(about.iter().filter(|(one, fact)| holds(one, *fact)).count(), about.len())
    };
    let within = |one: &Asked, fact: usize, most: usize| one.ranked.iter().take(most).any(|(other, _)| *other == fact);
    let others = |(one, fact): &(&Asked, usize)| one.packed.iter().filter(|other| **other != *fact).count();
    Report {
        facts: about.len(),
        reached: percent(&|one, fact| one.packed.contains(&fact) || one.named.contains(&fact)),
        injected: percent(&|one, fact| one.packed.contains(&fact)),
        first: percent(&|one, fact| within(one, fact, 1)),
        first_two: percent(&|one, fact| within(one, fact, 2)),
        beside: share(about.iter().map(others).sum(), about.len()),
        unrelated: unrelated.len(),
        wrong: percent_of(unrelated.iter().filter(|one| !one.packed.is_empty()).count(), unrelated.len()),
        wrong_named: percent_of(unrelated.iter().filter(|one| !one.named.is_empty()).count(), unrelated.len()),
        reliability: reliability(asked),
    }
}

/// Compares the probability of each recalled fact, its last feature, with whether it answers the question.
fn reliability(asked: &[Asked]) -> Vec<Tenth> {
    let mut tenths = vec![(0, 0.0, 0); 10];
    for one in asked {
        for (fact, features) in &one.ranked {
            let probability = f64::from(features["probability"]);
            let (facts, predicted, answers) = &mut tenths[((probability * 10.0) as usize).min(9)];
            *facts += 1;
            *predicted += probability;
            *answers += usize::from(one.fact == Some(*fact));
        }
    }
    tenths.retain(|(facts, ..)| *facts > 0);
    let tenth = |(facts, predicted, answers)| Tenth {
        facts,
        predicted: rounded(predicted / facts as f64),
        observed: share(answers, facts),
    };
    tenths.into_iter().map(tenth).collect()
}
