//! `admit`: whether remembered facts reach the prompts that they are about. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{admit, gateway_process};

fn main() -> ExitCode {
    gateway_process::main("admit", admit::run)
}
