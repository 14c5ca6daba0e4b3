//! `muninn key new`: makes an access key, and prints the lines of `muninn.toml` that accept it.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_config::check_name;
use muninn_config::secrets::generate;
use serde_json::json;

use super::{CliError, Common, Exit, examples, output};

/// Make access keys for a gateway that several people share
#[derive(Args)]
#[command(after_help = examples(&[("muninn key new ada", "Make a key for ada")]))]
pub(crate) struct KeyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a key, and print it once with the lines to paste into muninn.toml
    #[command(after_help = examples(&[
        ("muninn key new ada", "Make a key for ada"),
        ("muninn key new ci --json", "Key, hash and configuration as JSON"),
    ]))]
    New {
        /// The name of the key's holder, for logs, receipts and metrics
        name: String,
        /// Print JSON: name, key, hash, toml
        #[arg(long)]
        json: bool,
    },
}

impl KeyCommand {
    /// Reads no configuration: one that listens on other machines is invalid until it has its first key.
    pub(crate) fn run(self, _: &Common) -> Result<ExitCode, CliError> {
        let Action::New { name, json } = self.action;
        check_name(&name).map_err(|error| CliError::new(Exit::Usage, format!("the key's name {error}")))?;
        let (key, hash) = generate().map_err(|error| {
            CliError::new(Exit::Failure, format!("cannot get random bytes from the system: {error}"))
        })?;
        let hash = hash.to_string();
        let toml = format!("[[keys]]\nname = {}\nhash = \"{hash}\"\n", toml::Value::from(name.as_str()));
        if json {
            output::json(&json!({"name": name, "key": key.reveal(), "hash": hash, "toml": toml}));
            return Ok(ExitCode::SUCCESS);
        }
        output::line(key.reveal());
        output::note("Give this key to its holder. It is not stored and cannot be shown again.");
        output::note("Add these lines to muninn.toml (`muninn config check` prints its path):\n");
        output::print(&toml);
        output::note("# models = [\"qwen*\"]           # only these models");
        output::note("# backends = [\"local\"]         # only these backends");
        output::note("# roots = [\"/srv/code\"]        # context from these directories only");
        output::note("# requests_per_minute = 60");
        Ok(ExitCode::SUCCESS)
    }
}
