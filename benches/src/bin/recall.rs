//! `recall`: recall over long conversations. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, recall};

fn main() -> ExitCode {
    command_line::main("recall", recall::run)
}
