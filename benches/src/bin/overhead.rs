//! `overhead`: what a gateway adds to streamed answers. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, overhead};

fn main() -> ExitCode {
    command_line::main("overhead", overhead::run)
}
