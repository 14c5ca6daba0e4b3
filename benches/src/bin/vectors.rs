//! `vectors`: nearest-neighbour search. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, vectors};

fn main() -> ExitCode {
    command_line::main("vectors", vectors::run)
}
