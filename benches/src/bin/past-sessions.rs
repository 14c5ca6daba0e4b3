//! `past-sessions`: the cost of many past sessions. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, past_sessions};

fn main() -> ExitCode {
    gateway_process::main("past-sessions", past_sessions::run)
}
