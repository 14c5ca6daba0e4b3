//! `scale`: the engine over a large tree. See `benches/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    muninn_benches::scale::main()
}
