//! A backend that sends endless useless data.

use muninn_tests::{Reply, Upstream, answers, http, wait_until};

use crate::broken_upstream::stage::Broken;
use crate::formats::{ALL, Format, all_pairs};
use crate::stage::Stage;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn comments() -> Vec<u8> {
    format!(": {}\n\n", "x".repeat(1 << 16)).into_bytes()
}

/// Events of no known type.
fn noise() -> Vec<u8> {
    let event = format!("event: noise\ndata: {{\"noise\":\"{}\"}}\n\n", "x".repeat(4 << 10));
    event.repeat(4).into_bytes()
}

#[test]
fn endless_comments_end_in_the_clients_own_error() {
    let mut broken = Broken::new();
    broken.answer_with(|_| Reply::endless(HEAD, comments()));
    for (client, spoken) in all_pairs() {
        let response = broken.ask(client, spoken, true);
        let events: String = response.text().split_inclusive("\n\n").filter(|event| !event.starts_with(':')).collect();
        let failed = client.read_stream(&events).failed.expect("an error");
        let message = failed["message"].as_str().unwrap();
        assert!(message.contains("without an event"), "{client:?} -> {spoken:?}: {message}");
    }
    broken.assert_lives();
}

#[test]
fn flooding_backend_blocks_no_other_client_and_ends_when_the_client_leaves() {
    let upstream = Upstream::start_with(|request| {
        if answers::wants_stream(&request.body) { Reply::endless(HEAD, noise()) } else { answers::ok(request) }
    });
    let backend = crate::formats::backend("mock", &upstream.url(), Format::Chat);
    let env = muninn_tests::TestEnv::new(crate::MUNINN);
    env.write_config(&backend);
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    let body = |streamed| Format::Messages.request("m", streamed, &[]);
    // More than there are workers, so that each has one.
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let flooded: Vec<_> = (0..2 * workers)
        .map(|_| {
            let mut connection = http::Connection::open(gateway.address);
            connection.send("POST", "/v1/messages", &[], body(true).as_bytes());
            connection
        })
        .collect();
    upstream.wait_for(flooded.len());
    for _ in 0..2 * workers {
        let response = gateway.post("/v1/messages", &[], body(false).as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
    }
    flooded.into_iter().for_each(http::Connection::close);
    upstream.wait_closed(2 * workers);
}

#[test]
fn flood_after_the_last_event_is_cancelled() {
    for client in ALL {
        let spoken = if client == Format::Chat { Format::Messages } else { Format::Chat };
        let upstream = Upstream::start_with(move |_| {
            Reply::endless([HEAD, answers::streamed(spoken.path())].concat(), comments())
        });
        let env = muninn_tests::TestEnv::new(crate::MUNINN);
        env.write_config(&crate::formats::backend("mock", &upstream.url(), spoken));
        let root = env.repository("demo", &[]);
        let gateway = env.serve(&root, &[]);
        let body = client.request("m", true, &[]);
        let response = gateway.post(client.path(), &[], body.as_bytes());
        assert_eq!(client.read_stream(&response.text()).text, "ok");
        upstream.wait_closed(1);
        wait_until("an idle gateway", || (gateway.health()["status"] == "ok").then_some(()));
    }
}

#[test]
fn a_native_flood_after_the_last_event_ends_without_an_error() {
    let stage = Stage::with(
        Upstream::start_with(|request| {
            let path = request.target.split('?').next().unwrap_or_default().to_owned();
            Reply::endless([HEAD, answers::streamed(&path)].concat(), comments())
        }),
        "",
    );
    for format in ALL {
        let body = format.request("m", true, &[]);
        let response = stage.gateway.post(format.path(), &[], body.as_bytes());
        let events: String =
            response.text().split_inclusive("\n\n").filter(|event| !event.starts_with(": x")).collect();
        let answer = format.read_stream(&events);
        assert_eq!((answer.text.as_str(), answer.failed), ("ok", None), "{format:?}");
    }
}
