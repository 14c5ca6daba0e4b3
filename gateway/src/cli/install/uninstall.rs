//! `muninn uninstall CLIENT`.

use std::process::ExitCode;

use clap::Args;

use super::{Target, roll_back, show};
use crate::cli::{CliError, Common, examples, output};

/// Take back what `muninn install` changed
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn uninstall claude-code", "Restore Claude Code's settings, and keep your own later changes"),
]))]
pub(crate) struct Uninstall {
    #[command(flatten)]
    target: Target,
}

impl Uninstall {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let target = &self.target;
        let root = target.root(common)?;
        let mut journal = target.journal()?;
        let name = target.client.name();
        let Some(install) = journal.find(target.client, target.scope, root.as_deref()).cloned() else {
            output::line(&format!("nothing is installed for {name} in this scope"));
            return Ok(ExitCode::SUCCESS);
        };
        let (changes, kept) = journal.plan_removal(&install)?;
        for change in changes.iter().filter(|change| !change.is_empty()) {
            show::change(change, None);
        }
        for setting in kept {
            output::line(&format!("kept, because it was changed since: {setting}"));
        }
        if !target.confirm("uninstall")? {
            return Ok(ExitCode::SUCCESS);
        }
        for (done, change) in changes.iter().enumerate() {
            change.write().map_err(|error| roll_back(&changes[..done], error.into()))?;
        }
        journal.forget(&install)?;
        output::line(&format!("{name} is no longer connected"));
        Ok(ExitCode::SUCCESS)
    }
}
