//! `streams`: a thousand slow streams at once. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, streams};

fn main() -> ExitCode {
    gateway_process::main("streams", streams::run)
}
