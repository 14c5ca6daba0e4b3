//! `muninn serve`: runs the gateway until SIGTERM or SIGINT. SIGHUP reloads the configuration.

use std::process::ExitCode;

use clap::Args;
use muninn_config::Config;
use muninn_core::App;
use muninn_http::Server;

use super::signals::{Request, Signals};
use super::{CliError, Common, examples, log, mcp, output};

/// Run the gateway until it is stopped; SIGHUP reloads its configuration
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn serve", "Listen on 127.0.0.1:4747, with context from this repository"),
    ("muninn serve --listen 127.0.0.1:8080", "Listen on another port"),
    ("muninn serve --config team.toml", "With another configuration"),
]))]
pub(crate) struct Serve {
    /// The address to listen on; port 0 takes any free port [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

impl Serve {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let _log = log::to_stderr_later("info,rmcp=warn");
        let config = common.configuration(self.listen.clone())?;
        let mut signals = Signals::install()?;
        let mounts = mcp::mounts(&config)?;
        let server = Server::start(config, &common.directory()?, mounts)?;
        output::line(&format!("listening on http://{}", server.address()));
        server.app().index_in_background();
        server.app().keep_reminders();
        #[cfg(unix)]
        let hooks = super::daemon::listen_beside(common, server.app());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(output::announce_servers(&server.app().settings().router));
        while signals.wait() == Request::Reload {
            reload(server.app(), common.configuration(self.listen.clone()));
        }
        tracing::info!("stopping; open requests are finished first");
        #[cfg(unix)]
        hooks.into_iter().for_each(muninn_doors::daemon::Server::shut_down);
        server.shut_down();
        Ok(ExitCode::SUCCESS)
    }
}

/// Applies a configuration that was read again, or logs why the old one stays. An error never ends the server.
fn reload(app: &App, read: Result<Config, CliError>) {
    match read.and_then(|config| Ok(app.reload(config)?)) {
        Ok(kept) => {
            for line in kept {
                tracing::warn!("{line}");
            }
            tracing::info!("the configuration was reloaded");
        }
        Err(error) => tracing::error!("{error}; the previous configuration stays in force"),
    }
}
