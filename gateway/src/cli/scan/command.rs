use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use muninn_config::{Config, paths};
use muninn_ledger::{SqliteStore, Store};
use muninn_text::model::block_on;
use muninn_text::redact::secrets;
use serde::Serialize;

use super::super::log;
use super::super::output::{self, plural};
use super::super::{CliError, Common, Exit, examples};
use super::files::{ScanRoot, each_file};

/// The parts of the worktree that are stored memory, with the suffixes of their files.
const STORED: [(&str, &str); 7] = [
    (".muninn/memory", ".jsonl"),
    (".muninn/knowledge", ".md"),
    (".muninn/journals", ".md"),
    (".muninn/journals", ".jsonl"),
    ("JOURNAL.md", ""),
    (".metis", ".md"),
    (".muninn/config.toml", ""),
];

/// The kind of Muninn's own access keys.
const OWN_KEY: &str = "muninn-key";

/// The advice after a finding.
const ROTATE: &str = "Replace each secret where it was issued, then delete it here: deleting alone does not make it invalid, and git \
    keeps what was committed.";

const ROTATE_OWN: &str = "An access key of Muninn is replaced with `muninn key new NAME`: put the new lines into muninn.toml, and remove \
    the old entry under [[keys]].";

/// Search stored memory for secrets; exits with 1 if it finds one
///
/// The scan reads memory, knowledge, archived worklogs and configuration in .muninn/, the worklog, documents in .metis/, and
/// the journals and receipts of the state directory. It prints where a secret is, and never the secret.
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn scan", "Print each secret as path:line: kind"),
    ("muninn scan --json", "As JSON, for example in CI"),
]))]
pub(crate) struct Scan {
    /// Print JSON: files, receipts, findings with path, line and kind, and unread files
    #[arg(long)]
    json: bool,
}

impl Scan {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let config = common.configuration(None)?;
        let worktree = common.worktree()?;
        let mut report = Report::default();
        for (name, ending) in STORED {
            let below = worktree.root().join(name);
            report.read_files(&ScanRoot::in_worktree(worktree.root()), &below, ending);
        }
        let state_dir = paths::state_dir()?;
        report.read_files(&ScanRoot::elsewhere(&state_dir), &state_dir, ".jsonl");
        report.read_receipts(&state_dir, &config);
        if self.json {
            output::json(&report);
        } else {
            report.print();
        }
        let clean = report.findings.is_empty();
        Ok(ExitCode::from(if clean { Exit::Success } else { Exit::Failure } as u8))
    }
}

#[derive(Serialize)]
struct Finding {
    path: String,
    /// The line, counted from 1; in a receipt, the line of its indented JSON.
    line: usize,
    kind: &'static str,
}

#[derive(Serialize)]
struct Unread {
    path: String,
    why: String,
}

#[derive(Default, Serialize)]
struct Report {
    files: usize,
    receipts: usize,
    findings: Vec<Finding>,
    unread: Vec<Unread>,
}

impl Report {
    fn read_files(&mut self, root: &ScanRoot, below: &Path, ending: &str) {
        each_file(root, below, ending, &mut |path, read| match read {
            Ok(text) => {
                self.files += 1;
                self.look(&path, &text);
            }
            Err(error) => self.unread.push(Unread { path, why: error.to_string() }),
        });
    }

    fn read_receipts(&mut self, state_dir: &Path, config: &Config) {
        let database = state_dir.join("state.db");
        if !database.exists() {
            return;
        }
        let read = SqliteStore::open(state_dir, &config.limits).and_then(|store| block_on(store.receipts(usize::MAX)));
        match read {
            Ok(receipts) => {
                for receipt in receipts {
                    self.receipts += 1;
                    let text = serde_json::to_string_pretty(&receipt).unwrap_or_default();
                    self.look(&format!("{} receipt {}", database.display(), receipt.id), &text);
                }
            }
            Err(error) => self.unread.push(Unread { path: database.display().to_string(), why: error.to_string() }),
        }
    }

    fn look(&mut self, path: &str, text: &str) {
        let (mut line, mut counted) = (1, 0);
        for secret in secrets(text) {
            line += text[counted..secret.range.start].matches('\n').count();
            counted = secret.range.start;
            self.findings.push(Finding { path: path.to_owned(), line, kind: secret.kind });
        }
    }

    fn print(&self) {
        for Finding { path, line, kind } in &self.findings {
            output::line(&format!("{path}:{line}: {kind}"));
        }
        for Unread { path, why } in &self.unread {
            output::note(&format!("not read: {path}: {why}"));
        }
        let mut sum = format!(
            "{} in {} and {}",
            plural(self.findings.len(), "secret"),
            plural(self.files, "file"),
            plural(self.receipts, "receipt")
        );
        if !self.unread.is_empty() {
            sum.push_str(&format!("; {} not read", self.unread.len()));
        }
        output::line(&sum);
        let is_ours = |finding: &Finding| finding.kind == OWN_KEY;
        if !self.findings.is_empty() {
            output::note(ROTATE);
        }
        if self.findings.iter().any(is_ours) {
            output::note(ROTATE_OWN);
        }
    }
}
