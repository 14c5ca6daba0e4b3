//! Explorations with a hostile or broken model.

mod cases;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use muninn_base::Until;
use muninn_context_engine::explore::{DeepLimits, ExploreOutcome};
use muninn_tests::git;
use serde::Serialize;

use self::cases::Case;
use super::{Explored, Stage};
use crate::graded::subject::Subject;
use crate::graded::trees::Tree;
use crate::harness::line;
use crate::harness::stats::{millis, rounded};
use crate::model::answer::Answer;

/// Turns of each exploration: enough that another limit ends it.
const TURNS: u32 = 64;
/// How long threads and connections of a finished exploration may remain.
const PATIENCE: Duration = Duration::from_secs(2);
/// Text of the file beside the repository, and of `.env` in it.
const OUTSIDE: &str = "kestrelOutsideTheRepository";
const ENV: &str = "kestrelInTheEnvironmentFile";
const FORBIDDEN: [&str; 3] = [OUTSIDE, ENV, "root:x:0:0"];
const QUESTION: &str = "How long does a retry wait before the client sends the request again?";

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    cases: Vec<Row>,
    holds: bool,
}

#[derive(Debug, Clone, Serialize)]
struct Row {
    case: &'static str,
    ended: &'static str,
    ms: f64,
    late_ms: Option<f64>,
    turns: u32,
    explorations: u32,
    calls: u32,
    tokens: u64,
    invented: u32,
    /// Requests, and the result, that held a forbidden text.
    escaped: usize,
    threads_left: usize,
    connections_left: usize,
    keeps_files: bool,
}

pub(super) fn run() -> Result<Report> {
    let dir = tempfile::tempdir()?;
    let tree = Tree { root: make_repository(dir.path())?, cache: dir.path().join("cache") };
    let subject = Subject::index(&tree, None)?;
    let stage = Stage::start(FORBIDDEN.map(str::to_owned).to_vec(), true)?;
    // A model that fails at once gives the lexical result, and starts the pools of threads.
    let lexical = explore(&stage, &subject, &cases::case("", |_| Answer::Status(403))).found;
    let mut rows = Vec::new();
    for case in cases::all() {
        let row = Row::of(&stage, &subject, &case, &lexical);
        line(&row)?;
        rows.push(row);
    }
    let holds = |row: &Row| (row.escaped, row.threads_left, row.connections_left) == (0, 0, 0) && row.keeps_files;
    Ok(Report { holds: rows.iter().all(holds), cases: rows })
}

/// A small repository with a secret file in it, others around it, and links to these; returns its root.
fn make_repository(dir: &Path) -> Result<PathBuf> {
    let root = dir.join("repository");
    let write = |path: &str, text: &str| {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap_or(dir)).and_then(|()| fs::write(path, text))
    };
    write("outside.txt", &format!("fn retry() {{ {OUTSIDE} }}\n"))?;
    write("outside/retry.rs", &format!("fn retry() {{ {OUTSIDE} }}\n"))?;
    write("repository/src/retry.rs", cases::RETRY)?;
    write("repository/src/client.rs", cases::CLIENT)?;
    write("repository/src/lib.rs", "pub mod client;\npub mod retry;\n")?;
    write("repository/README.md", "# A client that retries\n")?;
    for number in 0..40 {
        let text = format!(
            "//! Part {number}.\n\n/// Does part {number}.\npub fn part_{number}() -> u32 {{\n    {number}\n}}\n"
        );
        write(&format!("repository/src/parts/part_{number}.rs"), &text)?;
    }
    for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message=c"]] {
        git(&root, arguments)?;
    }
    write("repository/.env", &format!("RETRY={ENV}\n"))?;
    std::os::unix::fs::symlink("../outside", root.join("link"))?;
    std::os::unix::fs::symlink("../../outside.txt", root.join("src/linked.rs"))?;
    Ok(root)
}

fn explore(stage: &Stage, subject: &Subject, case: &Case) -> Explored {
    let limits = DeepLimits {
        turns: TURNS,
        depth: case.depth,
        tokens: case.tokens,
        calls: case.calls,
        until: Until::within(case.deadline),
        ..DeepLimits::default()
    };
    stage.explore(subject, QUESTION, &limits, case.policy.clone())
}

impl Row {
    fn of(stage: &Stage, subject: &Subject, case: &Case, lexical: &ExploreOutcome) -> Self {
        let before = threads();
        let Explored { found, started, ended } = explore(stage, subject, case);
        let left = || (threads().difference(&before).count(), stage.server.connections());
        let mut leftover = left();
        while leftover != (0, 0) && ended.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
            leftover = left();
        }
        let totals = found.trace.totals();
        let took = ended - started;
        Self {
            case: case.name,
            ended: found.trace.ended.label(),
            ms: rounded(millis(took)),
            late_ms: took.checked_sub(case.deadline).map(|late| rounded(millis(late))),
            turns: totals.turns,
            explorations: totals.explorations,
            calls: totals.calls,
            tokens: totals.input + totals.output,
            invented: totals.invented,
            escaped: stage.server.log().escaped + usize::from(leaks(&found)),
            threads_left: leftover.0,
            connections_left: leftover.1,
            keeps_files: keeps(lexical, &found),
        }
    }
}

/// Whether the first five files are those of the lexical lane, and none of its others is missing.
fn keeps(lexical: &ExploreOutcome, found: &ExploreOutcome) -> bool {
    let top = |found: &ExploreOutcome| found.files.iter().take(5).cloned().collect::<HashSet<_>>();
    let all = lexical.files.iter().all(|path| found.files.contains(path));
    !lexical.files.is_empty() && all && top(lexical) == top(found)
}

/// Whether the result holds a forbidden text, or cites a forbidden file.
fn leaks(found: &ExploreOutcome) -> bool {
    let text = serde_json::to_string(found).unwrap_or_default();
    let cites = |path: &str| found.citations.iter().any(|one| one.path.contains(path));
    FORBIDDEN.iter().any(|secret| text.contains(secret)) || ["..", "link", ".env"].into_iter().any(cites)
}

fn threads() -> HashSet<std::ffi::OsString> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.map(|task| task.file_name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_scripts_leak_nothing_and_end() {
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
