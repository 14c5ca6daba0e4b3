//! Scripted explorers, each with one behaviour.

use std::ops::RangeInclusive;
use std::sync::Arc;

use clap::ValueEnum;
use fastrand::Rng;
use muninn_context_engine::explore::REGISTRY_TOOLS;
use muninn_text::fnv::hash64;
use serde_json::json;

use crate::graded::instances::Instance;
use crate::graded::place::Place;
use crate::model::Policy;
use crate::model::answer::{Answer, Call, call};
use crate::model::conversation::Conversation;

/// Citations of one answer; the loop keeps no more.
const MOST_CITED: usize = 12;
const MOST_CALLS: usize = 16;
/// The number of candidates that the greedy reader reads in a turn.
const READ_AT_ONCE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PolicyName {
    /// Knows the gold files, finds and reads them with the tools, and cites the lines that it has seen.
    Oracle,
    /// Calls and cites at random, by a seed.
    Random,
    /// Reads all candidates and cites all that it read.
    Greedy,
    /// Answers in prose.
    Hopeless,
}

impl PolicyName {
    pub(super) const ALL: [Self; 4] = [Self::Oracle, Self::Random, Self::Greedy, Self::Hopeless];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Random => "random",
            Self::Greedy => "greedy",
            Self::Hopeless => "hopeless",
        }
    }

    pub(super) fn of(self, instance: &Instance) -> Policy {
        let seed = hash64(instance.instance_id.bytes());
        let gold = gold(instance);
        match self {
            Self::Oracle => Arc::new(move |conversation| oracle(&gold, conversation)),
            Self::Random => Arc::new(move |conversation| random(seed, conversation)),
            Self::Greedy => Arc::new(greedy),
            Self::Hopeless => Arc::new(move |conversation| hopeless(seed, conversation)),
        }
    }
}

struct Gold {
    path: String,
    /// The names of the definitions that answer the question, if they are known.
    names: Vec<String>,
}

fn gold(instance: &Instance) -> Vec<Gold> {
    let root = instance.root.as_deref().unwrap_or("").trim_matches('/');
    let mut gold = Vec::new();
    for file in &instance.gold_files {
        let spans = instance.gold_spans.as_ref().and_then(|spans| spans.get(file));
        let names = spans.into_iter().flatten().filter_map(|name| name.rsplit(['.', ':']).next());
        let is_whole = root.is_empty() || file.starts_with(&format!("{root}/"));
        let path = if is_whole { file.clone() } else { format!("{root}/{file}") };
        gold.push(Gold { path, names: names.map(str::to_owned).collect() });
    }
    gold
}

/// A turn to find the files by name, one to read them, one to cite the lines that were shown.
fn oracle(gold: &[Gold], conversation: &Conversation) -> Answer {
    let seen = conversation.seen();
    let found: Vec<&Gold> = gold.iter().filter(|gold| seen.iter().any(|place| place.path == gold.path)).collect();
    if conversation.turns == 0 && !conversation.is_last {
        let find = |gold: &Gold| match gold.path.rsplit_once('/') {
            Some((folder, name)) => call("find", json!({"name": name, "path": folder})),
            None => call("find", json!({"name": gold.path})),
        };
        return Answer::calls(gold.iter().take(MOST_CALLS).map(find));
    }
    if conversation.turns == 1 && !conversation.is_last && !found.is_empty() {
        let look = |gold: &&Gold| match gold.names.as_slice() {
            [] => call("read", json!({"path": gold.path, "first": 1, "last": 40})),
            names => {
                let names: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
                call("grep", json!({"pattern": format!(r"\b({})\b", names.join("|")), "path": gold.path}))
            }
        };
        return Answer::calls(found.iter().take(MOST_CALLS).map(look));
    }
    let cite = |gold: &&Gold| {
        let mut here = seen.iter().filter(|place| place.path == gold.path && place.lines.is_some());
        here.next_back().cloned().unwrap_or_else(|| Place { path: gold.path.clone(), lines: None })
    };
    Answer::cites(found.iter().map(cite).take(MOST_CITED))
}

