//! `overhead`: what a gateway adds to streamed answers. See `benches/README.md`.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use muninn_benches::gateway_role;
use muninn_benches::options::Options;
use muninn_benches::overhead::{progress, run};

fn main() -> ExitCode {
    if let Some(args) = gateway_role::requested(std::env::args_os()) {
        return gateway_role::gateway_main(args);
    }
    match run(&Options::parse()) {
        Ok(report) => {
            let written = serde_json::to_string(&report)
                .map_err(std::io::Error::from)
                .and_then(|line| writeln!(std::io::stdout(), "{line}"));
            ExitCode::from(u8::from(written.is_err()))
        }
        Err(error) => {
            let mut text = format!("overhead: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                text.push_str(&format!(": {cause}"));
                source = cause.source();
            }
            progress(&text);
            ExitCode::FAILURE
        }
    }
}
