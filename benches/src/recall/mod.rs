//! Recall over long conversations.
//!
//! Each conversation becomes a repository of its own, its turns records in the product's own store, and its questions
//! are asked of the product's own recall, which sees no label. The measure is LoCoMo's: the share of the turns that answer
//! a question among the first so many.

pub mod locomo;
pub mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use muninn_text::embed::Embedder;

use self::locomo::{Conversation, Turn};
use self::report::{DEPTHS, Figures, Report, Scores};
use crate::command_line::progress;
use crate::localization::EmbedderName;
use crate::localization::report::Percentiles;
use crate::record_store::{self, Line, Store};
use crate::report::rounded;
use crate::stats::millis;

/// Measures whether what was said long ago is found again.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "recall")]
pub struct Options {
    /// Conversations with questions, as LoCoMo has them.
    #[arg(long, value_name = "FILE")]
    pub locomo: PathBuf,
    /// The embedder to rank with.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    pub embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    pub model: Option<PathBuf>,
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When a conversation cannot be read, or kept.
pub fn run(options: &Options) -> Result<Report> {
    let conversations = locomo::read(&options.locomo)?;
    let embedder = options.embedder.load(options.model.as_deref())?;
    let mut scores: Vec<(u8, Scores)> = Vec::new();
    let mut query_ms = Vec::new();
    let mut ingest_s = 0.0;
    for conversation in &conversations {
        let dir = record_store::directory()?;
        let started = Instant::now();
        let store = ingest(dir.path(), conversation, embedder.clone())?;
        ingest_s += started.elapsed().as_secs_f64();
        let before = scores.len();
        for question in &conversation.questions {
            let asked = Instant::now();
            let found = store.ask(&question.text, DEPTHS[DEPTHS.len() - 1]);
            query_ms.push(millis(asked.elapsed()));
            scores.push((question.category, Scores::of(&found, &question.evidence)));
        }
        let here = Figures::of(scores[before..].iter().map(|(_, one)| one));
        progress(&format!(
            "{}: {} turns, {} questions, R@5 {}, R@10 {}",
            conversation.id,
            conversation.turns.len(),
            scores.len() - before,
            here.r5,
            here.r10
        ));
    }
    Ok(report(&scores, ingest_s, query_ms))
}

fn report(scores: &[(u8, Scores)], ingest_s: f64, query_ms: Vec<f64>) -> Report {
    let mut categories: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for (category, one) in scores {
        categories.entry(category.to_string()).or_default().push(*one);
    }
    let by_category = categories.into_iter();
    Report {
        n: scores.len(),
        overall: Figures::of(scores.iter().map(|(_, one)| one)),
        by_category: by_category.map(|(category, scores)| (category, Figures::of(scores.iter()))).collect(),
        ingest_s: rounded(ingest_s),
        query_ms: Percentiles::of(query_ms),
    }
}

/// Keeps each turn of a conversation as a record, and reads all of them back.
fn ingest(root: &Path, conversation: &Conversation, embedder: Option<Arc<dyn Embedder>>) -> Result<Store> {
    let line = |turn: &Turn| Line {
        ts: turn.time.clone(),
        text: turn.text.clone(),
        session: format!("{}-{}", conversation.id, turn.session),
    };
    Store::of(root, conversation.turns.iter().map(line), embedder)
}
