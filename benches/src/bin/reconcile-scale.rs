//! `reconcile-scale`: reconciling with a large main memory. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, reconcile_scale};

fn main() -> ExitCode {
    match reconcile_scale::requested(std::env::args_os()) {
        Some(code) => code,
        None => command_line::main("reconcile-scale", reconcile_scale::run),
    }
}
