//! `muninn man`: manual pages, made from the command line's own descriptions.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{CliError, Exit, examples, output};

/// Print the manual page, or write one for each command
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn man > muninn.1", "Write the page of muninn itself"),
    ("muninn man --out ~/.local/share/man/man1", "Install the pages of all commands, for `man muninn-ask`"),
]))]
pub(crate) struct Man {
    /// Write a page for each command into DIR, which is created if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, command: clap::Command) -> Result<ExitCode, CliError> {
        let Some(dir) = self.out else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            output::print(&String::from_utf8_lossy(&page));
            return Ok(ExitCode::SUCCESS);
        };
        std::fs::create_dir_all(&dir).and_then(|()| clap_mangen::generate_to(command, &dir)).map_err(|error| {
            CliError::new(Exit::Failure, format!("cannot write the manual pages to {}: {error}", dir.display()))
        })?;
        output::note(&format!("wrote the manual pages to {}", dir.display()));
        Ok(ExitCode::SUCCESS)
    }
}
