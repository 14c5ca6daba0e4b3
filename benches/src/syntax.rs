//! Parsed lines per second, on one core, by language.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use muninn_base::RelPath;
use muninn_code::syntax::{Language, ParseError, ParseLimits, parse};
use serde::Serialize;

use crate::command_line::{at, progress};
use crate::stats;

/// Parses every source file below some directories, on one thread.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "syntax")]
pub struct Options {
    /// The directories.
    #[arg(long, required = true)]
    pub root: Vec<PathBuf>,
}

/// The report, by language and in total.
#[derive(Debug, Serialize)]
pub struct Report {
    languages: BTreeMap<&'static str, Figures>,
    total: Figures,
}

#[derive(Debug, Default, Serialize)]
struct Figures {
    files: usize,
    lines: usize,
    bytes: usize,
    seconds: f64,
    lines_per_second: f64,
    slowest_file_ms: f64,
    definitions: usize,
    references: usize,
    broken: usize,
    too_slow: usize,
    not_parsed: usize,
}

/// Runs the benchmark.
///
/// # Errors
/// When a directory is not there.
pub fn run(options: &Options) -> Result<Report> {
    let mut report = Report { languages: BTreeMap::new(), total: Figures::default() };
    for root in &options.root {
        progress(&format!("reading {}", root.display()));
        std::fs::read_dir(root).with_context(at(root))?;
        let mut waiting = vec![root.clone()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push(path);
                    continue;
                }
                let name = RelPath::new(&entry.file_name().to_string_lossy()).ok();
                if let Some(language) = name.and_then(|name| Language::of_path(&name))
                    && let Ok(source) = std::fs::read_to_string(&path)
                {
                    report.languages.entry(language.name()).or_default().add(language, &source);
                }
            }
        }
    }
    for figures in report.languages.values_mut() {
        figures.lines_per_second = figures.lines as f64 / figures.seconds;
        report.total.sum(figures);
    }
    report.total.lines_per_second = report.total.lines as f64 / report.total.seconds;
    Ok(report)
}

impl Figures {
    fn add(&mut self, language: Language, source: &str) {
        let start = Instant::now();
        let parsed = parse(language, source, &ParseLimits::default());
        let took = start.elapsed();
        self.files += 1;
        match parsed {
            Ok(parsed) => {
                self.lines += source.lines().count();
                self.bytes += source.len();
                self.seconds += took.as_secs_f64();
                self.slowest_file_ms = self.slowest_file_ms.max(stats::millis(took));
                self.definitions += parsed.definitions.len();
                self.references += parsed.references.len();
                self.broken += usize::from(parsed.broken);
            }
            Err(ParseError::Slow) => self.too_slow += 1,
            Err(_) => self.not_parsed += 1,
        }
    }

    fn sum(&mut self, other: &Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.slowest_file_ms = self.slowest_file_ms.max(other.slowest_file_ms);
        self.definitions += other.definitions;
        self.references += other.references;
        self.broken += other.broken;
        self.too_slow += other.too_slow;
        self.not_parsed += other.not_parsed;
    }
}
