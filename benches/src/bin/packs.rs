//! `packs`: the share of useful places in packs for graded prompts. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{gateway_process, packs};

fn main() -> ExitCode {
    gateway_process::main("packs", packs::run)
}
