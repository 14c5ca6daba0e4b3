//! `muninn doctor`: does everything that a gateway needs work, and what is to be done where it does not?
//!
//! It looks and changes nothing. All questions are asked at once and none for longer than [`PATIENCE`], so that the
//! command answers soon also where a backend does not.

mod finding;
mod ledger;
mod local;
mod memory;
mod probe;
mod remote;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{CliError, Common, Exit, output};
use crate::config::paths;
use finding::{Finding, State};

/// The longest that any one question may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Check backends, repository, port and state, and say what to do
#[derive(Args)]
pub(crate) struct Doctor {
    /// Print JSON: ok, and findings with state, about, says and do
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let findings = look(common)?;
        let ok = findings.iter().all(|finding| finding.state != State::Bad);
        if self.json {
            output::json(&json!({"ok": ok, "findings": findings}));
        } else {
            output::print(&finding::table(&findings));
        }
        Ok(ExitCode::from(if ok { Exit::Success } else { Exit::Failure } as u8))
    }
}

fn look(common: &Common) -> Result<Vec<Finding>, CliError> {
    let directory = common.directory()?;
    let state_dir = paths::state_dir()?;
    let config = match common.configuration(None) {
        Ok(config) => config,
        Err(error) => {
            let wrong = Finding::bad("configuration", error.to_string(), "correct the file, and ask again");
            let mut findings = vec![wrong];
            findings.extend(local::findings(&directory, &state_dir, None));
            findings.extend(ledger::findings(&state_dir));
            return Ok(findings);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(async {
        let here = tokio::task::spawn_blocking({
            let (config, directory, state_dir) = (config.clone(), directory.clone(), state_dir.clone());
            move || local::findings(&directory, &state_dir, Some(&config))
        });
        let remembered = tokio::task::spawn_blocking({
            let (config, directory, state_dir) = (config.clone(), directory.clone(), state_dir.clone());
            move || memory::findings(&directory, &state_dir, &config)
        });
        let ledger = tokio::task::spawn_blocking(move || ledger::findings(&state_dir));
        let (here, ledger, remembered, port, backends) = tokio::join!(
            tokio::time::timeout(PATIENCE, here),
            tokio::time::timeout(PATIENCE, ledger),
            tokio::time::timeout(PATIENCE, remembered),
            remote::port(config.listen),
            remote::backends(&config)
        );
        let in_time = |about: &str, found| match found {
            Ok(Ok(findings)) => findings,
            Ok(Err(error)) => vec![Finding::bad(about, format!("{error}"), "please report this")],
            Err(_) => vec![Finding::bad(
                about,
                format!("the disk did not answer within {} s", PATIENCE.as_secs()),
                "see whether it lies on a network drive that is gone",
            )],
        };
        let file = config.file.as_ref().map_or_else(
            || "there is no file; the defaults hold".to_owned(),
            |file| file.display().to_string(),
        );
        let mut findings = vec![Finding::good("configuration", file)];
        findings.extend(in_time("files", here));
        findings.extend(in_time("ledger", ledger));
        match remembered {
            Ok(Ok(remembered)) => findings.extend(remembered),
            Ok(Err(error)) => findings.push(Finding::bad("memory", error.to_string(), "please report this")),
            Err(_) => findings.push(Finding::note(
                "memory",
                format!("there is more than can be looked through in {} s", PATIENCE.as_secs()),
            )),
        }
        findings.extend(port);
        findings.extend(backends);
        findings
    });
    // A disk that hangs must not keep the command from ending.
    runtime.shutdown_background();
    Ok(findings)
}
