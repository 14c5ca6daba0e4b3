//! `muninn mcp`: serves one client of the Model Context Protocol on the standard streams.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use muninn_backend::access::Door;
use muninn_config::{Config, env_vars};
use muninn_core::App;
use muninn_doors::mcp::{self, LocalClient, Offer, UnknownTool};
use muninn_http::Mount;

use super::local_calls::LocalCalls;
use super::{CliError, Common, Exit, examples, log};

/// The time that the learner and the store get at the end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Serve this repository's tools and memory to a client of the Model Context Protocol
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn mcp", "The command for a client, as in `claude mcp add muninn -- muninn mcp`"),
    ("muninn mcp --tools code,memory", "Offer the tools of two sets"),
    ("muninn mcp --tools find_context,recall", "Offer two tools"),
]))]
pub(crate) struct Mcp {
    /// The tools to offer, by their names or the names of sets: code, memory, wiki, journal, worklog, personal [default: those of `[mcp] tools`]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,
}

impl Mcp {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        // Stdout belongs to the protocol. The SDK logs a client's leaving as an error.
        log::to_stderr("warn,rmcp=off");
        let config = common.configuration(None)?;
        let names = if self.tools.is_empty() { &config.mcp.tools } else { &self.tools };
        let mut offer = offer(&config, names)?;
        // An agent that runs for a reminder makes no further ones.
        if std::env::var_os(env_vars::REMINDER).is_some() {
            offer = offer.without(&["schedule_reminder", "schedule_once"]);
        }
        let directory = match std::env::var_os(env_vars::CLAUDE_PROJECT_DIR).filter(|_| common.root.is_none()) {
            Some(directory) if !directory.is_empty() => directory.into(),
            _ => common.directory()?,
        };
        let id = std::env::var(env_vars::CLAUDE_CODE_SESSION_ID).ok();
        let id = id.filter(|id| !id.trim().is_empty());
        let calls = Arc::new(LocalCalls::new(common, config, directory));
        let client = LocalClient {
            session: id.unwrap_or_else(|| ulid::Ulid::generate().to_string()),
            answerer: Arc::new({
                let calls = Arc::clone(&calls);
                move |request| {
                    let calls = Arc::clone(&calls);
                    Box::pin(async move { calls.answer(request).await })
                }
            }),
        };
        let served = mcp::serve(offer, client);
        calls.close(Instant::now() + STOP_TIMEOUT);
        served?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The endpoints of other doors that a gateway with this configuration serves.
///
/// # Errors
/// An unknown name in `[mcp] tools`.
pub(super) fn mounts(config: &Config) -> Result<impl FnOnce(&Arc<App>) -> Vec<Mount> + use<>, CliError> {
    let offer = offer(config, &config.mcp.tools)?;
    let offer = if config.mcp.write { offer } else { offer.that_reads() };
    let is_served = config.mcp.http;
    Ok(move |app: &Arc<App>| if is_served { vec![("/mcp", Door::Mcp, mcp::service(app, &offer))] } else { Vec::new() })
}

/// The offer of the tools and sets with these names.
///
/// # Errors
/// An unknown name.
pub(super) fn offer(config: &Config, names: &[String]) -> Result<Offer, UnknownTool> {
    Offer::of(names, !config.roots.is_empty(), config.explore.explorer.is_some())
}

impl From<UnknownTool> for CliError {
    fn from(error: UnknownTool) -> Self {
        CliError::new(Exit::Config, error.to_string())
    }
}
