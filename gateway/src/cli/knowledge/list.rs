//! `muninn knowledge list`: what there is, Metis documents among it.

use std::process::ExitCode;

use clap::Args;
use muninn_repo_tools::Worktree;
use serde_json::json;

use super::{CliError, output, tame};
use crate::app::{ListedFile, list_knowledge};

/// List knowledge files and Metis documents
#[derive(Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, worktree: &Worktree) -> Result<ExitCode, CliError> {
        let files = list_knowledge(worktree);
        if self.json {
            output::json(&json!({ "files": files }));
        } else if files.is_empty() {
            output::note("there is no knowledge here; `muninn knowledge new TITLE` begins some");
        } else {
            let rows: Vec<[String; 5]> = files.iter().map(row).collect();
            output::print(&table(&rows));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(file: &ListedFile) -> [String; 5] {
    let word = |word: &Option<String>| word.as_deref().map_or_else(|| "-".to_owned(), tame);
    let confidence = file
        .confidence
        .map_or_else(|| "-".to_owned(), |confidence| confidence.to_string());
    let about = match &file.metis {
        Some(mark) => format!("metis {} {}", tame(&mark.id), word(&mark.phase)),
        None => word(&file.domain),
    };
    let path = file.path.printed().into_owned();
    let sections = output::plural(file.sections, "section");
    [path, word(&file.kind), about, confidence, sections]
}

/// Columns as wide as their widest cell, but for the last.
fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for row in rows {
        for (cell, width) in row.iter().zip(widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&format!("{}\n", row[4]));
    }
    text
}
