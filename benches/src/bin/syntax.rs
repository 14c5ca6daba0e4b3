//! `syntax`: how fast definitions and references are taken from source files. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, syntax};

fn main() -> ExitCode {
    command_line::main("syntax", syntax::run)
}
