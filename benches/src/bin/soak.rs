//! `soak`: mixed clients and a faulty backend for half an hour. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, soak};

fn main() -> ExitCode {
    gateway_process::main("soak", soak::run)
}
