//! `muninn forget`: something that nobody wants to see again.

use std::process::ExitCode;

use clap::Args;
use muninn_memory::records::Body;

use super::{CliError, Common, Memory};
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
        let memory = Memory::of(common)?;
        let id = memory.record_id(&self.id)?;
        memory.tell(Body::Tombstone { forget: id.clone() }, &[], None)?;
        memory.flush()?;
        output::line(&format!("{id} is forgotten"));
        Ok(ExitCode::SUCCESS)
    }
}
