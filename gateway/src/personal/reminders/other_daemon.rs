//! The daemon of macrodata, which fires the same reminders.

use std::fs;
use std::path::Path;

/// The file with its process, in the directory of the memory.
const FILE: &str = ".daemon.pid";

/// The process of macrodata's daemon, if it works on the directory `root`.
#[must_use]
pub fn other_daemon(root: &Path) -> Option<i32> {
    let id: i32 = fs::read_to_string(root.join(FILE)).ok()?.trim().parse().ok()?;
    (id > 0 && is_running(id)).then_some(id)
}

#[cfg(unix)]
fn is_running(id: i32) -> bool {
    if nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), None).is_err() {
        return false;
    }
    // A file that a killed daemon left behind may name another program by now.
    fs::read(format!("/proc/{id}/cmdline")).map_or(true, |line| String::from_utf8_lossy(&line).contains("macrodata"))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}
