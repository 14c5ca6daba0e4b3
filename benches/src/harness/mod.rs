//! The `main` of the binaries: prints a report or an error.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use serde::Serialize;

/// Runs a benchmark with the options of the command line. Prints its report as one line of JSON on stdout, or its error
/// after its `name` on stderr.
pub fn main<O: Parser, R: Serialize>(name: &str, run: fn(&O) -> Result<R>) -> ExitCode {
    match run(&O::parse()) {
        Ok(report) => ExitCode::from(u8::from(line(&report).is_err())),
        Err(error) => {
            progress(&format!("{name}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints one line of JSON on stdout.
///
/// # Errors
/// When nobody reads it any more.
pub fn line(report: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(report).map_err(io::Error::from)?;
    writeln!(io::stdout(), "{line}")
}

/// Names a path as the context of an error: `.with_context(at(path))`.
pub fn at(path: &Path) -> impl Fn() -> String {
    move || format!("{path:?}")
}

/// Says on stderr how far a benchmark is.
pub fn progress(text: &str) {
    // Without a stderr there is nobody to tell.
    drop(writeln!(io::stderr(), "{text}"));
}
