//! The engine over real repositories: what it packs, what it refuses to pack, and what it survives.

mod calibration;
mod citations;
mod exploring;
mod first_question;
mod freshness;
mod history;
mod hostile;
mod knowledge;
mod map;
mod packing;
mod prior_context;
mod script;
mod tools;
mod uses;
mod vectors;

use std::ops::Deref;
use std::path::Path;
use std::time::{Duration, Instant};

use muninn_repo_tools::Worktree;
use muninn_tests::Repository;

use crate::{Engine, EngineSettings, Exploration, Limits};

/// A git repository in a directory of its own.
pub(crate) struct Repo(Repository);

impl Deref for Repo {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.0
    }
}

impl Repo {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self(Repository::with(files))
    }

    /// A small service with the usual parts: code in two languages, documentation, a test, configuration.
    fn service() -> Self {
        Self::with(&[
            ("Cargo.toml", include_str!("service/Cargo.toml.txt")),
            ("README.md", include_str!("service/README.md.txt")),
            ("src/ledger.rs", include_str!("service/ledger.rs.txt")),
            ("src/http/router.rs", include_str!("service/router.rs.txt")),
            ("src/http/retry.rs", include_str!("service/retry.rs.txt")),
            ("src/session.rs", include_str!("service/session.rs.txt")),
            ("tools/import_orders.py", include_str!("service/import_orders.py.txt")),
            ("tests/ledger_replay.rs", include_str!("service/ledger_replay.rs.txt")),
            (".muninn/knowledge/errors.md", include_str!("service/errors.md.txt")),
            (".muninn/memory/main.jsonl", include_str!("service/main.jsonl.txt")),
        ])
    }

    /// Writes files and commits them.
    pub(crate) fn commit(&self, message: &str, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| self.write(path, text));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine_with(EngineSettings::default())
    }

    fn engine_with(&self, settings: EngineSettings) -> Engine {
        Engine::open(Worktree::discover(self.root()).unwrap(), settings)
    }

    fn ready(&self) -> Engine {
        let engine = self.engine();
        engine.refresh(&()).unwrap();
        engine
    }
}

/// No deadline that a slow machine could miss.
fn limits(tokens: u32) -> Limits {
    Limits { tokens, deadline: Instant::now() + Duration::from_secs(600) }
}

fn ask(engine: &Engine, question: &str) -> Exploration {
    engine.explore(question, &limits(4000))
}

/// The files that were packed, best first.
fn files(exploration: &Exploration) -> Vec<&str> {
    let mut files = Vec::new();
    for item in &exploration.items {
        let file = item.file();
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Every line that was packed as code stands in the file where the item says.
fn assert_spans_are_on_disk(root: &Path, exploration: &Exploration) {
    for item in exploration.items.iter().filter(|item| item.blob.is_some()) {
        let (path, span) = item.source.rsplit_once(':').unwrap();
        let (first, last) = span.split_once('-').unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let text = std::fs::read_to_string(root.join(path)).unwrap();
        let expected: Vec<&str> = text.lines().skip(first - 1).take(last + 1 - first).collect();
        assert_eq!(item.text.lines().collect::<Vec<_>>(), expected, "{}", item.source);
        assert_eq!(item.first_line as usize, first);
    }
}
