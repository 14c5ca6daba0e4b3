//! Scripted explorers, each with one behaviour.

use std::collections::BTreeSet;

use clap::ValueEnum;
use fastrand::Rng;
use muninn_context_engine::explore::REGISTRY_TOOLS;
use serde_json::{Value, json};

use crate::instances::Instance;
use crate::scripted::heard::{Heard, Place, places};
use crate::scripted::said::{Policy, Said, Spoken};

/// Citations of one answer; the loop keeps no more.
const MOST_CITED: usize = 12;
/// Calls of one turn.
const MOST_CALLS: usize = 16;
/// The number of lines that the greedy reader reads at once.
const READ_AT_ONCE: usize = 4;

/// A policy of an explorer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
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
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Oracle, Self::Random, Self::Greedy, Self::Hopeless];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Random => "random",
            Self::Greedy => "greedy",
            Self::Hopeless => "hopeless",
        }
    }

    /// An explorer with this policy for one question.
    pub(crate) fn of(self, instance: &Instance) -> std::sync::Arc<dyn Policy> {
        let seed = seed(&instance.instance_id);
        match self {
            Self::Oracle => std::sync::Arc::new(Oracle::of(instance)),
            Self::Random => std::sync::Arc::new(move |heard: &Heard| random(seed, heard)),
            Self::Greedy => std::sync::Arc::new(greedy),
            Self::Hopeless => std::sync::Arc::new(move |heard: &Heard| hopeless(seed, heard)),
        }
    }
}

