//! `learning`: the benefit of records of earlier sessions. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::learning;

fn main() -> ExitCode {
    learning::main()
}
