use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use muninn_base::{Supervisor, with_causes};
use muninn_config::{Config, paths};
use muninn_core::ConfiguredEmbedder;
use serde_json::json;

use super::super::model::MODEL_OFFER;
use super::super::{CliError, Common, Exit, examples, log, output};
use super::finding::{self, Finding, State};
use super::timeout::TIMEOUT;
use super::{journal, ledger, local, memory, personal, remote};

/// Check configuration, repository, state and backends, and say how to fix problems
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn doctor", "Exits with 1 if something needs to be fixed"),
    ("muninn doctor --json", "The findings as JSON"),
    ("muninn doctor --probe", "Also ask each backend for one token, which a vendor may charge"),
]))]
pub(crate) struct Doctor {
    /// Print JSON: ok, and findings with state, about, says and do
    #[arg(long)]
    json: bool,
    /// Send one request of at most 16 tokens to a model of each backend
    #[arg(long)]
    probe: bool,
}

impl Doctor {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let findings = findings(common, self.probe)?;
        let ok = findings.iter().all(|finding| finding.state != State::Bad);
        if self.json {
            output::json(&json!({"ok": ok, "findings": findings}));
        } else {
            output::print(&finding::table(&findings));
        }
        Ok(ExitCode::from(if ok { Exit::Success } else { Exit::Failure } as u8))
    }
}

pub(crate) fn findings(common: &Common, asks: bool) -> Result<Vec<Finding>, CliError> {
    let directory = common.directory()?;
    let state_dir = paths::state_dir_path()?;
    // Files that others may have left there are not opened.
    let is_used = paths::check_state_dir(&state_dir).is_ok();
    let config = match common.configuration(None) {
        Ok(config) => config,
        Err(error) => {
            let to_do = "correct the file, and run `muninn doctor` again";
            let mut findings = vec![Finding::bad("configuration", error.to_string(), to_do)];
            findings.extend(local::findings(&directory, &state_dir, None));
            if is_used {
                findings.extend(ledger::findings(&state_dir));
            }
            return Ok(findings);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(async {
        let files = tokio::task::spawn_blocking({
            let (config, directory, state_dir) = (config.clone(), directory.clone(), state_dir.clone());
            move || local::findings(&directory, &state_dir, Some(&config))
        });
        let personal = tokio::task::spawn_blocking({
            let (config, state_dir) = (config.clone(), state_dir.clone());
            move || personal::findings(&config, is_used.then_some(&*state_dir))
        });
        let check =
            |findings: fn(&Path, &Path, &Config) -> Vec<Finding>| {
                let (config, directory, state_dir) = (config.clone(), directory.clone(), state_dir.clone());
                tokio::task::spawn_blocking(move || {
                    if is_used { findings(&directory, &state_dir, &config) } else { Vec::new() }
                })
            };
        let memory = check(memory::findings);
        let journal = check(journal::findings);
        let ledger = check(|_, state_dir, _| ledger::findings(state_dir));
        let configured = ConfiguredEmbedder::new(&config, &Supervisor::default());
        let embedder = tokio::task::spawn_blocking(move || embedder(&configured));
        let (files, embedder, ledger, memory, journal, personal, port, backends) = tokio::join!(
            tokio::time::timeout(TIMEOUT, files),
            tokio::time::timeout(TIMEOUT, embedder),
            tokio::time::timeout(TIMEOUT, ledger),
            tokio::time::timeout(TIMEOUT, memory),
            tokio::time::timeout(TIMEOUT, journal),
            tokio::time::timeout(TIMEOUT, personal),
            remote::port(config.listen),
            remote::backends(&config, asks)
        );
        let in_time = |about: &str, found| match found {
            Ok(Ok(findings)) => findings,
            Ok(Err(error)) => vec![Finding::bad(about, format!("{error}"), "please report this")],
            Err(_) => vec![Finding::bad(
                about,
                format!("the disk did not answer within {} s", TIMEOUT.as_secs()),
                "check whether it is on a network drive that is disconnected",
            )],
        };
        let file = config
            .file
            .as_ref()
            .map_or_else(|| "no file; the defaults apply".to_owned(), |file| file.display().to_string());
        let mut findings = vec![Finding::good("configuration", file)];
        findings.extend(in_time("files", files));
        findings.extend(in_time("ledger", ledger));
        findings.extend(in_time("personal memory", personal));
        for (about, found) in [("memory", memory), ("journal", journal)] {
            match found {
                Ok(Ok(found)) => findings.extend(found),
                Ok(Err(error)) => findings.push(Finding::bad(about, error.to_string(), "please report this")),
                Err(_) => findings
                    .push(Finding::note(about, format!("too large to be checked within {} s", TIMEOUT.as_secs()))),
            }
        }
        findings.push(match embedder {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => Finding::bad("embedder", error.to_string(), "please report this"),
            Err(_) => Finding::bad(
                "embedder",
                format!("no vector within {} s", TIMEOUT.as_secs()),
                "check that the backend of [memory.embedder] answers; until then words alone decide what is found",
            ),
        });
        findings.extend(port);
        findings.extend(backends);
        findings
    });
    // A disk that does not answer must not keep the command from ending.
    runtime.shutdown_background();
    Ok(findings)
}

pub(crate) fn embedder(configured: &ConfiguredEmbedder) -> Finding {
    let name = configured.name();
    match configured.open() {
        Ok(embedder) => Finding::good("embedder", format!("{name}, {} dimensions", embedder.dimensions())),
        Err(error) if configured.is_absent(&error) => {
            Finding::note("embedder", format!("static vectors; {MODEL_OFFER}"))
        }
        Err(error) => Finding::bad(
            "embedder",
            format!("{name}: {}", with_causes(&*error)),
            if configured.is_built_in() {
                "until it can be used, memories are found by static vectors"
            } else {
                "until it can be used, words alone decide what is found"
            },
        ),
    }
}
