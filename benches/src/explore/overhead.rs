//! The cost of a turn beside its model, on a large tree.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use fastrand::Rng;
use muninn_backend::BlockingClient;
use muninn_context_engine::IndexStatus;
use muninn_context_engine::explore::{DeepLimits, Trace};
use muninn_text::embed::Embedder;
use serde::Serialize;
use serde_json::json;

use super::row;
use super::timing::Timing;
use crate::command_line::progress;
use crate::localization::report::Percentiles;
use crate::procfs;
use crate::report::rounded;
use crate::scale::queries;
use crate::scripted::heard::Heard;
use crate::scripted::remote;
use crate::scripted::said::{Said, Spoken};
use crate::scripted::server::ModelServer;
use crate::stats::{median, percentile};
use crate::subject::Subject;
use crate::trees::Tree;

/// Explorations of one round.
const QUESTIONS: usize = 8;
/// Turns of each that call tools; one more ends it.
const TURNS: usize = 5;
/// Searches of one turn.
const GREPS: usize = 8;

/// The report, on the last line of stdout. All but `load1` are milliseconds: medians over rounds of each round's percentiles.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Rounds, of eight explorations each.
    pub rounds: usize,
    /// Files in the index.
    pub files: usize,
    /// The time of a turn without its model and its tools.
    pub overhead_ms: Percentiles,
    /// The time of a turn with five cheap calls, without its model.
    pub cheap_turn_ms: Percentiles,
    /// The time of a call in these turns, by tool. Calls run concurrently.
    pub cheap_call_ms: BTreeMap<String, Percentiles>,
    /// Before the first request: lexical lane, tree, first message.
    pub opening_ms: Percentiles,
    /// Eight searches of one turn, of words that the tree holds.
    pub greps_ms: Percentiles,
    /// Eight searches of one turn, of absent words, so that no search ends early.
    pub greps_for_nothing_ms: Percentiles,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// The times of a round.
#[derive(Default)]
struct Round {
    overhead: Vec<f64>,
    cheap: Vec<f64>,
    calls: BTreeMap<String, Vec<f64>>,
    opening: Vec<f64>,
    greps: Vec<f64>,
    for_nothing: Vec<f64>,
}

/// Indexes the tree, and explores it in rounds.
pub(crate) fn run(
    root: &Path,
    work: Option<&Path>,
    embedder: Option<Arc<dyn Embedder>>,
    rounds: usize,
) -> Result<Report> {
    let load = procfs::load1();
    let temporary = tempfile::tempdir()?;
    let tree = Tree { root: root.to_owned(), cache: work.unwrap_or(temporary.path()).join("explore-overhead") };
    let subject = Subject::index(&tree, embedder)?;
    let files = match subject.engine.status() {
        IndexStatus::Ready { files, .. } => files,
        _ => 0,
    };
    progress(&format!(
        "{files} files, index {:.1} s, vectors {:.1} s",
        subject.index.as_secs_f64(),
        subject.embedding.as_secs_f64()
    ));
    let questions = queries::sample(root, QUESTIONS * (rounds + 1))?;
    let server = ModelServer::start(Vec::new(), false);
    let blocking_client = remote::blocking_client()?;
    let mut done = Vec::new();
    for (at, questions) in questions.chunks(QUESTIONS).enumerate() {
        let round = Round::of(&subject, questions, at as u64, &server, &blocking_client);
        // The first fills caches.
        match at {
            0 => {}
            _ => done.push(round),
        }
        progress(&format!("round {at} of {rounds}, load {:?}", procfs::load1()));
    }
    let report = report(files, &done, [load, procfs::load1()]);
    row(&report.text())?;
    Ok(report)
}

impl Round {
    fn of(
        subject: &Subject,
        questions: &[String],
        seed: u64,
        server: &ModelServer,
        blocking_client: &BlockingClient,
    ) -> Self {
        let mut round = Self::default();
        for (at, question) in questions.iter().enumerate() {
            let seed = seed * QUESTIONS as u64 + at as u64;
            let cheap = move |heard: &Heard| cheap(seed, heard);
            if let Some((timing, trace)) = explore(subject, question, Arc::new(cheap), server, blocking_client) {
                let turns = timing.with_tools.len().saturating_sub(1);
                round.overhead.extend(&timing.beside[..turns]);
                round.cheap.extend(&timing.with_tools[..turns]);
                for call in trace.turns.iter().flat_map(|turn| &turn.calls).filter(|call| !call.repeated) {
                    round.calls.entry(call.tool.clone()).or_default().push(call.ms);
                }
                round.opening.push(timing.opening);
            }
            let held: Vec<String> = words(questions, at);
            let absent = held.iter().map(|word| format!("{word}zqxj{seed}")).collect();
            for (words, times) in [(held, &mut round.greps), (absent, &mut round.for_nothing)] {
                let greps = move |heard: &Heard| greps(&words, heard);
                if let Some((_, trace)) = explore(subject, question, Arc::new(greps), server, blocking_client) {
                    times.extend(trace.turns.first().map(|turn| turn.tools_ms));
                }
            }
        }
        round
    }
}

