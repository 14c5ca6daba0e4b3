//! `explore`: scripted explorers at the socket. See `benches/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    muninn_benches::explore::main()
}
