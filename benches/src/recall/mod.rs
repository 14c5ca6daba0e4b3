//! Whether what was said long ago is found again.
//!
//! Each conversation becomes a repository of its own, its turns records in the product's own store, and its questions
//! are asked of the product's own recall, which sees no label. The measure is LoCoMo's: the share of the turns that answer
//! a question among the first so many.

pub mod locomo;
pub mod report;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use muninn_memory::embed::{Embedder, LoadError};
use muninn_memory::records::{MAIN, RecordFile};
use muninn_memory::{Memories, RecallOptions};
use muninn_repo_tools::{DiscoverError, Worktree};
use serde_json::json;

use self::locomo::{Conversation, LocomoError};
use self::report::{DEPTHS, Figures, Report, Scores};
use crate::git::{GitError, git};
use crate::localization::EmbedderName;
use crate::localization::report::Percentiles;
use crate::report::rounded;
use crate::stand::progress;
use crate::stats::{millis, percentile};

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
    /// Where the files of minilm are.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    pub model: Option<PathBuf>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum RecallError {
    /// The conversations.
    #[error("the conversations")]
    Locomo(#[from] LocomoError),
    /// The embedder.
    #[error("the embedder")]
    Embedder(#[from] LoadError),
    /// A repository for one of them.
    #[error(transparent)]
    Git(#[from] GitError),
    /// It did not become one.
    #[error(transparent)]
    Discover(Box<DiscoverError>),
    /// Its files.
    #[error("{0:?}")]
    Write(PathBuf, #[source] io::Error),
    /// Not all turns can be recalled.
    #[error("of {turns} turns {remembered} are remembered: {notes}")]
    Lost {
        /// How many there are.
        turns: usize,
        /// How many came back.
        remembered: usize,
        /// What the store says about it.
        notes: String,
    },
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When a conversation cannot be read, or kept.
pub fn run(options: &Options) -> Result<Report, RecallError> {
    let conversations = locomo::read(&options.locomo)?;
    let embedder = options.embedder.load(options.model.as_deref())?;
    let mut scores: Vec<(u8, Scores)> = Vec::new();
    let mut query_ms = Vec::new();
    let mut ingest_s = 0.0;
    for conversation in &conversations {
        let dir = tempfile::tempdir().map_err(|error| RecallError::Write(std::env::temp_dir(), error))?;
        let started = Instant::now();
        let store = ingest(dir.path(), conversation, embedder.clone())?;
        ingest_s += started.elapsed().as_secs_f64();
        let before = scores.len();
        for question in &conversation.questions {
            let asked = Instant::now();
            let found = store.ask(&question.text);
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

fn report(scores: &[(u8, Scores)], ingest_s: f64, mut query_ms: Vec<f64>) -> Report {
    let mut categories: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for (category, one) in scores {
        categories.entry(category.to_string()).or_default().push(*one);
    }
    let by_category = categories.into_iter();
    Report {
        n: scores.len(),
        overall: Figures::of(scores.iter().map(|(_, one)| one)),
        by_category: by_category
            .map(|(category, scores)| (category, Figures::of(scores.iter())))
            .collect(),
        ingest_s: rounded(ingest_s),
        query_ms: Percentiles {
            p50: percentile(&mut query_ms, 0.5).map(rounded),
            p95: percentile(&mut query_ms, 0.95).map(rounded),
        },
    }
}

/// A conversation that is remembered.
struct Store {
    memories: Memories,
    /// Which turn a record is of, by the record's id.
    turns: HashMap<String, usize>,
}

impl Store {
    /// The turns that are recalled, best first.
    fn ask(&self, question: &str) -> Vec<usize> {
        let options = RecallOptions {
            keep: DEPTHS[DEPTHS.len() - 1],
            ..RecallOptions::default()
        };
        let recalled = self.memories.recall(question, &options).into_iter();
        let memories = recalled.filter_map(|recalled| self.memories.get(recalled.doc));
        memories
            .filter_map(|memory| self.turns.get(&memory.source).copied())
            .collect()
    }
}

/// Makes a repository in a directory, keeps each turn as a record there, and reads all of them back.
fn ingest(root: &Path, conversation: &Conversation, embedder: Option<Arc<dyn Embedder>>) -> Result<Store, RecallError> {
    git(root, &["init", "--quiet", "--template="])?;
    let turns = write(&root.join(MAIN), conversation)?;
    let worktree = Worktree::discover(root).map_err(|error| RecallError::Discover(Box::new(error)))?;
    let files: Vec<RecordFile> = RecordFile::main().into_iter().collect();
    let memories = Memories::load_from(&worktree, &files, embedder, None);
    if memories.items().len() != conversation.turns.len() {
        return Err(RecallError::Lost {
            turns: conversation.turns.len(),
            remembered: memories.items().len(),
            notes: memories.notes().join("; "),
        });
    }
    Ok(Store { memories, turns })
}

/// Writes one record a turn, and returns which turn each id is of.
fn write(path: &Path, conversation: &Conversation) -> Result<HashMap<String, usize>, RecallError> {
    let mut lines = String::new();
    let mut turns = HashMap::new();
    for (number, turn) in conversation.turns.iter().enumerate() {
        let id = format!("01{number:024}");
        let record = json!({
            "id": id,
            "ts": turn.time,
            "type": "learning",
            "text": turn.text,
            "confidence": 0.9,
            "session": format!("{}-{}", conversation.id, turn.session),
        });
        lines.push_str(&format!("{record}\n"));
        turns.insert(id, number);
    }
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = written.and_then(|()| std::fs::write(path, lines));
    written.map_err(|error| RecallError::Write(path.to_owned(), error))?;
    Ok(turns)
}
