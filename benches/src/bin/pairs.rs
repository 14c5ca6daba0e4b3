//! `pairs`: duplicates and contradictions between records. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, pairs};

fn main() -> ExitCode {
    command_line::main("pairs", pairs::run)
}
