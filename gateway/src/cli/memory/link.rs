//! `muninn link`: says how two records relate.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use muninn_core::Link as Relation;

use super::{CliError, Common, examples};
use crate::cli::log;
use crate::cli::output;

/// Say that a record replaces or repeats another one, or that both hold
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn link 7QK2 --replaces 01J7", "The record 7QK2 holds instead of 01J7"),
    ("muninn link 7QK2 --apart 01J7", "Both hold; undoes any other link between them"),
]))]
#[command(group = ArgGroup::new("relation").required(true).args(["replaces", "same_as", "apart"]))]
pub(crate) struct Link {
    /// The record's id, or any unambiguous part of it
    id: String,
    /// The record holds instead of this one, which is superseded
    #[arg(long, value_name = "ID")]
    replaces: Option<String>,
    /// Both say the same
    #[arg(long, value_name = "ID")]
    same_as: Option<String>,
    /// Both hold, and are no duplicates
    #[arg(long, value_name = "ID")]
    apart: Option<String>,
}

impl Link {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let relations = [
            (Relation::Replaces, self.replaces, "replaces"),
            (Relation::SameAs, self.same_as, "says the same as"),
            (Relation::Apart, self.apart, "holds beside"),
        ];
        let workspace = common.workspace()?;
        let memory = workspace.writable_memory()?;
        for (relation, other, verb) in relations {
            if let Some(other) = other {
                let (id, other) = memory.link(&self.id, (relation, &other), None)?;
                output::line(&format!("{id} {verb} {other}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
