//! One instance, asked.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use muninn_context_engine::Tuning;
use muninn_text::embed::Embedder;
use serde::Serialize;

use super::scores::{BUDGETS, Scores, is_packed};
use super::spans::lines_of;
use crate::instances::Instance;
use crate::report::rounded;
use crate::stats::millis;
use crate::subject::{self, Packed, packed};
use crate::trees::{Trees, clone_of};

/// The depth to which the list is searched for gold files.
const KEEP: usize = 200;
/// Files that `--per-instance` shows.
const SHOWN: usize = 10;

/// An instance's tree, ready to be asked.
pub(super) struct Subject {
    subject: subject::Subject,
}

/// The answer to an instance.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Answer {
    pub(super) instance_id: String,
    pub(super) repo: String,
    /// The rank of each gold file, counted from 1; `None` beyond the first 200.
    pub(super) gold: BTreeMap<String, Option<usize>>,
    /// The best ten files with their scores.
    top: Vec<(String, f32)>,
    /// Whether each gold span is packed, by budget.
    pub(super) spans: BTreeMap<String, [bool; BUDGETS.len()]>,
    /// Gold spans that are no definitions.
    pub(super) unknown_spans: usize,
    /// Gold files that the tree does not hold.
    pub(super) absent: usize,
    pub(super) query_ms: f64,
    pub(super) index_s: f64,
    pub(super) embedding_s: f64,
    pub(super) cold: bool,
    /// For each run.
    #[serde(skip)]
    pub(super) scores: Vec<Scores>,
}

/// A gold span, with the lines of each definition that is called so.
struct Gold {
    path: String,
    name: String,
    lines: Vec<RangeInclusive<usize>>,
}

impl Subject {
    pub(super) fn open(
        trees: &Trees,
        repos: &Path,
        instance: &Instance,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self> {
        let clone = clone_of(repos, &instance.repo);
        let tree = trees.checkout(&clone, &instance.repo, &instance.base_commit, instance.root.as_deref())?;
        let subject = subject::Subject::index(&tree, embedder)?;
        Ok(Self { subject })
    }

    /// Asks in the way of each run; what is told in detail is the first.
    pub(super) fn answer(&self, instance: &Instance, runs: &[(Option<&'static str>, Tuning)]) -> Answer {
        let (gold_spans, unknown_spans) = self.gold_spans(instance);
        let mut answer = Answer {
            instance_id: instance.instance_id.clone(),
            repo: instance.repo.clone(),
            gold: BTreeMap::new(),
            top: Vec::new(),
            spans: BTreeMap::new(),
            unknown_spans,
            absent: instance.gold_files.iter().filter(|gold| !self.holds(instance, gold)).count(),
            query_ms: 0.0,
            index_s: rounded(self.subject.index.as_secs_f64()),
            embedding_s: rounded(self.subject.embedding.as_secs_f64()),
            cold: self.subject.cold,
            scores: Vec::new(),
        };
        for (run, (_, tuning)) in runs.iter().enumerate() {
            let started = Instant::now();
            // The first budget of the first run is a question that nobody asked before: that one is timed.
            let packs = BUDGETS.map(|budget| {
                let found = self.subject.ask(&instance.query, budget, *tuning);
                if run == 0 && budget == BUDGETS[0] {
                    answer.query_ms = rounded(millis(started.elapsed()));
                }
                packed(&found)
            });
            let ranking = self.subject.engine.rank(&instance.query, *tuning, KEEP).files;
            let rank = |gold: &String| {
                let at = ranking.iter().position(|file| instance.is_gold(gold, file.path.as_str()));
                at.map(|at| at + 1)
            };
            let ranks: Vec<_> = instance.gold_files.iter().map(rank).collect();
            let seen: Vec<_> = gold_spans.iter().map(|gold| gold.seen(instance, &packs)).collect();
            answer.scores.push(Scores::new(&ranks, recall(&seen)));
            if run == 0 {
                answer.gold = instance.gold_files.iter().cloned().zip(ranks).collect();
                let top = ranking.iter().take(SHOWN);
                answer.top = top.map(|file| (file.path.to_string(), file.score)).collect();
                let names = gold_spans.iter().map(|gold| format!("{}:{}", gold.path, gold.name));
                answer.spans = names.zip(seen).collect();
            }
        }
        answer
    }

    fn holds(&self, instance: &Instance, gold: &str) -> bool {
        let from = |folder: &str| self.subject.root().join(folder).join(gold).is_file();
        from("") || instance.root.as_deref().is_some_and(from)
    }

    /// The gold spans that are definitions, and how many are not.
    fn gold_spans(&self, instance: &Instance) -> (Vec<Gold>, usize) {
        let mut unknown = 0;
        let mut known = Vec::new();
        for (path, names) in instance.gold_spans.iter().flatten() {
            let text = std::fs::read(self.subject.root().join(path)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            for name in names {
                let lines = lines_of(&text, name);
                if lines.is_empty() {
                    unknown += 1;
                } else {
                    known.push(Gold { path: path.clone(), name: name.clone(), lines });
                }
            }
        }
        (known, unknown)
    }
}

impl Gold {
    /// For each budget, whether the pack contains a gold definition of this file.
    fn seen(&self, instance: &Instance, packs: &[Vec<Packed>; BUDGETS.len()]) -> [bool; BUDGETS.len()] {
        [0, 1].map(|budget| {
            let here = packs[budget].iter().filter(|span| instance.is_gold(&self.path, &span.path));
            let lines: Vec<_> = here.map(|span| span.lines.clone()).collect();
            self.lines.iter().any(|definition| is_packed(definition, &lines))
        })
    }
}

/// The share of the spans that was packed, by budget; `None` where there are none.
fn recall(seen: &[[bool; BUDGETS.len()]]) -> [Option<f64>; BUDGETS.len()] {
    [0, 1].map(|budget| {
        let found = seen.iter().filter(|seen| seen[budget]).count();
        (!seen.is_empty()).then(|| found as f64 / seen.len() as f64)
    })
}

impl Answer {
    /// The answer for human eyes.
    pub(super) fn line(&self) -> String {
        let rank = |rank: &Option<usize>| rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        let ranks: Vec<_> = self.gold.values().map(rank).collect();
        let ranks = ranks.join(" ");
        format!("{:<28} gold at {ranks:<12} {:.1} ms", self.instance_id, self.query_ms)
    }
}
