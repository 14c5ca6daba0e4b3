//! `muninn recall`: what the team knows about something.

use std::cell::RefCell;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use muninn_memory::ids;
use muninn_memory::recall::Superseded;
use muninn_memory::records::Moment;
use muninn_memory::{Memories, Memory, MemoryKind, RecallOptions, Recalled};
use muninn_repo_tools::{RelPath, Worktree, read_text};
use serde_json::{Value, json};

use super::{CliError, Common, Exit};
use crate::cli::output;
use crate::config::paths;
use crate::server::Repository;

/// Larger files are taken for changed.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// So many lines of a memory are shown; all of it is in the JSON.
const SHOWN_LINES: usize = 6;
/// A memory that says less of the question's words is not about it.
const LEAST_SCORE: f32 = 0.1;
/// A shorter question is no part of an id.
const LEAST_ID: usize = 6;

/// Show what the team knows about something; without a question, the newest first
#[derive(Args)]
pub(crate) struct Recall {
    /// What it is about, or a memory's id or any part of it that no other has
    question: Option<String>,
    /// Only what was learned at this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only records of this type, such as learning or context_hit; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only what was written on this day or later: 2026-01-31
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<Moment>,
    /// Only what is about this file or folder; may be given several times
    #[arg(long = "file", value_name = "PATH", value_parser = path)]
    files: Vec<RelPath>,
    /// Only what was written on this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only what held once and another record has taken the place of
    #[arg(long)]
    superseded: bool,
    /// So many at most
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
    /// Print JSON: memories with id, kind, type, title, text, date, author, confidence, session, branch, task, files, conflict, until, superseded_by, stale, score
    #[arg(long)]
    json: bool,
}

fn date(text: &str) -> Result<Moment, String> {
    let is_date = text.len() >= 10
        && text.bytes().take(10).enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date
        .then(|| text.into())
        .ok_or_else(|| "not a date such as 2026-01-31".to_owned())
}

fn path(text: &str) -> Result<RelPath, String> {
    RelPath::new(text.trim_end_matches('/')).map_err(|error| error.to_string())
}

