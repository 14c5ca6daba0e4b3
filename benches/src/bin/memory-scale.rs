//! `memory-scale`: recall over many records. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, memory_scale};

fn main() -> ExitCode {
    match memory_scale::requested(std::env::args_os()) {
        Some(code) => code,
        None => command_line::main("memory-scale", memory_scale::run),
    }
}
