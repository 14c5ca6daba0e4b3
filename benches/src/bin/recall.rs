//! `recall`: whether what was said long ago is found again. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, recall};

fn main() -> ExitCode {
    command_line::main("recall", recall::run)
}
