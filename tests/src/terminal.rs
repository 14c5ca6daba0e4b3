//! Runs a command at a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::channel;
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::PATIENCE;

/// The end of input at a terminal: Control-D.
const END_OF_INPUT: &str = "\x04";

/// Runs a command at a new terminal of 120 columns, and types `typed` and the end of input. Returns the exit status and
/// everything that the terminal showed, including the typed text.
///
/// # Panics
/// If no terminal can be opened, or the command does not end within [`PATIENCE`].
pub fn at_terminal(mut command: Command, typed: &str) -> (ExitStatus, String) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let terminal = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    let mut child = command.spawn().unwrap();
    // The command holds the terminal open, and reading ends when no process does.
    drop(command);
    let mut keyboard = File::from(controller);
    let mut screen = keyboard.try_clone().unwrap();
    keyboard.write_all(format!("{typed}{END_OF_INPUT}").as_bytes()).unwrap();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut shown = Vec::new();
        // After the last byte, reading a terminal that no process holds open is an error.
        screen.read_to_end(&mut shown).ok();
        sender.send(shown).ok();
    });
    let shown = receiver.recv_timeout(PATIENCE);
    if shown.is_err() {
        child.kill().ok();
    }
    let status = child.wait().unwrap();
    let shown = shown.unwrap_or_else(|_| panic!("the command did not end within {PATIENCE:?}"));
    (status, String::from_utf8_lossy(&shown).into_owned())
}
