//! A server on a real socket, with a service whose calls the tests hold.

use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use muninn_base::Clock;
use muninn_tests::wait_until;
use muninn_text::model::block_on;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Notify;

use super::end::End;
use super::server::{Server, Times};
use super::service::Service;
use crate::socket::{self, CallError, Host, Listener, MOST_BYTES, Place, VERSION};

const HALF_AN_HOUR: Duration = Duration::from_mins(30);

/// Replies with the request. `hold` waits for [`Echo::release`], `large` has a reply beyond the limit, `panic` panics.
#[derive(Clone, Default)]
struct Echo {
    release: Arc<Notify>,
    cancelled: Arc<AtomicBool>,
}

struct Cancelled<'a>(Option<&'a AtomicBool>);

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        if let Some(flag) = self.0 {
            flag.store(true, Ordering::Release);
        }
    }
}

impl Service for Echo {
    async fn call(&self, request: &RawValue) -> serde_json::Result<Box<RawValue>> {
        match serde_json::from_str::<String>(request.get())?.as_str() {
            "hold" => {
                let mut guard = Cancelled(Some(&self.cancelled));
                self.release.notified().await;
                guard.0 = None;
            }
            "large" => return to_raw_value(&"x".repeat(MOST_BYTES)),
            "panic" => panic!("as a test does"),
            _ => {}
        }
        Ok(request.to_owned())
    }

    fn worktrees(&self) -> Vec<PathBuf> {
        vec!["/b".into(), "/a".into()]
    }

    fn follow(&self) {}

    fn is_needed(&self) -> bool {
        false
    }
}

/// A running server in a directory of its own.
struct Running {
    place: Place,
    service: Echo,
    clock: Clock,
    server: Server,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(host: Host) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::of(None, folder.path(), Path::new("muninn.toml"));
        let (service, clock) = (Echo::default(), Clock::fixed("2026-03-01T12:00:00Z".parse().unwrap()));
        let times = Times { clock: clock.clone(), idle: Some(HALF_AN_HOUR), tick: Duration::from_millis(1) };
        let server = Server::start(service.clone(), host, Listener::claim(&place).unwrap(), times).unwrap();
        Running { place, service, clock, server, _folder: folder }
    }

    fn call(&self, request: &str) -> Result<String, CallError> {
        wait(socket::call(&self.place, &request, SOON))
    }

    /// A raw connection, to which a line was written.
    fn connect(&self, bytes: &[u8]) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(self.place.socket()).unwrap();
        stream.write_all(bytes).unwrap();
        BufReader::new(stream)
    }

    /// A connection whose call is under way.
    fn connect_holding(&self) -> BufReader<UnixStream> {
        let client = self.connect(&request("hold", VERSION));
        wait_until("the call", || (self.active() == 1).then_some(()));
        client
    }

    fn active(&self) -> usize {
        wait(socket::status(&self.place, SOON)).unwrap().active
    }

    fn wait_cancelled(&self) {
        wait_until("the cancelled request", || self.service.cancelled.load(Ordering::Acquire).then_some(()));
    }

    fn end(mut self) -> End {
        block_on(self.server.ended())
    }
}

const SOON: Duration = Duration::from_secs(30);

/// Waits for a client's call.
fn wait<T>(call: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(call)
}

fn line(reader: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line
}

pub fn request(text: &str, version: &str) -> Vec<u8> {
    format!("{{\"version\":\"{version}\",\"method\":\"call\",\"request\":\"{text}\"}}\n").into_bytes()
}

#[test]
fn requests_are_answered_and_counted() {
    let running = Running::start(Host::Daemon);
    assert_eq!(running.call("one").unwrap(), "one");
    assert_eq!(running.call("two").unwrap(), "two");
    // The client may see the end of a call earlier than the server.
    wait_until("no request", || (running.active() == 0).then_some(()));
    let status = wait(socket::status(&running.place, SOON)).unwrap();
    assert_eq!((status.host, status.version.as_str()), (Host::Daemon, VERSION));
    assert_eq!((status.calls, status.active, status.process), (2, 0, std::process::id()));
    assert_eq!(status.worktrees, [PathBuf::from("/a"), PathBuf::from("/b")]);
    assert_eq!(status.since, "2026-03-01T12:00:00Z");
}

#[test]
fn client_that_leaves_cancels_its_request() {
    let running = Running::start(Host::Daemon);
    let client = running.connect_holding();
    drop(client);
    running.wait_cancelled();
    wait_until("no request", || (running.active() == 0).then_some(()));
    assert_eq!(running.call("after").unwrap(), "after");
}

