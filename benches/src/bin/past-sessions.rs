//! `past-sessions`: what a gateway's age costs. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, past_sessions};

fn main() -> ExitCode {
    gateway_process::main("past-sessions", past_sessions::run)
}
