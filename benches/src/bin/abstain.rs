//! `abstain`: the prompts that get a pack. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{abstain, command_line};

fn main() -> ExitCode {
    command_line::main("abstain", abstain::run)
}
