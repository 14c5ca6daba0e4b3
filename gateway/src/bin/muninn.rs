//! The binary `muninn`.

fn main() -> std::process::ExitCode {
    muninn_gateway::run(std::env::args_os())
}