/// Explores, and tells the times and what was done.
fn explore(
    subject: &Subject,
    question: &str,
    policy: Arc<dyn crate::scripted::said::Policy>,
    server: &ModelServer,
    blocking_client: &BlockingClient,
) -> Option<(Timing, Trace)> {
    server.play(policy);
    let model = remote::model(blocking_client, server.url(), "scripted");
    let started = Instant::now();
    let found = subject.engine.explore_deep(question, &DeepLimits::default(), &model, &());
    let timing = Timing::of(started, Instant::now(), &server.log().exchanges, &found.trace)?;
    Some((timing, found.trace))
}

/// Five calls a turn that look at little: files of the candidates, and names that results hold.
fn cheap(seed: u64, heard: &Heard) -> Said {
    let mut rng = Rng::with_seed(seed ^ ((heard.turns as u64 + 1) << 32));
    let seen = heard.seen();
    let Some(place) = rng.choice(&seen).filter(|_| heard.turns < TURNS && !heard.is_last) else {
        return Said::cites(seen.iter().take(3));
    };
    let path = &place.path;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = || names(heard);
    let first = rng.u32(1..200);
    Said::calls(vec![
        Spoken::new("read", &json!({"path": path, "first": first, "last": first + 60})),
        Spoken::new("symbols", &json!({"path": path})),
        Spoken::new("tree", &json!({"path": folder, "depth": 1 + heard.turns})),
        Spoken::new("definition", &json!({"name": rng.choice(names()).unwrap_or_else(|| "new".to_owned())})),
        Spoken::new("callers", &json!({"name": rng.choice(names()).unwrap_or_else(|| "parse".to_owned())})),
    ])
}

/// Names of what the last results define.
fn names(heard: &Heard) -> Vec<String> {
    let signatures = heard.results.iter().rev().filter(|result| result.tool == "symbols");
    let words = signatures.flat_map(|result| result.text.split(['(', '<', '{', ' ', ':', '\n', '&']));
    let names = words.filter(|word| word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    names.take(200).map(str::to_owned).collect()
}

/// Eight searches in one turn: whole words and parts of names, by turns.
fn greps(words: &[String], heard: &Heard) -> Said {
    if heard.turns > 0 || heard.is_last {
        return Said::cites(heard.seen().iter().take(3));
    }
    let grep = |(at, word): (usize, &String)| match at % 2 {
        0 => Spoken::new("grep", &json!({"pattern": format!(r"\b{word}\b")})),
        _ => Spoken::new("grep", &json!({"pattern": format!(r"(fn|let)\s+\w*{word}\w*")})),
    };
    Said::calls(words.iter().enumerate().map(grep).collect())
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

fn report(files: usize, rounds: &[Round], load1: [Option<f64>; 2]) -> Report {
    let mut calls: BTreeMap<&String, Vec<&Vec<f64>>> = BTreeMap::new();
    for (tool, times) in rounds.iter().flat_map(|round| &round.calls) {
        calls.entry(tool).or_default().push(times);
    }
    let of = |times: &dyn Fn(&Round) -> &Vec<f64>| medians(rounds.iter().map(times));
    Report {
        rounds: rounds.len(),
        files,
        overhead_ms: of(&|round| &round.overhead),
        cheap_turn_ms: of(&|round| &round.cheap),
        cheap_call_ms: calls.into_iter().map(|(tool, times)| (tool.clone(), medians(times.into_iter()))).collect(),
        opening_ms: of(&|round| &round.opening),
        greps_ms: of(&|round| &round.greps),
        greps_for_nothing_ms: of(&|round| &round.for_nothing),
        load1,
    }
}

/// The medians over rounds of what each round has.
fn medians<'a>(rounds: impl Iterator<Item = &'a Vec<f64>> + Clone) -> Percentiles {
    let of = |q: f64| {
        let each = rounds.clone().filter_map(|times| percentile(&mut times.clone(), q));
        median(each.collect()).map(rounded)
    };
    Percentiles { p50: of(0.5), p95: of(0.95) }
}

impl Report {
    fn text(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let line = |name: &str, times: Percentiles| {
            format!("{name:<44} p50 {:>8} ms   p95 {:>8} ms", number(times.p50), number(times.p95))
        };
        let mut lines = vec![
            line("a turn beside model and tools", self.overhead_ms),
            line("a turn of five cheap calls beside the model", self.cheap_turn_ms),
        ];
        lines.extend(self.cheap_call_ms.iter().map(|(tool, ms)| line(&format!("  {tool}"), *ms)));
        lines.extend([
            line("before the first request", self.opening_ms),
            line("eight searches in one turn", self.greps_ms),
            line("eight searches for what is not there", self.greps_for_nothing_ms),
        ]);
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_turns_call_five_tools_and_end() {
        let mut heard = Heard {
            opening: "Question:\nq\n\nCandidates, best first:\n- src/a.rs:3-9  x\n".to_owned(),
            ..Heard::default()
        };
        let tools = |said: Said| match said {
            Said::Answer { calls, .. } => calls.into_iter().map(|call| call.tool).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(tools(cheap(1, &heard)), ["read", "symbols", "tree", "definition", "callers"]);
        heard.turns = TURNS;
        assert_eq!(tools(cheap(1, &heard)), ["final"]);
        let words = words(&["Reading buffers again".to_owned(), "buffers of writing".to_owned()], 1);
        assert_eq!(words, ["buffers", "writing", "reading"]);
        heard.turns = 0;
        assert_eq!(tools(greps(&words, &heard)), ["grep"; 3]);
    }
}
