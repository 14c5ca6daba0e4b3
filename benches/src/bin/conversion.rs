//! `conversion`: the cost of converting a stream. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{conversion, gateway_process};

fn main() -> ExitCode {
    gateway_process::main("conversion", conversion::run)
}
