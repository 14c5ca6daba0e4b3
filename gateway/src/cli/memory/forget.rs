//! `muninn forget`: something that nobody wants to see again.

use std::process::ExitCode;

use clap::Args;

use super::{CliError, Common};
use crate::cli::output;

/// Have a record never recalled again. It stays in history, as git keeps it
#[derive(Args)]
pub(crate) struct Forget {
    /// The record's id, as `muninn recall` shows it, or any part of it that no other has
    id: String,
}

impl Forget {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let id = common.workspace()?.writable_memory()?.forget(&self.id)?;
        output::line(&format!("{id} is forgotten"));
        Ok(ExitCode::SUCCESS)
    }
}
