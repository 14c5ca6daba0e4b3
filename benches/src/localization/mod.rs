//! Whether the files and lines that answer a question are found.
//!
//! Each instance is a question about a repository at a commit, with the files that answer it. The tree is checked out,
//! indexed and asked, one instance after another, so that nothing else runs during a measurement. Ranks are taken without
//! the threshold, which `abstain` measures.

mod report;
mod spans;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use muninn_context_engine::{Lists, Tuning};
use serde::Serialize;

use self::report::{Ablation, BUDGETS, Report, Scores};
use self::spans::lines_of;
use crate::graded::embedder::EmbedderName;
use crate::graded::instances::{self, Instance};
use crate::graded::subject::{Subject, packed};
use crate::graded::trees::Trees;
use crate::harness::stats::{millis, rounded};
use crate::harness::{json_lines, line, progress};

/// The depth to which the list is searched for gold files.
const KEEP: usize = 200;
const SHOWN: usize = 10;

/// Measures whether the files that questions are about are found.
///
/// Progress goes to stderr; the last line on stdout is one JSON object, and with --ablate a line for each run before it.
#[derive(Debug, Clone, Parser)]
#[command(name = "localization")]
pub(crate) struct Options {
    /// Questions with the files that answer them, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    instances: PathBuf,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// The embedder to rank with.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    model: Option<PathBuf>,
    /// Keep trees and their indexes here from run to run, so that the next is fast; without it every index is made anew.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Measure again without each of these lists, or without each there is.
    #[arg(long, value_name = "LISTS", value_delimiter = ',', num_args = 0.., value_parser = list_names())]
    ablate: Option<Vec<String>>,
    /// Write one JSON object for each instance: ranks of the gold files, the best ten files.
    #[arg(long, value_name = "FILE")]
    per_instance: Option<PathBuf>,
    /// Only instances whose id or repository contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

fn list_names() -> clap::builder::PossibleValuesParser {
    Lists::EACH.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

/// The answer to an instance, in the run with all lists.
#[derive(Debug, Clone, Serialize)]
struct Answer {
    instance_id: String,
    repo: String,
    /// The rank of each gold file, counted from 1.
    gold: BTreeMap<String, Option<usize>>,
    /// The best ten files with their scores.
    top: Vec<(String, f32)>,
    /// Whether each gold span is packed, by budget.
    spans: BTreeMap<String, [bool; BUDGETS.len()]>,
    /// Gold spans that are no definitions.
    unknown_spans: usize,
    /// Gold files that the tree does not hold.
    absent: usize,
    query_ms: f64,
    index_s: f64,
    embedding_s: f64,
    cold: bool,
    /// For each run.
    #[serde(skip)]
    scores: Vec<Scores>,
}

/// A ranking with all lists, or without one.
type Run = (Option<&'static str>, Tuning);

pub(crate) fn run(options: &Options) -> Result<Report> {
    let instances = instances::read(&options.instances, options.only.as_deref())?;
    let embedder = options.embedder.load(options.model.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let runs = runs(options.ablate.as_deref());
    let mut answers = Vec::new();
    let mut failed = Vec::new();
    for (at, instance) in instances.iter().enumerate() {
        let tree = trees.of_instance(&options.repos, instance);
        match tree.and_then(|tree| Subject::index(&tree, embedder.clone())) {
            Ok(subject) => {
                let answer = Answer::of(&subject, instance, &runs);
                let Answer { instance_id, gold, query_ms, .. } = &answer;
                progress(&format!("{:>3}/{} {instance_id}: {gold:?}, {query_ms} ms", at + 1, instances.len()));
                answers.push(answer);
            }
            Err(error) => {
                let error = error.context(format!("instance {}", instance.instance_id));
                progress(&format!("skipped: {error:#}"));
                failed.push(error);
            }
        }
    }
    json_lines::write(options.per_instance.as_deref(), &answers)?;
    let skipped = failed.len();
    if let (true, Some(error)) = (answers.is_empty(), failed.pop()) {
        return Err(error);
    }
    summarize(&answers);
    if options.ablate.is_some() {
        let scores = |run: usize| answers.iter().map(|answer| answer.scores[run]).collect::<Vec<Scores>>();
        for (at, (without, _)) in runs.iter().enumerate() {
            line(&Ablation::of(*without, &scores(at), &scores(0)))?;
        }
    }
    Ok(report(&answers, skipped))
}

/// The full run first, then each without a list; only the full one if nothing is ablated, all if no list is named.
fn runs(ablate: Option<&[String]>) -> Vec<Run> {
    let tuning = |lists| Tuning { lists, decide: false };
    let chosen = |name: &str| ablate.is_some_and(|names| names.is_empty() || names.iter().any(|one| one == name));
    let ablated = Lists::EACH.iter().filter(|(name, _)| chosen(name));
    let ablated = ablated.map(|(name, list)| (Some(*name), tuning(Lists::ALL.without(*list))));
    std::iter::once((None, tuning(Lists::ALL))).chain(ablated).collect()
}

fn summarize(answers: &[Answer]) {
    let cold = answers.iter().filter(|answer| answer.cold).count();
    let sum = |value: fn(&Answer) -> usize| answers.iter().map(value).sum::<usize>();
    let spans = sum(|answer| answer.spans.len());
    let (unknown, absent) = (sum(|answer| answer.unknown_spans), sum(|answer| answer.absent));
    let embedding: f64 = answers.iter().map(|answer| answer.embedding_s).sum();
    progress(&format!(
        "{cold} of {} indexes were made anew; vectors took {:.2} s a tree; {spans} gold spans are definitions, {unknown} \
         are not and do not count; {absent} gold files are not in their tree",
        answers.len(),
        embedding / answers.len() as f64
    ));
}

fn report(answers: &[Answer], skipped: usize) -> Report {
    let mut by_repo: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for answer in answers {
        by_repo.entry(answer.repo.clone()).or_default().push(answer.scores[0]);
    }
    let seconds: f64 = answers.iter().map(|answer| answer.index_s).sum();
    let millis = answers.iter().map(|answer| answer.query_ms).collect();
    Report::of(by_repo, millis, rounded(seconds / answers.len() as f64), skipped)
}

/// A gold span, with the lines of each definition of its name.
struct GoldSpan {
    path: String,
    name: String,
    lines: Vec<RangeInclusive<usize>>,
}

impl Answer {
    fn of(subject: &Subject, instance: &Instance, runs: &[Run]) -> Self {
        let (spans, unknown_spans) = gold_spans(subject, instance);
        let holds = |gold: &String| {
            let from = |folder: &str| subject.root().join(folder).join(gold).is_file();
            from("") || instance.root.as_deref().is_some_and(from)
        };
        let mut answer = Self {
            instance_id: instance.instance_id.clone(),
            repo: instance.repo.clone(),
            gold: BTreeMap::new(),
            top: Vec::new(),
            spans: BTreeMap::new(),
            unknown_spans,
            absent: instance.gold_files.iter().filter(|gold| !holds(gold)).count(),
            query_ms: 0.0,
            index_s: rounded(subject.index.as_secs_f64()),
            embedding_s: rounded(subject.embedding.as_secs_f64()),
            cold: subject.cold,
            scores: Vec::new(),
        };
        for (run, (_, tuning)) in runs.iter().enumerate() {
            let started = Instant::now();
            let packs = BUDGETS.map(|budget| {
                let found = subject.ask(&instance.query, budget, *tuning);
                // The first budget of the first run is timed, because it is a new question.
                if run == 0 && budget == BUDGETS[0] {
                    answer.query_ms = rounded(millis(started.elapsed()));
                }
                packed(&found)
            });
            let ranking = subject.engine.rank(&instance.query, *tuning, KEEP).files;
            let rank = |gold: &String| {
                let at = ranking.iter().position(|file| instance.is_gold(gold, file.path.as_str()));
                at.map(|at| at + 1)
            };
            let ranks: Vec<_> = instance.gold_files.iter().map(rank).collect();
            let seen = |span: &GoldSpan| {
                packs.each_ref().map(|pack| {
                    let here = pack.iter().filter(|(place, _)| instance.is_gold(&span.path, &place.path));
                    let lines: Vec<_> = here.filter_map(|(place, _)| place.lines.clone()).collect();
                    span.lines.iter().any(|definition| is_packed(definition, &lines))
                })
            };
            let seen: Vec<_> = spans.iter().map(seen).collect();
            let recall = [0, 1].map(|budget| {
                let found = seen.iter().filter(|seen| seen[budget]).count();
                (!seen.is_empty()).then(|| found as f64 / seen.len() as f64)
            });
            answer.scores.push(Scores::new(&ranks, recall));
            if run == 0 {
                answer.gold = instance.gold_files.iter().cloned().zip(ranks).collect();
                let top = ranking.iter().take(SHOWN);
                answer.top = top.map(|file| (file.path.to_string(), file.score)).collect();
                let names = spans.iter().map(|span| format!("{}:{}", span.path, span.name));
                answer.spans = names.zip(seen).collect();
            }
        }
        answer
    }
}

/// The gold spans that are definitions, and the number of the others.
fn gold_spans(subject: &Subject, instance: &Instance) -> (Vec<GoldSpan>, usize) {
    let (mut known, mut unknown) = (Vec::new(), 0);
    for (path, names) in instance.gold_spans.iter().flatten() {
        let text = std::fs::read(subject.root().join(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for name in names {
            let lines = lines_of(&text, name);
            if lines.is_empty() {
                unknown += 1;
            } else {
                known.push(GoldSpan { path: path.clone(), name: name.clone(), lines });
            }
        }
    }
    (known, unknown)
}

/// Whether at least half of a definition's lines are packed.
fn is_packed(definition: &RangeInclusive<usize>, packed: &[RangeInclusive<usize>]) -> bool {
    let lines = definition.clone().count();
    let seen = definition.clone().filter(|line| packed.iter().any(|span| span.contains(line)));
    lines > 0 && seen.count() * 2 >= lines
}

#[cfg(test)]
mod tests {
    use muninn_tests::Repository;
    use serde_json::json;

    use super::*;

    #[test]
    fn half_of_a_definition_is_enough() {
        assert!(is_packed(&(10..=13), &[1..=10, 13..=20]));
        assert!(!is_packed(&(10..=13), &[1..=10]));
    }

    #[test]
    fn files_and_spans_are_graded() {
        let parser = "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n";
        let writer = "class Writer:\n    def write_rows(self, rows):\n        self.out.extend(rows)\n";
        let repository = Repository::with(&[("lib/parser.py", parser), ("lib/writer.py", writer)]);
        let tree = crate::graded::trees::Tree {
            root: repository.root().to_owned(),
            cache: repository.root().join(".git/cache"),
        };
        let subject = Subject::index(&tree, None).unwrap();
        let answer = |query: &str, root: &str, gold: &[&str]| {
            let instance = json!({
                "repo": "o/r", "base_commit": "0", "root": root, "query": query, "gold_files": gold,
                "gold_spans": {"lib/parser.py": ["Parser.parse_header", "imports"]},
            });
            Answer::of(&subject, &serde_json::from_value(instance).unwrap(), &runs(None))
        };
        let issue = answer("parse_header fails on a malformed header line", "", &["lib/parser.py", "gone.py"]);
        assert_eq!((issue.gold["lib/parser.py"], issue.gold["gone.py"], issue.absent), (Some(1), None, 1));
        assert_eq!((issue.spans["lib/parser.py:Parser.parse_header"], issue.unknown_spans), ([true; 2], 1));
        assert_eq!(answer("where are rows written?", "lib", &["writer.py"]).gold["writer.py"], Some(1));
    }
}