/// Anything, the same each time for the same question.
fn random(seed: u64, conversation: &Conversation) -> Answer {
    let mut rng = Rng::with_seed(seed ^ (conversation.turns as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let seen = conversation.seen();
    let last_turn = 1 + (seed % 5) as usize;
    if conversation.is_last || conversation.turns >= last_turn {
        let count = rng.usize(0..=MOST_CITED);
        return Answer::cites((0..count).map(|_| any_place(&mut rng, conversation, &seen)));
    }
    let count = rng.usize(1..=8);
    Answer::calls((0..count).map(|_| any_call(&mut rng, conversation, &seen)))
}

fn any_call(rng: &mut Rng, conversation: &Conversation, seen: &[Place]) -> Call {
    let tool = REGISTRY_TOOLS[rng.usize(..REGISTRY_TOOLS.len())];
    let path = any_place(rng, conversation, seen).path;
    let word = any_word(rng, conversation);
    let arguments = match tool {
        "grep" if rng.bool() => json!({"pattern": word, "path": path}),
        "grep" => json!({"pattern": word, "ignore_case": rng.bool()}),
        "read" => json!({"path": path, "first": rng.u32(0..400), "last": rng.u32(0..600)}),
        "tree" | "list" | "symbols" => json!({"path": path}),
        "recall" => json!({"query": word}),
        "metis" => json!({}),
        _ => json!({"name": word}),
    };
    call(tool, arguments)
}

fn any_word(rng: &mut Rng, conversation: &Conversation) -> String {
    let words = conversation.question().split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| word.len() > 2).collect();
    rng.choice(words).unwrap_or("main").to_owned()
}

/// A seen place, one of these with other lines, or an invented one.
fn any_place(rng: &mut Rng, conversation: &Conversation, seen: &[Place]) -> Place {
    let lines = |rng: &mut Rng| {
        let first = rng.usize(1..500);
        Some(first..=first + rng.usize(0..50))
    };
    match (rng.choice(seen), rng.u8(0..4)) {
        (Some(place), 0 | 1) => place.clone(),
        (Some(place), 2) => Place { path: place.path.clone(), lines: lines(rng) },
        _ => Place { path: format!("src/{}.py", any_word(rng, conversation)), lines: lines(rng) },
    }
}

/// Reads the candidates in their order, some in each turn, and cites all that it read.
fn greedy(conversation: &Conversation) -> Answer {
    let candidates = conversation.candidates();
    let asked = conversation.results.len();
    if conversation.is_last || asked >= candidates.len() {
        return Answer::cites(conversation.read_places());
    }
    Answer::calls(candidates.iter().skip(asked).take(READ_AT_ONCE).map(|place| {
        let (first, last) = place.lines.clone().map_or((1, 60), RangeInclusive::into_inner);
        call("read", json!({"path": place.path, "first": first, "last": last}))
    }))
}

/// A small model that knows no tools.
fn hopeless(seed: u64, conversation: &Conversation) -> Answer {
    let mut rng = Rng::with_seed(seed);
    let seen = conversation.seen();
    let mut path = || rng.choice(&seen).map_or("main.py", |place| place.path.as_str()).to_owned();
    Answer::text(format!(
        "To solve this, you need to look at the code. I think that it is in {}, or else in `{}`. You should also check \
         {} and run the tests again. I hope this helps!",
        path(),
        path(),
        path()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_policy_is_deterministic_and_ends() {
        let opening = "Question:\nWhere?\n\nCandidates, best first:\n- src/x.py:3-9  x\n".to_owned();
        let mut conversation = Conversation { opening, ..Conversation::default() };
        for seed in ["a", "b", "c"].map(|name: &str| hash64(name.bytes())) {
            conversation.turns = 0;
            assert_eq!(random(seed, &conversation), random(seed, &conversation));
            conversation.turns = 5;
            assert!(matches!(random(seed, &conversation), Answer::Turn { calls, .. } if calls[0].tool == "final"));
        }
    }
}
