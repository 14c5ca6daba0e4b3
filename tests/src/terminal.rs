//! A command at a pseudo-terminal.

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

/// Runs a command at a terminal of its own, 120 columns wide, types all of `typed` and then the end of input. Returns how
/// it ended, and all that was shown, what was typed included.
///
/// # Panics
/// When there is no terminal to be had, or the command does not end in time.
pub fn at_terminal(mut command: Command, typed: &str) -> (ExitStatus, String) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let keyboard_and_screen = openpt(flags).unwrap();
    grantpt(&keyboard_and_screen).unwrap();
    unlockpt(&keyboard_and_screen).unwrap();
    let name = ptsname(&keyboard_and_screen, Vec::new()).unwrap();
    let terminal = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let size = Winsize {
        ws_row: 40,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    command
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal);
    let mut child = command.spawn().unwrap();
    // It holds the terminal open, and the screen ends when nobody does.
    drop(command);
    let mut keyboard = File::from(keyboard_and_screen);
    let mut screen = keyboard.try_clone().unwrap();
    keyboard.write_all(format!("{typed}{END_OF_INPUT}").as_bytes()).unwrap();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut shown = Vec::new();
        // A terminal that everybody has left is an error to read, once all is read.
        screen.read_to_end(&mut shown).ok();
        sender.send(shown).ok();
    });
    let shown = receiver.recv_timeout(PATIENCE);
    if shown.is_err() {
        child.kill().ok();
    }
    let status = child.wait().unwrap();
    let shown = shown.unwrap_or_else(|_| panic!("it did not end within {PATIENCE:?}"));
    (status, String::from_utf8_lossy(&shown).into_owned())
}
