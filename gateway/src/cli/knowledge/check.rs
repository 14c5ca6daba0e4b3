//! `muninn knowledge check`: what is wrong with the files, with their lines.

use std::process::ExitCode;

use clap::Args;
use muninn_repo_tools::Worktree;
use serde_json::json;

use super::{CliError, output, tame};
use crate::app::{Finding, check_knowledge};

/// Look for what is not understood, is doubled, left by a merge or secret; exits with 1 where there is any
#[derive(Args)]
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
                0 => "nothing is wrong with the knowledge files".to_owned(),
                count => output::plural(count, "finding"),
            });
        }
        Ok(if findings.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// `path:line: what is wrong`
fn line(finding: &Finding) -> String {
    let line = finding.line.map_or_else(String::new, |line| format!("{line}:"));
    format!("{}:{line} {}\n", tame(&finding.path), tame(&finding.message))
}
