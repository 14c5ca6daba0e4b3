//! `muninn knowledge list`: lists knowledge pages and Metis documents.

use std::process::ExitCode;

use clap::Args;
use muninn_core::{ListedFile, list_knowledge, wiki_inside};
use muninn_repo_tools::Worktree;
use serde_json::json;

use super::{CliError, examples, output};
use crate::cli::Common;

/// List knowledge pages and Metis documents
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn knowledge list", "Path, type, domain, confidence and sections of each page"),
    ("muninn knowledge list --json", "As JSON"),
]))]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, common: &Common, worktree: &Worktree) -> Result<ExitCode, CliError> {
        let wiki = wiki_inside(worktree.root(), &common.configuration(None)?.wiki);
        let files = list_knowledge(worktree, wiki.as_ref());
        if self.json {
            output::json(&json!({ "files": files }));
        } else if files.is_empty() {
            output::note("there are no knowledge pages; `muninn knowledge new TITLE` creates one");
        } else {
            let rows: Vec<[String; 5]> = files.iter().map(row).collect();
            output::print(&output::table(&rows, |cell, width| format!("{cell:<width$}")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(file: &ListedFile) -> [String; 5] {
    let word = |word: &Option<String>| word.as_deref().map_or_else(|| "-".to_owned(), output::sanitize_field);
    let confidence = file.confidence.map_or_else(|| "-".to_owned(), |confidence| confidence.to_string());
    let about = match &file.metis {
        Some(mark) => format!("metis {} {}", output::sanitize_field(&mark.id), word(&mark.phase)),
        None => word(&file.domain),
    };
    let path = file.path.printed().into_owned();
    let sections = output::plural(file.sections, "section");
    [path, word(&file.kind), about, confidence, sections]
}
