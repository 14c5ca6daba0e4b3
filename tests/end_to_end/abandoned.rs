//! Hundreds of clients that leave: before the answer's head, in the middle of a stream, and while the backend is silent.
//! The gateway cancels each request and keeps nothing of it.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_tests::http::Connection;
use muninn_tests::{Recorded, Reply, until_closed, wait_until};
use parking_lot::Mutex;

use crate::broken_upstream::stage::Broken;
use crate::formats::{ALL, Format, Turn};

/// Concurrent clients.
const AT_ONCE: usize = 20;

/// The header that identifies the client to the backend.
const MARK: &str = "x-client";

/// The clients whose requests have arrived at the backend.
type Arrived = Mutex<BTreeSet<String>>;

/// When the client leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Leaving {
    BeforeTheHead,
    InTheStream,
    InSilence,
}

#[test]
fn abandoned_streams_leave_no_connection_or_descriptor() {
    abandon(60);
}

#[test]
#[ignore = "takes minutes: run nightly"]
fn five_hundred_abandoned_streams_of_each_kind_leave_no_connection() {
    abandon(500);
}

fn abandon(count: usize) {
    for leaving in [Leaving::BeforeTheHead, Leaving::InTheStream, Leaving::InSilence] {
        let mut broken = Broken::with("retries = 0\n", "keep_alive_ms = 100\n");
        let arrived: Arc<Arrived> = Arc::default();
        broken.answer_with({
            let arrived = Arc::clone(&arrived);
            move |request| {
                arrived.lock().extend(request.headers.get(MARK).map(str::to_owned));
                answer(leaving, request)
            }
        });
        leave(&broken, leaving, 0..AT_ONCE, &arrived);
        let (base, memory) = (broken.base(|| {}), broken.gateway.memory_mb("VmRSS"));
        leave(&broken, leaving, AT_ONCE..AT_ONCE + count, &arrived);
        broken.at_rest(base, || {});
        let grown = broken.gateway.memory_mb("VmRSS").saturating_sub(memory);
        println!("{leaving:?}: {count} abandoned, {base} descriptors, {memory} MB and {grown} MB more");
        assert!(grown < 40, "{leaving:?}: {count} abandoned streams took {grown} MB");
        assert_eq!(broken.upstream.requests().len(), AT_ONCE + count, "{leaving:?}: none was sent twice");
        broken.assert_lives();
    }
}

fn answer(leaving: Leaving, request: &Recorded) -> Reply {
    let format = ALL.into_iter().find(|format| format.path() == request.target).unwrap();
    Reply::written(move |mut socket| {
        if leaving == Leaving::BeforeTheHead {
            return until_closed(socket);
        }
        let whole = format.streamed_call();
        let events: Vec<&str> = whole.split_inclusive("\n\n").collect();
        let text = events.iter().position(|event| event.contains("dich.")).unwrap();
        write!(socket, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")?;
        socket.write_all(events[..=text].concat().as_bytes())?;
        // The same text repeats. The sequence numbers of the responses events are not checked here.
        if leaving == Leaving::InTheStream {
            loop {
                socket.write_all(events[text].as_bytes())?;
            }
        }
        until_closed(socket)
    })
}

/// Runs clients with these numbers, which ask and leave.
fn leave(broken: &Broken, leaving: Leaving, numbers: std::ops::Range<usize>, arrived: &Arrived) {
    let next = AtomicUsize::new(numbers.start);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= numbers.end {
                        return;
                    }
                    one(broken, leaving, number, arrived);
                }
            });
        }
    });
}

fn one(broken: &Broken, leaving: Leaving, number: usize, arrived: &Arrived) {
    let (client, spoken) = (ALL[number % 3], ALL[number / 3 % 3]);
    let body = client.request(spoken.dialect(), true, &[Turn::User("hello".to_owned())]);
    let mark = number.to_string();
    let mut connection = Connection::open(broken.gateway.address);
    connection.send("POST", client.path(), &[(MARK, &mark)], body.as_bytes());
    if leaving == Leaving::BeforeTheHead {
        wait_until("the request at the backend", || arrived.lock().contains(&mark).then_some(()));
        connection.close();
        return;
    }
    let mut stream = connection.streaming();
    assert_eq!(stream.status, 200);
    let mut read = stream.read_until("dich.");
    if leaving == Leaving::InSilence {
        let sign = if client == Format::Messages { "event: ping" } else { ": keep-alive" };
        while !read.contains(sign) {
            read = stream.read_until("\n\n");
        }
    }
    stream.leave();
}
