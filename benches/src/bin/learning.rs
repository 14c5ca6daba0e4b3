//! `learning`: what memory of earlier sessions adds. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::learning;

fn main() -> ExitCode {
    learning::main()
}
