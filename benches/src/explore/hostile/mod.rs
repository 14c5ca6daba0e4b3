//! Explorations with a hostile or broken model.

mod cases;
mod repository;

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use muninn_backend::BlockingClient;
use muninn_base::Until;
use muninn_context_engine::explore::{DeepLimits, ExploreOutcome};
use serde::Serialize;

use self::cases::Case;
use super::row;
use crate::report::rounded;
use crate::scripted::remote;
use crate::scripted::said::Said;
use crate::scripted::server::ModelServer;
use crate::stats::millis;
use crate::subject::Subject;
use crate::trees::Tree;

/// Turns of each exploration: enough that something else ends it.
const TURNS: u32 = 64;
/// How long threads and connections of a finished exploration may remain.
const PATIENCE: Duration = Duration::from_secs(2);

/// The report, on the last line of stdout.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// One for each script.
    pub cases: Vec<Row>,
    /// Whether no case leaked a text, left anything running, or made the list of files worse.
    pub holds: bool,
}

/// The outcome of one case.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The behaviour of its model.
    pub case: &'static str,
    /// Why it ended.
    pub ended: &'static str,
    /// Milliseconds.
    pub ms: f64,
    /// Milliseconds after its deadline, where it ended then.
    pub late_ms: Option<f64>,
    /// Turns of the model, of all explorations.
    pub turns: u32,
    /// Explorations, the first included.
    pub explorations: u32,
    /// Calls of tools.
    pub calls: u32,
    /// Tokens of all prompts and answers, of four bytes.
    pub tokens: u64,
    /// Citations of places that are not there.
    pub invented: u32,
    /// Requests, and the result, in which there was a text of a file outside of the repository, or of `.env`.
    pub escaped: usize,
    /// Threads that were not there before.
    pub threads_left: usize,
    /// Connections that are still open.
    pub connections_left: usize,
    /// Whether the first five files are those of the lexical lane, and none of its others is missing.
    pub keeps_files: bool,
}

/// Explores with all of them.
pub(crate) fn run() -> Result<Report> {
    let dir = tempfile::tempdir()?;
    let tree = Tree { root: repository::make(dir.path())?, cache: dir.path().join("cache") };
    let subject = Subject::index(&tree, None)?;
    let forbidden = repository::FORBIDDEN.map(str::to_owned).to_vec();
    let server = ModelServer::start(forbidden, true);
    let blocking_client = remote::blocking_client()?;
    // A model that fails at once gives the lexical result, and starts the pools of threads.
    let words = cases::case("", |_| Said::Status(403));
    let lexical = explore(&subject, &words, &server, &blocking_client).1;
    let cases = cases::all();
    row(&Row::head())?;
    let mut rows = Vec::new();
    for case in &cases {
        let one = Row::of(case, &subject, &lexical, &server, &blocking_client);
        row(&one.line())?;
        rows.push(one);
    }
    Ok(Report { holds: rows.iter().all(Row::holds), cases: rows })
}

fn explore(
    subject: &Subject,
    case: &Case,
    server: &ModelServer,
    blocking_client: &BlockingClient,
) -> (Duration, ExploreOutcome) {
    server.play(case.policy.clone());
    let model = remote::model(blocking_client, server.url(), "scripted");
    let started = Instant::now();
    let limits = DeepLimits {
        turns: TURNS,
        depth: case.depth,
        tokens: case.tokens,
        calls: case.calls,
        until: Until::within(case.deadline),
        ..DeepLimits::default()
    };
    let found = subject.engine.explore_deep(repository::QUESTION, &limits, &model, &());
    (started.elapsed(), found)
}

impl Row {
    fn of(
        case: &Case,
        subject: &Subject,
        lexical: &ExploreOutcome,
        server: &ModelServer,
        blocking_client: &BlockingClient,
    ) -> Self {
        let before = threads();
        let (took, found) = explore(subject, case, server, blocking_client);
        let left = || (threads().difference(&before).count(), server.connections());
        let started = Instant::now();
        let mut leftover = left();
        while leftover != (0, 0) && started.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
            leftover = left();
        }
        let totals = found.trace.totals();
        let late = took.checked_sub(case.deadline);
        Self {
            case: case.name,
            ended: found.trace.ended.label(),
            ms: rounded(millis(took)),
            late_ms: late.map(|late| rounded(millis(late))),
            turns: totals.turns,
            explorations: totals.explorations,
            calls: totals.calls,
            tokens: totals.input + totals.output,
            invented: totals.invented,
            escaped: server.log().escaped + usize::from(tells(&found)),
            threads_left: leftover.0,
            connections_left: leftover.1,
            keeps_files: keeps(lexical, &found),
        }
    }

    fn holds(&self) -> bool {
        (self.escaped, self.threads_left, self.connections_left) == (0, 0, 0) && self.keeps_files
    }

    fn head() -> String {
        format!(
            "{:<30} {:<15} {:>8} {:>7} {:>5} {:>5} {:>7} {:>8} {:>7} {:>13} lexical files",
            "case", "ended", "ms", "late ms", "turns", "calls", "tokens", "invented", "escaped", "left running"
        )
    }

    fn line(&self) -> String {
        let late = self.late_ms.map_or_else(|| "-".to_owned(), |late| format!("{late:.1}"));
        let left = match (self.threads_left, self.connections_left) {
            (0, 0) => "nothing".to_owned(),
            (threads, connections) => format!("{threads} + {connections}"),
        };
        format!(
            "{:<30} {:<15} {:>8.1} {late:>7} {:>5} {:>5} {:>7} {:>8} {:>7} {left:>13} {}",
            self.case,
            self.ended,
            self.ms,
            self.turns,
            self.calls,
            self.tokens,
            self.invented,
            self.escaped,
            if self.keeps_files { "kept" } else { "NOT KEPT" }
        )
    }
}

/// Whether the lexical result is kept.
fn keeps(lexical: &ExploreOutcome, found: &ExploreOutcome) -> bool {
    let top = |found: &ExploreOutcome| found.files.iter().take(5).cloned().collect::<HashSet<_>>();
    let all = lexical.files.iter().all(|path| found.files.contains(path));
    !lexical.files.is_empty() && all && top(lexical) == top(found)
}

/// Whether the result holds a forbidden text, or cites a forbidden file.
fn tells(found: &ExploreOutcome) -> bool {
    let text = serde_json::to_string(found).unwrap_or_default();
    let cites = |path: &str| found.citations.iter().any(|one| one.path.contains(path));
    repository::FORBIDDEN.iter().any(|secret| text.contains(secret)) || ["..", "link", ".env"].into_iter().any(cites)
}

/// The threads of this process.
fn threads() -> HashSet<std::ffi::OsString> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.map(|task| task.file_name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_scripts_leak_nothing_and_leave_nothing_running() {
        let report = run().unwrap();
        let ended = |case: &str| report.cases.iter().find(|row| row.case == case).map(|row| row.ended);
        assert_eq!(ended("the same call for ever"), Some("nothing new"));
        assert_eq!(ended("silence"), Some("deadline passed"));
        assert_eq!(ended("errors of status 500"), Some("model failed"));
        for row in &report.cases {
            assert!((row.escaped, row.keeps_files) == (0, true), "{row:?}");
        }
    }
}
