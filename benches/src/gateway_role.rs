//! The gateway, run by the benchmark's own binary.
//!
//! The benchmark starts itself again with a hidden first argument and becomes `muninn`: what is
//! measured is then always built from the same sources with the same profile, and one
//! `cargo run` builds all of it. It must be a process of its own, or its memory and CPU time could
//! not be told from the benchmark's.

use std::ffi::OsString;

#[cfg(feature = "gateway")]
use {crate::command_line, clap::Parser, serde::Serialize, std::error::Error, std::process::ExitCode};

/// The hidden first argument.
pub const ROLE: &str = "__gateway";

/// The gateway's own arguments, if the command line of this process asks for that role.
pub fn requested(args: impl IntoIterator<Item = OsString>) -> Option<Vec<OsString>> {
    let mut args = args.into_iter().skip(1);
    (args.next()? == ROLE).then(|| args.collect())
}

/// The `main` of a benchmark that may have to become the gateway.
#[cfg(feature = "gateway")]
pub fn main<O: Parser, R: Serialize, E: Error>(name: &str, run: fn(&O) -> Result<R, E>) -> ExitCode {
    match requested(std::env::args_os()) {
        Some(args) => muninn_gateway::run(std::iter::once(OsString::from("muninn")).chain(args)),
        None => command_line::main(name, run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_role_is_asked_for_by_the_first_argument_only() {
        let asked = requested(args(&["overhead", ROLE, "serve"]));
        assert_eq!(asked, Some(args(&["serve"])));
        assert_eq!(requested(args(&["overhead", "--quick", ROLE])), None);
        assert_eq!(requested(args(&["overhead"])), None);
    }
}
