use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use muninn_config::{env_vars, paths};
use muninn_core::{LocalReply, LocalRequest};
use muninn_doors::socket::{self, CallError, Host, Place, Start, Status};

use super::super::{CliError, Common, Exit, output};

/// Whether a daemon runs, or a gateway that does its work.
pub fn is_running(common: &Common) -> bool {
    let place = DaemonPlace::of(common).ok();
    place.is_some_and(|place| matches!(place.status(), Ok(Some(_))))
}

/// The place of the daemon, and the configuration file that it belongs to.
pub struct DaemonPlace {
    pub(super) place: Place,
    pub(super) config: PathBuf,
    /// Whether a flag or a variable names the configuration file.
    pub(super) is_named: bool,
}

impl DaemonPlace {
    pub(in crate::cli) fn of(common: &Common) -> Result<DaemonPlace, CliError> {
        let variable = || std::env::var_os(env_vars::CONFIG).filter(|path| !path.is_empty());
        let named = common.config.clone().or_else(|| variable().map(PathBuf::from));
        let is_named = named.is_some();
        let config = named.map_or_else(paths::config_file, Ok)?;
        Ok(DaemonPlace { place: Place::of_user(&config)?, config, is_named })
    }

    /// Calls the listening process.
    pub(in crate::cli) async fn call(&self, request: &LocalRequest, within: Duration) -> Result<LocalReply, CallError> {
        socket::call(&self.place, request, within).await
    }

    /// Runs `muninn daemon start` for the worktree of a directory: afterwards a daemon listens. It is no child of this
    /// process, which some clients end with all its children. Blocks.
    ///
    /// # Errors
    /// Why it did not start.
    pub(in crate::cli) fn launch(&self, directory: &Path) -> Result<(), CliError> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["daemon", "start", "--root"]).arg(directory);
        if self.is_named {
            command.arg("--config").arg(&self.config);
        }
        let output = command.stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        let error = String::from_utf8_lossy(&output.stderr);
        let error = error.trim().trim_start_matches("error: ");
        Err(CliError::new(Exit::Failure, error))
    }

    /// A daemon that does not start has lost the race against another one, or has an error.
    pub(crate) fn failed_start(&self, mut child: Child) -> Result<Status, CliError> {
        let mut error = String::new();
        if let Some(stderr) = &mut child.stderr {
            stderr.read_to_string(&mut error)?;
        }
        let exit = child.wait()?;
        if exit.code() == Some(i32::from(Exit::Failure as u8))
            && let Some(status) = self.wait_for_other()?
        {
            return Ok(status);
        }
        let error = error.trim().trim_start_matches("error: ");
        Err(CliError::new(Exit::Failure, format!("the daemon did not start: {error}")))
    }

    /// Waits for a process that holds the lock and does not listen yet.
    fn wait_for_other(&self) -> Result<Option<Status>, CliError> {
        let until = Instant::now() + CHANGE_TIMEOUT;
        loop {
            let status = self.status()?;
            let is_starting = status.is_none() && self.place.is_taken();
            if !is_starting || Instant::now() > until {
                return Ok(status);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Starts a daemon that indexes the worktree of a directory, and does not wait for it.
    pub(in crate::cli) fn start_detached(&self, directory: &Path) -> Result<(), CliError> {
        // Otherwise each hook would start a process that ends with the same error.
        let prepared = self.place.prepare();
        prepared.map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
        self.start(directory, Start::Detached)?;
        Ok(())
    }

    pub(crate) fn start(&self, directory: &Path, how: Start) -> std::io::Result<Child> {
        let config = self.is_named.then_some(&*self.config);
        socket::start(&std::env::current_exe()?, config, directory, how)
    }

    /// The state of the listening process; `None` if there is none.
    pub(crate) fn status(&self) -> Result<Option<Status>, CliError> {
        status_at(&self.place)
    }
}

/// The time for a daemon's start or end.
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(15);

/// The pause between two looks for a daemon that another command starts.
pub const PAUSE: Duration = Duration::from_millis(10);

/// Waits for a call on the socket.
pub fn wait<T>(call: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(call))
}

pub fn status_at(place: &Place) -> Result<Option<Status>, CliError> {
    match wait(socket::status(place, STATUS_TIMEOUT))? {
        Ok(status) => Ok(Some(status)),
        Err(CallError::NoDaemon) => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// The time for a status.
pub(crate) const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn text(status: &Status, place: &Place) -> String {
    let mut text = format!(
        "{}, since {}\nsocket      {}\ncalls       {}, {} under way\n",
        title(status),
        output::local_time(&status.since),
        place.socket().display(),
        status.calls,
        status.active
    );
    for root in &status.worktrees {
        text.push_str(&format!("worktree    {}\n", root.display()));
    }
    output::sanitize(&text)
}

pub(crate) fn title(status: &Status) -> String {
    let host = match status.host {
        Host::Daemon => "a daemon",
        Host::Gateway => "a gateway, which answers hooks,",
    };
    let version = output::sanitize_field(&status.version);
    format!("{host} (version {version}, process {})", status.process)
}

pub(crate) fn failure(error: &CallError) -> CliError {
    CliError::new(Exit::Failure, error.to_string())
}
