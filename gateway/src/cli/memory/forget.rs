//! `muninn forget`: removes a record from recall.

use std::process::ExitCode;

use clap::Args;

use super::{CliError, Common, examples};
use crate::cli::log;
use crate::cli::output;

/// Remove a record from recall; git keeps it in history
#[derive(Args)]
#[command(after_help = examples(&[("muninn forget 7QK2", "Forget the record whose id contains 7QK2")]))]
pub(crate) struct Forget {
    /// The record's id, as `muninn recall` shows it, or any unambiguous part of it
    id: String,
}

impl Forget {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let id = common.workspace()?.writable_memory()?.forget(&self.id)?;
        output::line(&format!("{id} is forgotten"));
        Ok(ExitCode::SUCCESS)
    }
}
