//! What the binaries share: becoming the gateway when asked to, and printing a report or an error.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use crate::gateway_role;
use crate::stand::{BenchError, progress};

/// The whole of a benchmark's `main`: runs it with the options of the command line, and prints its
/// report as one line of JSON on stdout, or the error `name` first on stderr.
pub fn main<O: Parser, R: Serialize>(name: &str, run: fn(&O) -> Result<R, BenchError>) -> ExitCode {
    if let Some(args) = gateway_role::requested(std::env::args_os()) {
        return gateway_role::gateway_main(args);
    }
    match run(&O::parse()) {
        Ok(report) => {
            let written = serde_json::to_string(&report)
                .map_err(io::Error::from)
                .and_then(|line| writeln!(io::stdout(), "{line}"));
            ExitCode::from(u8::from(written.is_err()))
        }
        Err(error) => {
            progress(&format!("{name}: {}", chain(&error)));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes on one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
