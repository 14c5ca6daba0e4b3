//! `overhead`: what a gateway adds to streamed answers. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_role, overhead};

fn main() -> ExitCode {
    gateway_role::main("overhead", overhead::run)
}
