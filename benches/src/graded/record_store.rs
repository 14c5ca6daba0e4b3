//! Texts as records in a temporary repository, for the product's recall.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use muninn_recall::{Memories, RecallOptions};
use muninn_repo_tools::Worktree;
use muninn_team::Home;
use muninn_team::records::{MAIN, RecordFile};
use muninn_text::embed::Embedder;
use serde_json::json;
use tempfile::TempDir;

use crate::command_line::at;
use muninn_tests::git;

/// A record to be.
#[derive(Debug, Clone)]
pub struct Line {
    /// When it was learned, as in records.
    pub ts: String,
    /// Its text.
    pub text: String,
    /// The session that learned it; lines of one session are adjacent.
    pub session: String,
}

/// Records that can be recalled.
pub struct Store {
    memories: Memories,
    /// The line of each record, by the record's id.
    lines: HashMap<String, usize>,
}

impl Store {
    /// Makes a repository in a directory, keeps each line as a record there, and reads all of them back.
    ///
    /// # Errors
    /// When they cannot be written, or do not all come back.
    pub fn of(root: &Path, lines: impl Iterator<Item = Line>, embedder: Option<Arc<dyn Embedder>>) -> Result<Self> {
        git(root, &["init", "--quiet", "--template="])?;
        let lines = write(&root.join(MAIN), lines)?;
        let worktree = Worktree::discover(root)?;
        let home = Home::Repository(worktree);
        let files: Vec<RecordFile> = RecordFile::of_team(&home);
        let memories = Memories::load_from(&home, &files.into(), embedder, None);
        ensure!(
            memories.items().len() == lines.len(),
            "of {} records {} are remembered: {}",
            lines.len(),
            memories.items().len(),
            memories.notes().join("; ")
        );
        Ok(Self { memories, lines })
    }

    /// The lines that are recalled, best first, so many at most.
    pub fn ask(&self, question: &str, keep: usize) -> Vec<usize> {
        let options = RecallOptions { keep, ..RecallOptions::default() };
        let recalled = self.memories.recall(question, &options).into_iter();
        let memories = recalled.filter_map(|recalled| self.memories.get(recalled.doc));
        memories.filter_map(|memory| self.lines.get(&memory.source).copied()).collect()
    }
}

/// A directory for the repository, removed when it goes.
///
/// # Errors
/// When there is no place for one.
pub fn directory() -> Result<TempDir> {
    Ok(tempfile::tempdir()?)
}

/// Writes one record a line, and returns which line each id is of.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, lines: impl Iterator<Item = Line>) -> Result<HashMap<String, usize>> {
    let mut text = String::new();
    let mut ids = HashMap::new();
    for (number, line) in lines.enumerate() {
        let id = format!("01{number:024}");
        let record = json!({
            "id": id,
            "ts": line.ts,
            "type": "learning",
            "text": line.text,
            "confidence": 0.9,
            "session": line.session,
        });
        text.push_str(&format!("{record}\n"));
        ids.insert(id, number);
    }
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = written.and_then(|()| std::fs::write(path, text));
    written.with_context(at(path))?;
    Ok(ids)
}
