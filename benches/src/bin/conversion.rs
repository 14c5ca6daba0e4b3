//! `conversion`: what converting a stream costs, against passing it on. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{conversion, gateway_role};

fn main() -> ExitCode {
    gateway_role::main("conversion", conversion::run)
}
