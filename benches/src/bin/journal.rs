//! `journal`: a git journal of many entries, and its search beside `git log --grep`. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, journal};

fn main() -> ExitCode {
    match journal::requested(std::env::args_os()) {
        Some(code) => code,
        None => command_line::main("journal", journal::run),
    }
}