#[test]
fn deadline_of_a_client_cancels_its_request() {
    let running = Running::start(Host::Daemon);
    let line_of_client =
        format!("{{\"version\":\"{VERSION}\",\"method\":\"call\",\"deadline_ms\":5,\"request\":\"hold\"}}\n");
    let mut client = running.connect(line_of_client.as_bytes());
    assert_eq!(line(&mut client), "{\"error\":\"the deadline passed\"}\n");
    running.wait_cancelled();
}

#[test]
fn bad_lines_are_refused_and_the_server_goes_on() {
    let running = Running::start(Host::Daemon);
    for (bytes, expected) in [
        (&b"nonsense\n"[..], "the call is not understood"),
        (b"{}\n", "the call is not understood"),
        (b"\xff\xfe\n", "the call is not understood"),
        (b"{\"version\":\"1\",\"method\":\"no-such\"}\n", "the call is not understood"),
        (&[request("x", VERSION).as_slice(), b"more"].concat(), "\"reply\""),
        (format!("{{\"version\":\"{VERSION}\",\"method\":\"call\"}}\n").as_bytes(), "has no request"),
        (
            format!("{{\"version\":\"{VERSION}\",\"method\":\"call\",\"request\":5}}\n").as_bytes(),
            "the request is not understood",
        ),
    ] {
        let answer = line(&mut running.connect(bytes));
        assert!(answer.contains(expected), "{answer}");
    }
    // Half a line, of a client that dies in the middle of it.
    let mut torn = running.connect(b"{\"version\":\"0.1");
    torn.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(torn.read_to_end(&mut Vec::new()).unwrap(), 0);
    // 5 MiB without an end. The server stops reading, so the rest cannot be written.
    let mut stream = UnixStream::connect(running.place.socket()).unwrap();
    stream.write_all(&vec![b' '; 5 << 20]).unwrap_err();
    let large = running.call("large").unwrap_err().to_string();
    assert!(large.contains("the reply has more than"), "{large}");
    assert!(matches!(running.call("panic"), Err(CallError::Io(_))));
    assert_eq!(running.call("after").unwrap(), "after");
    wait_until("no request", || (running.active() == 0).then_some(()));
}

#[test]
fn server_ends_when_nobody_has_called_for_half_an_hour() {
    let running = Running::start(Host::Daemon);
    running.clock.advance(HALF_AN_HOUR - Duration::from_secs(1));
    // It still answers.
    assert_eq!(running.call("one").unwrap(), "one");
    // The half hour begins when the call has ended, which the client may see earlier than the server.
    wait_until("no request", || (running.active() == 0).then_some(()));
    running.clock.advance(HALF_AN_HOUR);
    let place = running.place.clone();
    assert!(matches!(running.end(), End::Idle));
    assert!(!place.socket().exists() && !place.is_taken());
}

#[test]
fn server_ends_when_its_socket_is_removed() {
    let running = Running::start(Host::Daemon);
    std::fs::remove_file(running.place.socket()).unwrap();
    assert!(matches!(running.end(), End::Unreachable));
}

#[test]
fn newer_client_replaces_the_server_and_an_older_one_does_not() {
    let running = Running::start(Host::Daemon);
    let version = format!("{{\"version\":\"{VERSION}\"}}\n");
    assert_eq!(line(&mut running.connect(&request("x", "0.0.1"))), version);
    assert_eq!(running.call("one").unwrap(), "one");
    assert_eq!(line(&mut running.connect(&request("x", "99.0.0"))), version);
    match running.end() {
        End::Replaced(version) => assert_eq!(version, "99.0.0"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_under_way_are_finished_at_the_end() {
    let running = Running::start(Host::Daemon);
    let mut client = running.connect_holding();
    running.connect(&request("x", "99.0.0"));
    wait_until("a closed socket", || (!running.place.socket().exists()).then_some(()));
    running.service.release.notify_one();
    assert_eq!(line(&mut client), "{\"reply\":\"hold\"}\n");
    assert!(matches!(running.end(), End::Replaced(_)));
}

#[test]
fn stop_waits_for_the_end_and_is_refused_by_a_gateway() {
    let gateway = Running::start(Host::Gateway);
    let refused = wait(socket::stop(&gateway.place, SOON)).unwrap_err().to_string();
    assert!(refused.contains("muninn serve"), "{refused}");
    assert_eq!(gateway.call("one").unwrap(), "one");
    gateway.server.shut_down();
    assert!(matches!(wait(socket::stop(&gateway.place, SOON)), Err(CallError::NoDaemon)));

    let daemon = Running::start(Host::Daemon);
    let place = daemon.place.clone();
    let (sender, stopped) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(wait(socket::stop(&place, SOON))).unwrap());
    let end = daemon.end();
    assert!(matches!(end, End::Asked(_)));
    assert!(stopped.try_recv().is_err(), "the client waits");
    drop(end);
    stopped.recv().unwrap().unwrap();
}
