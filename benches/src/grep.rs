//! Our search against the ripgrep binary, on the same tree, with the same lines found.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use muninn_base::Until;
use muninn_repo_tools::{Detail, FindQuery, GrepLimits, GrepPattern, GrepQuery, Worktree, find, grep, grep_many};
use muninn_tests::git;
use serde::Serialize;

use crate::command_line::progress;
use crate::{procfs, stats};

/// Patterns of every kind that the matcher treats differently: rare, common, many, classes, cases, words.
const PATTERNS: &[(&str, bool, &str)] = &[
    ("rare", true, "floor_char_boundary"),
    ("common", true, "return"),
    ("case", false, "(?i)unsafe impl"),
    ("alternatives", false, "TODO|FIXME|HACK|XXX"),
    ("class", false, r"fn \w+_until\("),
    ("word", false, r"\bmatches!\("),
    ("no literal", false, r"[a-z]{3}_[0-9]{2,}x"),
    ("nothing", true, "no such line anywhere in it"),
];

/// Searches a tree with our library and with `rg`, in turn, and reports medians.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "grep")]
pub struct Options {
    /// The tree, a git worktree; a directory that is none is made one with `git init`.
    #[arg(long)]
    pub root: PathBuf,
    /// Rounds over all patterns.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Also measure so many of the patterns at once, from the first on and over again, beside each alone.
    #[arg(long, default_value_t = 0)]
    pub many: usize,
}

/// The report.
#[derive(Debug, Serialize)]
pub struct Report {
    files: usize,
    /// The version of ripgrep.
    ripgrep: String,
    /// Starting `rg` at all, which its times contain and ours do not.
    rg_start_ms: f64,
    /// All patterns found the same number of lines in the same number of files.
    same: bool,
    /// The median over patterns of our time as a share of ripgrep's.
    ratio: Option<f64>,
    patterns: Vec<PatternReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    many: Option<ManyReport>,
}

