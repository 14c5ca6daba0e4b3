//! An answer whose steps a test controls.

use std::io::{Result, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::head::head;
use crate::PATIENCE;
use crate::http::chunk;

enum Step {
    Head(u16, Vec<(String, String)>),
    Data(Vec<u8>),
    Finish,
    Abort,
    ClientGone,
}

/// The test's end of a scripted answer. Dropping it closes the connection.
pub struct Control {
    steps: Sender<Step>,
    gone: Receiver<()>,
}

/// The backend's end of a scripted answer.
pub struct Script {
    steps: Receiver<Step>,
    watcher: Sender<Step>,
    gone: Sender<()>,
}

/// Creates both ends of a scripted answer.
#[must_use]
pub fn script() -> (Control, Script) {
    let (steps, receiver) = channel();
    let (gone_sender, gone) = channel();
    let script = Script { steps: receiver, watcher: steps.clone(), gone: gone_sender };
    (Control { steps, gone }, script)
}

impl Control {
    fn step(&self, step: Step) {
        self.steps.send(step).ok();
    }

    /// Sends a status and an event stream's headers.
    pub fn head(&self, status: u16) {
        self.head_with(status, &[("content-type", "text/event-stream")]);
    }

    /// Sends a status and these headers, `transfer-encoding: chunked` and `connection: close`.
    pub fn head_with(&self, status: u16, headers: &[(&str, &str)]) {
        let headers = headers.iter().chain(&[("transfer-encoding", "chunked"), ("connection", "close")]);
        let owned = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.step(Step::Head(status, owned.collect()));
    }

    /// Sends bytes of the body, as one chunk.
    pub fn send(&self, data: impl Into<Vec<u8>>) {
        self.step(Step::Data(data.into()));
    }

    /// Sends the last chunk, which ends the body.
    pub fn finish(&self) {
        self.step(Step::Finish);
    }

    /// Closes the connection in the middle of the body.
    pub fn abort(&self) {
        self.step(Step::Abort);
    }

    /// Waits until the other side has closed the connection.
    ///
    /// # Panics
    /// If it does not within [`PATIENCE`].
    pub fn wait_for_client_gone(&self) {
        self.gone.recv_timeout(PATIENCE).expect("the request was not cancelled at the backend");
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.step(Step::Abort);
    }
}

impl Script {
    /// Executes the steps as they arrive. A second thread detects that the other side closes the connection.
    pub(super) fn play(self, mut socket: &TcpStream) -> Result<()> {
        let watched = socket.try_clone()?;
        let (watcher, gone) = (self.watcher, self.gone);
        std::thread::spawn(move || {
            if matches!(watched.peek(&mut [0]), Ok(0) | Err(_)) {
                gone.send(()).ok();
                watcher.send(Step::ClientGone).ok();
            }
        });
        while let Ok(step) = self.steps.recv() {
            match step {
                Step::Head(status, headers) => {
                    socket.write_all(format!("{}\r\n", head(status, &headers)).as_bytes())?;
                }
                Step::Data(data) => socket.write_all(&chunk(data))?,
                Step::Finish => return socket.write_all(b"0\r\n\r\n"),
                Step::Abort | Step::ClientGone => break,
            }
        }
        Ok(())
    }
}
