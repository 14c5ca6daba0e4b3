//! `soak`: mixed clients and a faulty backend for half an hour. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_role, soak};

fn main() -> ExitCode {
    gateway_role::main("soak", soak::run)
}
