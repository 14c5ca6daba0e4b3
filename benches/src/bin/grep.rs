//! `grep`: our search beside ripgrep's. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, grep};

fn main() -> ExitCode {
    command_line::main("grep", grep::run)
}