/// Several patterns at once.
#[derive(Debug, Serialize)]
struct ManyReport {
    patterns: usize,
    /// Each pattern found as many lines as alone.
    same: bool,
    /// All at once.
    together_ms: f64,
    /// The slowest round.
    together_max_ms: f64,
    /// One after the other.
    alone_ms: f64,
    /// The machine's load average over a minute; nothing else should run.
    load: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PatternReport {
    name: &'static str,
    pattern: &'static str,
    lines: usize,
    same: bool,
    ours_ms: f64,
    rg_ms: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// When the tree is none that git knows, or `rg` or `git` cannot be run.
pub fn run(options: &Options) -> Result<Report> {
    if !options.root.join(".git").exists() {
        progress("making it a git repository");
        git(&options.root, &["init", "--quiet"])?;
    }
    let worktree = Worktree::discover(&options.root)?;
    let all = FindQuery { max_files: usize::MAX, ..FindQuery::new("") };
    let files = find(&worktree, &all)?.paths.len();
    let version = rg(worktree.root(), &["--version"]).context("rg")?;
    let mut report = Report {
        files,
        ripgrep: version.lines().next().unwrap_or_default().to_owned(),
        rg_start_ms: 0.0,
        same: true,
        ratio: None,
        patterns: Vec::new(),
        many: None,
    };
    let mut starts = Vec::new();
    for _ in 0..options.rounds {
        let start = Instant::now();
        rg(worktree.root(), &["--version"])?;
        starts.push(stats::millis(start.elapsed()));
    }
    report.rg_start_ms = stats::median(starts).unwrap_or(0.0);
    for (name, literal, pattern) in PATTERNS {
        let (mut ours, mut theirs, mut lines) = (Vec::new(), Vec::new(), (0, 0));
        // One more round, not counted, to read the files into the system's cache.
        for round in 0..=options.rounds {
            let start = Instant::now();
            lines.0 = search(&worktree, *literal, pattern)?;
            let between = Instant::now();
            lines.1 = rg_lines(worktree.root(), *literal, pattern)?;
            if round > 0 {
                ours.push(stats::millis(between - start));
                theirs.push(stats::millis(between.elapsed()));
            }
        }
        let found = PatternReport {
            name,
            pattern,
            lines: lines.0,
            same: lines.0 == lines.1,
            ours_ms: stats::median(ours).unwrap_or(0.0),
            rg_ms: stats::median(theirs).unwrap_or(0.0),
        };
        progress(&format!(
            "{name}: {} lines, ours {:.1} ms, rg {:.1} ms{}",
            found.lines,
            found.ours_ms,
            found.rg_ms,
            if found.same { String::new() } else { format!(", which found {} lines", lines.1) }
        ));
        report.same &= found.same;
        report.patterns.push(found);
    }
    if options.many > 0 {
        let many = measure_many(&worktree, options)?;
        progress(&format!(
            "{} at once: {:.1} ms, one after the other {:.1} ms",
            many.patterns, many.together_ms, many.alone_ms
        ));
        report.many = Some(many);
    }
    report.ratio = stats::median(report.patterns.iter().map(|found| found.ours_ms / found.rg_ms).collect());
    Ok(report)
}

fn search(worktree: &Worktree, literal: bool, pattern: &str) -> Result<usize> {
    Ok(grep(worktree, &query(literal, pattern), None)?.matches.len())
}

fn query(literal: bool, pattern: &str) -> GrepQuery {
    let pattern =
        if literal { GrepPattern::Literals(vec![pattern.to_owned()]) } else { GrepPattern::Regex(pattern.to_owned()) };
    GrepQuery {
        detail: Detail::Lines,
        limits: GrepLimits {
            max_files: usize::MAX,
            max_matches: usize::MAX,
            max_matches_per_file: usize::MAX,
            max_file_bytes: u64::MAX,
            max_bytes: usize::MAX,
            until: Until::within(Duration::from_secs(600)),
        },
        ..GrepQuery::new(pattern)
    }
}

/// As a model asks: so many searches in one turn, with the usual bounds of a search.
fn measure_many(worktree: &Worktree, options: &Options) -> Result<ManyReport> {
    let patterns = PATTERNS.iter().cycle().take(options.many);
    let queries: Vec<GrepQuery> = patterns
        .map(|(_, literal, pattern)| GrepQuery {
            limits: GrepLimits {
                max_files: usize::MAX,
                until: Until::within(Duration::from_secs(600)),
                ..GrepLimits::default()
            },
            ..query(*literal, pattern)
        })
        .collect();
    let (mut together, mut alone, mut same) = (Vec::new(), Vec::new(), true);
    for round in 0..=options.rounds {
        let start = Instant::now();
        let found = grep_many(worktree, &queries, None, &Until::within(Duration::from_secs(600)));
        let between = Instant::now();
        for (query, found) in queries.iter().zip(found) {
            same &= grep(worktree, query, None)?.matches.len() == found?.matches.len();
        }
        if round > 0 {
            together.push(stats::millis(between - start));
            alone.push(stats::millis(between.elapsed()));
        }
    }
    Ok(ManyReport {
        patterns: queries.len(),
        same,
        together_max_ms: together.iter().copied().fold(0.0, f64::max),
        together_ms: stats::median(together).unwrap_or(0.0),
        alone_ms: stats::median(alone).unwrap_or(0.0),
        load: procfs::load1(),
    })
}

/// With the rules of our walk, and the same work: numbered lines.
fn rg_lines(root: &Path, literal: bool, pattern: &str) -> std::io::Result<usize> {
    let mut arguments = vec!["--no-config", "--hidden", "--no-ignore-parent", "--no-ignore-global", "--glob=!.git"];
    arguments.extend(["--no-heading", "--line-number", "--color=never", "--no-messages"]);
    let secrets = secrets(root);
    arguments.extend(secrets.iter().map(String::as_str));
    if literal {
        arguments.push("--fixed-strings");
    }
    arguments.extend(["-e", pattern, "./"]);
    let printed = rg(root, &arguments)?;
    let note = |line: &&str| line.contains(": WARNING: stopped searching binary file");
    Ok(printed.lines().count() - printed.lines().filter(note).count())
}

fn rg(root: &Path, arguments: &[&str]) -> std::io::Result<String> {
    let output = Command::new("rg").args(arguments).current_dir(root).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Globs for the files that we never read, found once.
fn secrets(root: &Path) -> &'static [String] {
    static SECRETS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    SECRETS.get_or_init(|| {
        let mut found = vec!["--glob=!/.muninn".to_owned()];
        let mut waiting = vec![root.to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let relative = path.strip_prefix(root).unwrap_or(&path);
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push(path);
                } else if muninn_base::RelPath::from_relative(relative)
                    .is_some_and(|path| muninn_repo_tools::is_secret(&path))
                {
                    found.push(format!("--glob=!/{}", relative.display()));
                }
            }
        }
        found
    })
}
