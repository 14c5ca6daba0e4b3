//! `muninn completions`: scripts by which a shell completes commands and options.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::{CliError, examples, output};

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn completions bash > ~/.local/share/bash-completion/completions/muninn", "For bash"),
    ("muninn completions zsh > ~/.zfunc/_muninn", "For zsh, with ~/.zfunc in fpath"),
    ("muninn completions fish > ~/.config/fish/completions/muninn.fish", "For fish"),
]))]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut command: clap::Command) -> Result<ExitCode, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "muninn", &mut script);
        output::print(&String::from_utf8_lossy(&script));
        Ok(ExitCode::SUCCESS)
    }
}