impl Recall {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let config = common.configuration(None)?;
        let repository = Repository::open(&common.directory()?, &config, &paths::state_dir()?);
        let Some(engine) = &repository.engine else {
            return Err(CliError::new(Exit::NotFound, repository.problem.unwrap_or_default())
                .hint("run it inside a git repository, or name one with --root DIR"));
        };
        repository.move_old_sessions();
        let memories = match &repository.memory {
            Some(store) if self.superseded => Arc::new(Memories::superseded(store.worktree(), &store.files())),
            _ => engine.remembered(),
        };
        let blobs = RefCell::new(HashMap::new());
        let blob_of = |path: &RelPath| blob(engine.worktree(), &blobs, path);
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        let options = RecallOptions {
            keep: self.limit,
            types: &types,
            since: self.since.as_ref(),
            task: self.task.as_deref(),
            paths: &self.files,
            branch: self.branch.as_deref(),
            blob_of: Some(&blob_of),
            ..RecallOptions::default()
        };
        let question = self
            .question
            .as_deref()
            .map(str::trim)
            .filter(|question| !question.is_empty());
        let found = match question {
            None => memories.newest(&options),
            Some(part) if let Some(named) = named(&memories, part, &options) => vec![named],
            Some(question) => {
                let mut found = memories.recall(question, &options);
                found.retain(|recalled| recalled.score >= LEAST_SCORE);
                found
            }
        };
        if self.json {
            let all: Vec<Value> = told(&memories, &found).map(as_json).collect();
            output::json(&json!({"memories": all}));
        } else {
            told(&memories, &found).for_each(|(memory, recalled)| output::line(&shown(memory, recalled)));
        }
        if found.is_empty() {
            output::note("nothing is remembered about it");
            return Ok(ExitCode::from(Exit::Failure as u8));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The memory whose id a question is, or an unambiguous part of it.
fn named(memories: &Memories, part: &str, options: &RecallOptions<'_>) -> Option<Recalled> {
    let is_id = part.len() >= LEAST_ID && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
    if !is_id || !has_digit {
        return None;
    }
    let all = memories.newest(&RecallOptions {
        keep: usize::MAX,
        ..*options
    });
    let sources = told(memories, &all).map(|(memory, _)| memory.source.as_str());
    let id = ids::find(part, sources).ok()?;
    let (_, found) = told(memories, &all).find(|(memory, _)| memory.source == id)?;
    Some(found.clone())
}

/// A file's content now, looked at once.
fn blob(worktree: &Worktree, known: &RefCell<HashMap<RelPath, Option<String>>>, path: &RelPath) -> Option<String> {
    let mut known = known.borrow_mut();
    let look = || Some(read_text(worktree, path, MAX_FILE_BYTES).ok()?.blob.to_string());
    known.entry(path.clone()).or_insert_with(look).clone()
}

fn told<'a>(memories: &'a Memories, found: &'a [Recalled]) -> impl Iterator<Item = (&'a Memory, &'a Recalled)> {
    found
        .iter()
        .filter_map(|recalled| Some((memories.get(recalled.doc)?, recalled)))
}

fn as_json((memory, recalled): (&Memory, &Recalled)) -> Value {
    json!({
        "id": memory.source,
        "kind": match memory.kind {
            MemoryKind::Knowledge => "knowledge",
            MemoryKind::Record => "record",
        },
        "type": memory.record_type,
        "title": memory.title,
        "text": memory.text,
        "date": memory.date,
        "author": memory.author,
        "confidence": memory.confidence.map(rounded),
        "session": memory.session,
        "branch": memory.branch,
        "task": memory.task,
        "in": memory.path,
        "files": memory.cites.iter().map(|cited| &cited.path).collect::<Vec<_>>(),
        "conflict": memory.contested.as_ref().map(|contested| &contested.conflict),
        "until": memory.superseded.as_ref().map(|superseded| &superseded.until),
        "superseded_by": memory.superseded.as_ref().and_then(|superseded| superseded.by.as_ref()),
        "stale": recalled.stale,
        "score": rounded(recalled.score),
    })
}

/// A number as a person would write it.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 1000.0).round() / 1000.0
}

/// A heading with where it comes from, then the text.
fn shown(memory: &Memory, recalled: &Recalled) -> String {
    let mut about: Vec<String> = match &memory.superseded {
        None => memory.date.iter().map(|date| date.chars().take(10).collect()).collect(),
        Some(superseded) => held(memory.date.as_deref(), superseded),
    };
    about.extend(memory.author.as_ref().map(|author| format!("by {author}")));
    about.extend(
        memory
            .confidence
            .map(|confidence| format!("confidence {}", rounded(confidence))),
    );
    about.extend(memory.branch.as_ref().map(|branch| format!("on {branch}")));
    let contested = memory.contested.as_ref();
    about.extend(contested.map(|contested| format!("contradicted by {}", contested.other)));
    about.extend(recalled.stale.then(|| "its files have changed since".to_owned()));
    let about = match about.is_empty() {
        true => String::new(),
        false => format!(" ({})", about.join(", ")),
    };
    let mut text = output::tame(&format!("{}: {}{about}\n", memory.source, memory.title));
    let mut lines = memory.text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.by_ref().take(SHOWN_LINES) {
        text.push_str(&format!("    {}\n", output::tame(line)));
    }
    match lines.count() {
        0 => {}
        more => text.push_str(&format!("    ... {}\n", output::plural(more, "more line"))),
    }
    text
}

/// From when until when something held, and what does since.
fn held(from: Option<&str>, superseded: &Superseded) -> Vec<String> {
    let from = from.map(|date| format!("from {date} ")).unwrap_or_default();
    let until = format!("valid {from}until {}", superseded.until);
    let by = superseded.by.iter().map(|by| format!("superseded by {by}"));
    std::iter::once(until).chain(by).collect()
}
