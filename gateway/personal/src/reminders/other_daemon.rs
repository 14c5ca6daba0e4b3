//! The daemon of macrodata, which fires the same reminders.

use std::fs;
use std::path::Path;

use muninn_base::private_file;

/// The file with its process, in the directory of the memory.
const FILE: &str = ".daemon.pid";

/// The most bytes of it.
const MOST_BYTES: u64 = 64;

/// The process of macrodata's daemon, if it works on the directory `root`.
pub fn other_daemon(root: &Path) -> Option<i32> {
    let text = private_file::read(&root.join(FILE), MOST_BYTES).ok()?;
    let id: i32 = str::from_utf8(&text).ok()?.trim().parse().ok()?;
    (id > 0 && is_running(id)).then_some(id)
}

#[cfg(unix)]
fn is_running(id: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};

    if Pid::from_raw(id).is_none_or(|id| test_kill_process(id).is_err()) {
        return false;
    }
    // A file that a killed daemon left behind may name another program by now.
    fs::read(format!("/proc/{id}/cmdline")).map_or(true, |line| String::from_utf8_lossy(&line).contains("macrodata"))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}
