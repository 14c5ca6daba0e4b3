//! The cost of a turn beside its model, on a large tree.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use fastrand::Rng;
use muninn_context_engine::IndexStatus;
use muninn_context_engine::explore::{DeepLimits, Trace};
use serde::Serialize;
use serde_json::json;

use super::{Options, Stage, Timing};
use crate::graded::subject::Subject;
use crate::graded::trees::Tree;
use crate::harness::stats::{Percentiles, median, percentile, rounded};
use crate::harness::{procfs, progress, questions};
use crate::model::Policy;
use crate::model::answer::{Answer, call};
use crate::model::conversation::Conversation;

const QUESTIONS: usize = 8;
/// Turns of each that call tools; one more ends it.
const TURNS: usize = 5;
const GREPS: usize = 8;

/// Times are milliseconds: medians over rounds of each round's percentiles.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    rounds: usize,
    files: usize,
    overhead_ms: Percentiles,
    cheap_turn_ms: Percentiles,
    /// The time of a call in these turns, by tool. Calls run concurrently.
    cheap_call_ms: BTreeMap<String, Percentiles>,
    opening_ms: Percentiles,
    greps_ms: Percentiles,
    greps_for_nothing_ms: Percentiles,
    load1: [Option<f64>; 2],
}

#[derive(Default)]
struct Round {
    overhead: Vec<f64>,
    cheap: Vec<f64>,
    calls: BTreeMap<String, Vec<f64>>,
    opening: Vec<f64>,
    greps: Vec<f64>,
    for_nothing: Vec<f64>,
}

pub(super) fn run(options: &Options, root: &Path) -> Result<Report> {
    let load = procfs::load1();
    let temporary = tempfile::tempdir()?;
    let work = options.work.as_deref().unwrap_or(temporary.path());
    let tree = Tree { root: root.to_owned(), cache: work.join("explore-overhead") };
    let subject = Subject::index(&tree, options.embedder.load(options.model.as_deref())?)?;
    let files = match subject.engine.status() {
        IndexStatus::Ready { files, .. } => files,
        _ => 0,
    };
    progress(&format!("{files} files, index {:.1?}, vectors {:.1?}", subject.index, subject.embedding));
    let questions = questions::sample(root, QUESTIONS * (options.rounds + 1))?;
    let stage = Stage::start(Vec::new(), false)?;
    let mut rounds = Vec::new();
    for (at, questions) in questions.chunks(QUESTIONS).enumerate() {
        rounds.push(round(&stage, &subject, questions, at as u64));
        progress(&format!("round {at} of {}, load {:?}", options.rounds, procfs::load1()));
    }
    // The first round fills caches.
    let rounds = rounds.get(1..).unwrap_or_default();
    let of = |times: &dyn Fn(&Round) -> &Vec<f64>| medians(rounds.iter().map(times).collect());
    let mut calls: BTreeMap<&String, Vec<&Vec<f64>>> = BTreeMap::new();
    for (tool, times) in rounds.iter().flat_map(|round| &round.calls) {
        calls.entry(tool).or_default().push(times);
    }
    Ok(Report {
        rounds: rounds.len(),
        files,
        overhead_ms: of(&|round| &round.overhead),
        cheap_turn_ms: of(&|round| &round.cheap),
        cheap_call_ms: calls.into_iter().map(|(tool, times)| (tool.clone(), medians(times))).collect(),
        opening_ms: of(&|round| &round.opening),
        greps_ms: of(&|round| &round.greps),
        greps_for_nothing_ms: of(&|round| &round.for_nothing),
        load1: [load, procfs::load1()],
    })
}

/// The medians over rounds of each round's percentiles.
fn medians(rounds: Vec<&Vec<f64>>) -> Percentiles {
    let of = |q: f64| {
        let each = rounds.iter().filter_map(|times| percentile(&mut (*times).clone(), q));
        median(each.collect()).map(rounded)
    };
    Percentiles { p50: of(0.5), p95: of(0.95) }
}

