//! `hooks`: the processes that clients start. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, hooks};

fn main() -> ExitCode {
    gateway_process::main("hooks", hooks::run)
}
