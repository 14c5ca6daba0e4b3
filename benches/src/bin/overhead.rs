//! `overhead`: the cost of a gateway for streamed answers. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, overhead};

fn main() -> ExitCode {
    gateway_process::main("overhead", overhead::run)
}
