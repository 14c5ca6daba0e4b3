//! `decisions`: whether a question gets the statement that holds now. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{decisions, gateway_process};

fn main() -> ExitCode {
    gateway_process::main("decisions", decisions::run)
}
