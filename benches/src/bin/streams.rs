//! `streams`: a thousand slow streams at once. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, streams};

fn main() -> ExitCode {
    command_line::main("streams", streams::run)
}