fn round(stage: &Stage, subject: &Subject, questions: &[String], seed: u64) -> Round {
    let explore = |question: &str, policy| -> Option<(Timing, Trace)> {
        let explored = stage.explore(subject, question, &DeepLimits::default(), policy);
        Some((stage.timing(&explored)?, explored.found.trace))
    };
    let mut round = Round::default();
    for (at, question) in questions.iter().enumerate() {
        let seed = seed * QUESTIONS as u64 + at as u64;
        let policy: Policy = Arc::new(move |conversation| cheap(seed, conversation));
        if let Some((timing, trace)) = explore(question, policy) {
            let turns = timing.with_tools.len().saturating_sub(1);
            round.overhead.extend(&timing.beside[..turns]);
            round.cheap.extend(&timing.with_tools[..turns]);
            for call in trace.turns.iter().flat_map(|turn| &turn.calls).filter(|call| !call.repeated) {
                round.calls.entry(call.tool.clone()).or_default().push(call.ms);
            }
            round.opening.push(timing.opening);
        }
        let held = words(questions, at);
        let absent = held.iter().map(|word| format!("{word}zqxj{seed}")).collect();
        for (words, times) in [(held, &mut round.greps), (absent, &mut round.for_nothing)] {
            let policy: Policy = Arc::new(move |conversation| greps(&words, conversation));
            let traced = explore(question, policy);
            times.extend(traced.and_then(|(_, trace)| Some(trace.turns.first()?.tools_ms)));
        }
    }
    round
}

/// Five calls a turn that look at little: files of the candidates, and names that results hold.
fn cheap(seed: u64, conversation: &Conversation) -> Answer {
    let mut rng = Rng::with_seed(seed ^ ((conversation.turns as u64 + 1) << 32));
    let seen = conversation.seen();
    let goes_on = conversation.turns < TURNS && !conversation.is_last;
    let Some(place) = rng.choice(&seen).filter(|_| goes_on) else {
        return Answer::cites(seen.iter().take(3));
    };
    let path = &place.path;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = names(conversation);
    let first = rng.u32(1..200);
    let mut name = |default: &str| rng.choice(&names).map_or(default, String::as_str).to_owned();
    Answer::calls([
        call("read", json!({"path": path, "first": first, "last": first + 60})),
        call("symbols", json!({"path": path})),
        call("tree", json!({"path": folder, "depth": 1 + conversation.turns})),
        call("definition", json!({"name": name("new")})),
        call("callers", json!({"name": name("parse")})),
    ])
}

/// Names of what the last results define.
fn names(conversation: &Conversation) -> Vec<String> {
    let signatures = conversation.results.iter().rev().filter(|result| result.tool == "symbols");
    let words = signatures.flat_map(|result| result.text.split(['(', '<', '{', ' ', ':', '\n', '&']));
    let names = words.filter(|word| word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    names.take(200).map(str::to_owned).collect()
}

/// Eight searches in one turn: whole words and parts of names, by turns.
fn greps(words: &[String], conversation: &Conversation) -> Answer {
    if conversation.turns > 0 || conversation.is_last {
        return Answer::cites(conversation.seen().iter().take(3));
    }
    Answer::calls(words.iter().enumerate().map(|(at, word)| {
        let pattern = if at % 2 == 0 { format!(r"\b{word}\b") } else { format!(r"(fn|let)\s+\w*{word}\w*") };
        call("grep", json!({"pattern": pattern}))
    }))
}

/// Eight words of the questions from this one on, the longer ones, each once.
fn words(questions: &[String], from: usize) -> Vec<String> {
    let order = questions.iter().cycle().skip(from).take(questions.len());
    let words = order.flat_map(|question| question.split(|c: char| !c.is_ascii_alphanumeric()));
    let mut chosen: Vec<String> = Vec::new();
    for word in words.filter(|word| word.len() > 5) {
        let word = word.to_ascii_lowercase();
        if chosen.len() < GREPS && !chosen.contains(&word) {
            chosen.push(word);
        }
    }
    chosen
}
