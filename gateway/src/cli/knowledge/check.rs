//! `muninn knowledge check`: reports problems of knowledge pages, with their lines.

use std::process::ExitCode;

use clap::Args;
use muninn_core::{Finding, check_knowledge};
use muninn_repo_tools::Worktree;
use serde_json::json;

use super::{CliError, examples, output};

/// Check pages for invalid front matter, duplicates, conflict markers and secrets; exits with 1 if it finds any
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn knowledge check", "Print each problem as path:line: message"),
    ("muninn knowledge check --json", "The problems as JSON"),
]))]
pub(super) struct Check {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self, worktree: &Worktree) -> Result<ExitCode, CliError> {
        let findings = check_knowledge(worktree);
        if self.json {
            output::json(&json!({ "findings": findings }));
        } else {
            output::print(&findings.iter().map(line).collect::<String>());
            output::note(&match findings.len() {
                0 => "no problems found in the knowledge files".to_owned(),
                count => format!("{} found", output::plural(count, "problem")),
            });
        }
        Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// `path:line: message`
fn line(finding: &Finding) -> String {
    let line = finding.line.map_or_else(String::new, |line| format!("{line}:"));
    format!("{}:{line} {}\n", output::sanitize_field(&finding.path), output::sanitize_field(&finding.message))
}
