//! `streams`: a thousand slow streams at once. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_role, streams};

fn main() -> ExitCode {
    gateway_role::main("streams", streams::run)
}
