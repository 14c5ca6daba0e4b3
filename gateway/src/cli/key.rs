//! `muninn key new`: an access key for somebody, and the lines that let them in.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, Common, Exit, output};
use crate::config::check_name;
use crate::secrets::generate;

/// Make access keys.
#[derive(Args)]
pub(crate) struct KeyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a key and print it, this once, with the lines to paste into muninn.toml
    New {
        /// Who will hold it; stands in logs, receipts and metrics
        name: String,
        /// Print JSON: name, key, hash, toml
        #[arg(long)]
        json: bool,
    },
}

impl KeyCommand {
    /// Reads no configuration: the one that is waiting for its first key may not be valid without it.
    pub(crate) fn run(self, _: &Common) -> Result<ExitCode, CliError> {
        let Action::New { name, json } = self.action;
        check_name(&name).map_err(|error| CliError::new(Exit::Usage, format!("a key's name {error}")))?;
        let (key, hash) = generate()
            .map_err(|error| CliError::new(Exit::Failure, format!("the system gave no randomness: {error}")))?;
        let hash = hash.to_string();
        let toml = format!(
            "[[keys]]\nname = {}\nhash = \"{hash}\"\n",
            toml::Value::from(name.as_str())
        );
        if json {
            output::json(&json!({"name": name, "key": key.reveal(), "hash": hash, "toml": toml}));
            return Ok(ExitCode::SUCCESS);
        }
        output::line(key.reveal());
        output::note("This is the key, for its holder alone; it is not kept and cannot be shown again.");
        output::note("These lines go into your muninn.toml (`muninn config check` says where it is):\n");
        output::print(&toml);
        output::note("# models = [\"qwen*\"]           # only these models");
        output::note("# backends = [\"local\"]         # only these backends");
        output::note("# roots = [\"/srv/code\"]        # context from these directories only");
        output::note("# requests_per_minute = 60");
        Ok(ExitCode::SUCCESS)
    }
}
