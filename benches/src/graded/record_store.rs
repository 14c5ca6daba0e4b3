//! Texts as records in a temporary repository, for the product's recall.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use muninn_recall::{Memories, RecallOptions};
use muninn_repo_tools::Worktree;
use muninn_team::Home;
use muninn_team::records::{MAIN, RecordFile};
use muninn_tests::git;
use muninn_text::embed::Embedder;
use serde_json::json;
use tempfile::TempDir;

use crate::harness::at;

/// The content of a record. Records of one session are adjacent.
pub(crate) struct Line {
    pub(crate) ts: String,
    pub(crate) text: String,
    pub(crate) session: String,
    pub(crate) answers: Vec<String>,
}

pub(crate) struct Store {
    memories: Memories,
    /// The line of each record, by the record's id.
    lines: HashMap<String, usize>,
    _repository: TempDir,
}

impl Store {
    /// Writes each line as a record of a new repository, and reads all of them back.
    pub(crate) fn of(lines: impl Iterator<Item = Line>, embedder: Option<Arc<dyn Embedder>>) -> Result<Self> {
        let repository = tempfile::tempdir()?;
        let root = repository.path();
        git(root, &["init", "--quiet", "--template="])?;
        let lines = write(&root.join(MAIN), lines)?;
        let home = Home::Repository(Worktree::discover(root)?);
        let files: Vec<RecordFile> = RecordFile::of_team(&home);
        let memories = Memories::load_from(&home, &files.into(), embedder, None);
        let (written, read) = (lines.len(), memories.items().len());
        ensure!(read == written, "of {written} records {read} are read: {}", memories.notes().join("; "));
        Ok(Self { memories, lines, _repository: repository })
    }

    /// The recalled lines, best first, `keep` at most.
    pub(crate) fn ask(&self, question: &str, keep: usize) -> Vec<usize> {
        let options = RecallOptions { keep, ..RecallOptions::default() };
        let recalled = self.memories.recall(question, &options).into_iter();
        let memories = recalled.filter_map(|recalled| self.memories.get(recalled.doc));
        memories.filter_map(|memory| self.lines.get(&memory.source).copied()).collect()
    }
}

/// Writes one record a line, and returns the line of each id.
pub(crate) fn write(path: &Path, lines: impl Iterator<Item = Line>) -> Result<HashMap<String, usize>> {
    let mut text = String::new();
    let mut ids = HashMap::new();
    for (number, Line { ts, text: statement, session, answers }) in lines.enumerate() {
        let id = format!("01{number:024}");
        let record = json!({
            "id": id, "ts": ts, "type": "learning", "text": statement, "confidence": 0.9, "session": session,
            "answers": answers,
        });
        text.push_str(&format!("{record}\n"));
        ids.insert(id, number);
    }
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    written.and_then(|()| std::fs::write(path, text)).with_context(at(path))?;
    Ok(ids)
}
