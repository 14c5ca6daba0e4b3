//! `personal-scale`: a large personal memory. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, personal_scale};

fn main() -> ExitCode {
    gateway_process::main("personal-scale", personal_scale::run)
}