/// FNV-1a.
fn seed(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A turn to find the files by name, one to read them, one to cite the lines that were shown.
struct Oracle {
    gold: Vec<Gold>,
}

struct Gold {
    path: String,
    /// The names of its definitions that are meant, if it is known which.
    names: Vec<String>,
}

impl Oracle {
    fn of(instance: &Instance) -> Self {
        let names = |path: &String| {
            let spans = instance.gold_spans.iter().flatten();
            let spans = spans.filter(|(of, _)| *of == path).flat_map(|(_, names)| names);
            let last = spans.filter_map(|name| name.rsplit(['.', ':']).next());
            last.map(str::to_owned).collect()
        };
        let root = instance.root.as_deref().unwrap_or("").trim_matches('/');
        let gold = instance.gold_files.iter().map(|path| Gold {
            path: match root {
                "" => path.clone(),
                root if path.starts_with(&format!("{root}/")) => path.clone(),
                root => format!("{root}/{path}"),
            },
            names: names(path),
        });
        Self { gold: gold.collect() }
    }

    /// Finds each file by its name.
    fn find(&self) -> Vec<Spoken> {
        let find = |gold: &Gold| match gold.path.rsplit_once('/') {
            Some((folder, name)) => Spoken::new("find", &json!({"name": name, "path": folder})),
            None => Spoken::new("find", &json!({"name": gold.path})),
        };
        self.gold.iter().take(MOST_CALLS).map(find).collect()
    }

    /// Looks for the definitions, or reads the beginning.
    fn look(&self, seen: &BTreeSet<String>) -> Vec<Spoken> {
        let found = self.gold.iter().filter(|gold| seen.contains(&gold.path));
        let look = |gold: &Gold| match gold.names.as_slice() {
            [] => Spoken::new("read", &json!({"path": gold.path, "first": 1, "last": 40})),
            names => {
                let names: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
                let pattern = format!(r"\b({})\b", names.join("|"));
                Spoken::new("grep", &json!({"pattern": pattern, "path": gold.path}))
            }
        };
        found.take(MOST_CALLS).map(look).collect()
    }

    fn cite(&self, heard: &Heard) -> Said {
        let seen = heard.seen();
        let shown = |gold: &&Gold| seen.iter().any(|place| place.path == gold.path);
        let cite = |gold: &Gold| {
            let mut here = seen.iter().filter(|place| place.path == gold.path && place.lines.is_some());
            here.next_back().cloned().unwrap_or_else(|| Place { path: gold.path.clone(), lines: None })
        };
        Said::cites(self.gold.iter().filter(shown).map(cite).take(MOST_CITED))
    }
}

impl Policy for Oracle {
    fn answer(&self, heard: &Heard) -> Said {
        let paths = heard.seen().into_iter().map(|place| place.path).collect();
        match heard.turns {
            _ if heard.is_last => self.cite(heard),
            0 => Said::calls(self.find()),
            1 => match self.look(&paths) {
                calls if calls.is_empty() => self.cite(heard),
                calls => Said::calls(calls),
            },
            _ => self.cite(heard),
        }
    }
}

/// Anything, the same each time for the same question.
fn random(seed: u64, heard: &Heard) -> Said {
    let mut rng = Rng::with_seed(seed ^ (heard.turns as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let seen = heard.seen();
    let last_turn = 1 + (seed % 5) as usize;
    if heard.is_last || heard.turns >= last_turn {
        let count = rng.usize(0..=MOST_CITED);
        let places: Vec<Place> = (0..count).map(|_| any_place(&mut rng, heard, &seen)).collect();
        return Said::cites(places);
    }
    let count = rng.usize(1..=8);
    Said::calls((0..count).map(|_| any_call(&mut rng, heard, &seen)).collect())
}

fn any_call(rng: &mut Rng, heard: &Heard, seen: &[Place]) -> Spoken {
    let tool = REGISTRY_TOOLS[rng.usize(..REGISTRY_TOOLS.len())];
    let path = any_place(rng, heard, seen).path;
    let word = any_word(rng, heard);
    let arguments = match tool {
        "grep" if rng.bool() => json!({"pattern": word, "path": path}),
        "grep" => json!({"pattern": word, "ignore_case": rng.bool()}),
        "read" => {
            let first = rng.u32(0..400);
            json!({"path": path, "first": first, "last": rng.u32(0..600)})
        }
        "tree" | "list" | "symbols" => json!({"path": path}),
        "recall" => json!({"query": word}),
        "metis" => json!({}),
        _ => json!({"name": word}),
    };
    Spoken::new(tool, &arguments)
}

fn any_word(rng: &mut Rng, heard: &Heard) -> String {
    let words = heard.question().split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| word.len() > 2).collect();
    rng.choice(words).unwrap_or("main").to_owned()
}

/// A place that it was told of, one of these with other lines, or one that it makes up.
fn any_place(rng: &mut Rng, heard: &Heard, seen: &[Place]) -> Place {
    let lines = |rng: &mut Rng| {
        let first = rng.u32(1..500);
        Some((first, first + rng.u32(0..50)))
    };
    match (rng.choice(seen), rng.u8(0..4)) {
        (Some(place), 0 | 1) => place.clone(),
        (Some(place), 2) => Place { path: place.path.clone(), lines: lines(rng) },
        _ => Place { path: format!("src/{}.py", any_word(rng, heard)), lines: lines(rng) },
    }
}

/// Reads the candidates in their order, some in each turn, and cites all that it read.
fn greedy(heard: &Heard) -> Said {
    let candidates = heard.candidates();
    let asked = heard.results.len();
    if heard.is_last || asked >= candidates.len() {
        let read = heard.results.iter().flat_map(|result| places(&result.tool, &result.text));
        return Said::cites(read);
    }
    let next = candidates.iter().skip(asked).take(READ_AT_ONCE);
    let read = |place: &Place| {
        let (first, last) = place.lines.unwrap_or((1, 60));
        let arguments: Value = json!({"path": place.path, "first": first, "last": last});
        Spoken::new("read", &arguments)
    };
    Said::calls(next.map(read).collect())
}

/// A small model that knows no tools.
fn hopeless(seed: u64, heard: &Heard) -> Said {
    let mut rng = Rng::with_seed(seed);
    let seen = heard.seen();
    let mut path = || rng.choice(&seen).map_or("main.py", |place| place.path.as_str()).to_owned();
    Said::words(format!(
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
    use crate::scripted::heard::Heeded;

    fn instance() -> Instance {
        let line = json!({
            "instance_id": "o__r-1", "repo": "o/r", "base_commit": "0", "query": "q",
            "gold_files": ["src/a.py", "b.py", "src/gone.py"], "gold_spans": {"src/a.py": ["A.run"]},
        });
        serde_json::from_value(line).unwrap()
    }

    fn result(tool: &str, text: &str) -> Heeded {
        Heeded { tool: tool.to_owned(), text: text.to_owned() }
    }

    fn opening() -> Heard {
        Heard {
            opening: "Question:\nWhere are words?\n\nCandidates, best first:\n- src/x.py:3-9  x\n- y.py:1-4  y\n"
                .to_owned(),
            ..Heard::default()
        }
    }

    #[test]
    fn oracle_cites_only_shown_lines() {
        let policy = PolicyName::Oracle.of(&instance());
        let mut heard = opening();
        let first = policy.answer(&heard);
        let Said::Answer { calls, .. } = &first else { panic!("{first:?}") };
        assert_eq!(calls[0], Spoken::new("find", &json!({"name": "a.py", "path": "src"})));
        assert_eq!(calls.len(), 3);
        heard.turns = 1;
        heard.results = vec![
            result("find", "src/a.py"),
            result("find", "b.py\nlib/b.py"),
            result("find", "no file has such a name"),
        ];
        let second = policy.answer(&heard);
        let look = [
            Spoken::new("grep", &json!({"pattern": r"\b(run)\b", "path": "src/a.py"})),
            Spoken::new("read", &json!({"path": "b.py", "first": 1, "last": 40})),
        ];
        assert_eq!(second, Said::calls(look.to_vec()));
        heard.turns = 2;
        heard.results.push(result("grep", "src/a.py:7:    def run(self):"));
        assert_eq!(policy.answer(&heard), Said::cites(["src/a.py:7-7", "b.py"]));
    }

    #[test]
    fn greedy_reader_reads_and_cites_all_candidates() {
        let mut heard = opening();
        let read = Said::calls(vec![
            Spoken::new("read", &json!({"path": "src/x.py", "first": 3, "last": 9})),
            Spoken::new("read", &json!({"path": "y.py", "first": 1, "last": 4})),
        ]);
        assert_eq!(greedy(&heard), read);
        heard.turns = 1;
        heard.results = vec![
            result("read", "src/x.py, lines 3-9 of 20\n    3  x"),
            result("read", "y.py has 0 lines, none of them from 1 on"),
        ];
        assert_eq!(greedy(&heard), Said::cites(["src/x.py:3-9"]));
    }

    #[test]
    fn random_policy_is_deterministic_and_ends() {
        let mut heard = opening();
        for name in ["a", "b", "c"] {
            let seed = seed(name);
            heard.turns = 0;
            assert_eq!(random(seed, &heard), random(seed, &heard));
            assert!(matches!(random(seed, &heard), Said::Answer { calls, .. } if calls[0].tool != "final"));
            heard.turns = 5;
            assert!(matches!(random(seed, &heard), Said::Answer { calls, .. } if calls[0].tool == "final"));
        }
        assert_ne!(hopeless(1, &heard), hopeless(2, &heard));
        assert!(matches!(hopeless(1, &Heard::default()), Said::Answer { text, .. } if text.contains("main.py")));
    }
}
