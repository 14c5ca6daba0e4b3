//! `muninn remember`: something that a person knows.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_memory::knowledge::metis::current_task;
use muninn_memory::records::Body;
use muninn_memory::redact;
use muninn_repo_tools::RelPath;
use serde_json::{Number, json};

use super::{CliError, Common, Exit, Memory};
use crate::cli::output;

/// Longest text of a memory. Each prompt that it is added to pays for each of its words; longer texts are knowledge files.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// Write down something that the team should know
#[derive(Args)]
pub(crate) struct Remember {
    /// What is so
    text: String,
    /// What kind of thing it is
    #[arg(long = "type", value_enum, default_value_t = Kind::Learning)]
    kind: Kind,
    /// A file that it is about; may be given several times
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// The task that it was learned in [default: the Metis task that is active]
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// How sure it is, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0.9, value_parser = share)]
    confidence: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Something that is so
    Learning,
    /// Things that belong together
    Pattern,
    /// Something that does not work
    Failure,
}

fn share(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (0.0..=1.0)
        .contains(&number)
        .then_some(number)
        .ok_or_else(|| "not between 0 and 1".to_owned())
}

impl Remember {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let text = self.text.trim();
        if text.is_empty() {
            return Err(CliError::new(Exit::Usage, "there is nothing to remember"));
        }
        if text.len() > MAX_TEXT_BYTES {
            let told = format!(
                "it has {} bytes, and at most {MAX_TEXT_BYTES} are remembered",
                text.len()
            );
            return Err(CliError::new(Exit::Usage, told)
                .hint("say what matters in a few sentences, or write a file in .muninn/knowledge/"));
        }
        let memory = Memory::of(common)?;
        let files = self
            .files
            .iter()
            .map(|path| file(&memory, path))
            .collect::<Result<Vec<_>, _>>()?;
        let said = redact(text).into_owned();
        if said != text {
            output::note("what looks like a secret was cut out");
        }
        let confidence = Number::from_f64(self.confidence);
        let author = memory.store.worktree().author();
        let author = author.map(|author| redact(&author).into_owned());
        let body = match self.kind {
            Kind::Learning => Body::Learning {
                text: said,
                subject: None,
                confidence,
                author,
            },
            Kind::Pattern => Body::Pattern {
                pattern: said,
                entities: files.iter().map(ToString::to_string).collect(),
                confidence,
                author,
            },
            Kind::Failure => Body::Failure {
                attempt: said,
                count: None,
                outcome: String::new(),
                confidence,
                author,
            },
        };
        let task = self.task.or_else(|| current_task(memory.store.worktree()));
        let record = memory.tell(body, &files, task.map(|task| redact(&task).into_owned()))?;
        memory.flush()?;
        match self.json {
            true => output::json(&json!({"id": record.id})),
            false => output::line(&format!("remembered as {}", record.id)),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A file of the worktree, by its path from the root.
fn file(memory: &Memory, path: &str) -> Result<RelPath, CliError> {
    let not_there = |reason: String| CliError::new(Exit::NotFound, reason);
    let path = RelPath::new(path).map_err(|error| not_there(error.to_string()))?;
    memory
        .store
        .worktree()
        .resolve(&path)
        .map_err(|error| not_there(error.to_string()))?;
    Ok(path)
}
