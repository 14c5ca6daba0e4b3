//! Starting, stopping, showing and calling the daemon.

use std::io::{BufRead as _, BufReader};
use std::process::ExitCode;

use muninn_doors::socket::{self, CallError, Host, Place, Start};
use serde_json::json;

use super::super::{CliError, Common, Exit, output, remind};
use super::place::{CHANGE_TIMEOUT, DaemonPlace, failure, status_at, text, title, wait};

/// `muninn daemon stop`.
pub(super) fn stop(common: &Common) -> Result<ExitCode, CliError> {
    let place = DaemonPlace::of(common)?;
    match wait(socket::stop(&place.place, CHANGE_TIMEOUT))? {
        Ok(()) => output::line("stopped"),
        Err(CallError::NoDaemon) => output::line("no daemon is running"),
        Err(error) => return Err(failure(&error)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends the daemon, if one runs. A gateway that does its work goes on.
pub(super) fn stop_daemon(place: &DaemonPlace) -> Result<(), CliError> {
    if place.status()?.is_none_or(|status| status.host != Host::Daemon) {
        return Ok(());
    }
    match wait(socket::stop(&place.place, CHANGE_TIMEOUT))? {
        Ok(()) | Err(CallError::NoDaemon) => Ok(()),
        Err(error) => Err(failure(&error)),
    }
}

/// The process that listens at a place, for an error.
pub(super) fn describe(place: &Place) -> Option<String> {
    let status = status_at(place).ok().flatten()?;
    Some(format!("{} is running already", title(&status)))
}

/// `muninn daemon start`.
pub fn start(common: &Common) -> Result<ExitCode, CliError> {
    let place = DaemonPlace::of(common)?;
    if let Some(status) = place.status()? {
        output::line(&format!("{} is running already", title(&status)));
        return Ok(ExitCode::SUCCESS);
    }
    let mut child = place.start(&common.directory()?, Start::Watched)?;
    let mut line = String::new();
    if let Some(stdout) = &mut child.stdout {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.is_empty() {
        output::line(&format!("{} is running already", title(&place.failed_start(child)?)));
    } else {
        output::print(&line);
    }
    Ok(ExitCode::SUCCESS)
}

/// `muninn daemon status`.
pub fn status(common: &Common, as_json: bool) -> Result<ExitCode, CliError> {
    let place = DaemonPlace::of(common)?;
    let status = place.status()?;
    let report = remind::report(common);
    let report = report.inspect_err(|error| output::note(&format!("note: reminders are not shown: {error}")));
    let report = report.unwrap_or_default();
    if as_json {
        let mut value = json!({
            "running": status.is_some(),
            "socket": place.place.socket(),
            "reminders": report.reminders,
            "reminder_problems": report.problems,
            "reminders_paused": report.paused,
        });
        if let Some(status) = &status
            && let (Ok(serde_json::Value::Object(more)), Some(object)) =
                (serde_json::to_value(status), value.as_object_mut())
        {
            object.extend(more);
        }
        output::json(&value);
    } else {
        match &status {
            Some(status) => output::print(&text(status, &place.place)),
            None => output::line("no daemon is running"),
        }
        output::print(&output::sanitize(&remind::report_text(&report)));
    }
    let exit = if status.is_some() { Exit::Success } else { Exit::NotFound };
    Ok(ExitCode::from(exit as u8))
}
