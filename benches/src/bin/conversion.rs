//! `conversion`: what converting a stream costs, against passing it on. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, conversion};

fn main() -> ExitCode {
    command_line::main("conversion", conversion::run)
}
