//! `value`: the estimated worth of packs in recorded runs. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, value};

fn main() -> ExitCode {
    gateway_process::main("value", value::run)
}
