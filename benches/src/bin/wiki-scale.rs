//! `wiki-scale`: a wiki of many pages. See `benches/README.md`.

use std::process::ExitCode;

use muninn_benches::{command_line, wiki_scale};

fn main() -> ExitCode {
    match wiki_scale::requested(std::env::args_os()) {
        Some(code) => code,
        None => command_line::main("wiki-scale", wiki_scale::run),
    }
}
