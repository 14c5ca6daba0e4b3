//! `localization`: whether the files that a question is about are found. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, localization};

fn main() -> ExitCode {
    command_line::main("localization", localization::run)
}
