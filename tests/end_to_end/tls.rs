//! HTTP/1.1 to a backend over TLS: what is sent, whom it trusts, and how failures read.

use std::io::Write as _;
use std::net::TcpListener as StdListener;
use std::sync::Arc;

use muninn_tests::{Gateway, TestEnv};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::MUNINN;
use crate::http2::{acceptor, certificate, trusted_file};

const TARGET: &str = "/v1/chat/completions";
const BODY: &[u8] = br#"{"model":"m","messages":[]}"#;
const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"choices\":[]}";

/// A server that answers one request on each connection and then closes it without a word in the head.
struct Server {
    port: u16,
    certificate: Vec<u8>,
    requests: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    fn start(answer: &'static str) -> Server {
        let (certificate, key) = certificate();
        let tls = acceptor((certificate.clone(), key), &["http/1.1"]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&requests);
        runtime.spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                // A client that does not trust the certificate ends the handshake.
                let Ok(mut socket) = tls.accept(socket).await else { continue };
                let mut request = Vec::new();
                while !request.ends_with(BODY) {
                    socket.read_buf(&mut request).await.unwrap();
                }
                seen.lock().push(String::from_utf8(request).unwrap());
                socket.write_all(answer.as_bytes()).await.unwrap();
                socket.shutdown().await.unwrap();
            }
        });
        Server { port, certificate, requests, _runtime: runtime }
    }

    /// A gateway that reaches it under a host's name, and trusts it or nobody that it meets.
    fn gateway(&self, env: &TestEnv, host: &str, is_trusted: bool) -> Gateway {
        let other = certificate().0;
        let trusted = trusted_file(env, if is_trusted { &self.certificate } else { &other });
        serve(env, &format!("https://{host}:{}", self.port), &trusted)
    }
}

fn serve(env: &TestEnv, url: &str, trusted: &std::path::Path) -> Gateway {
    env.write_config(&format!(
        "[limits]\nconnect_timeout_ms = 2000\n[[backends]]\nname = \"far\"\nurl = \"{url}\"\ndialect = \"chat\"\nretries = 0\n"
    ));
    let root = env.repository("demo", &[]);
    env.serve_with(&root, &[], |command| {
        command.env("SSL_CERT_FILE", trusted);
    })
}

#[test]
fn headers_keep_their_order_and_closed_connections_are_replaced() {
    let (env, server) = (TestEnv::new(MUNINN), Server::start(ANSWER));
    let gateway = server.gateway(&env, "127.0.0.1", true);
    let headers = [("X-B", "1"), ("x-a", "2"), ("X-B", "3")];
    for _ in 0..6 {
        let response = gateway.post(&format!("{TARGET}?b=%20&a"), &headers, BODY);
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let port = server.port;
    let expected = format!(
        "POST {TARGET}?b=%20&a HTTP/1.1\r\nx-a: 2\r\ncontent-type: application/json\r\nx-b: 1\r\nx-b: 3\r\n\
         accept-encoding: identity\r\naccept: */*\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 27\r\n\r\n{}",
        String::from_utf8_lossy(BODY)
    );
    let requests = server.requests.lock();
    assert_eq!(requests.len(), 6);
    for request in requests.iter() {
        assert_eq!(*request, expected);
    }
}

#[test]
fn failures_name_their_reason() {
    let server = Server::start(ANSWER);
    let moved = Server::start("HTTP/1.1 302 Found\r\nlocation: /v1/other\r\ncontent-length: 0\r\n\r\n");
    let (silent, plain) = (StdListener::bind("127.0.0.1:0").unwrap(), StdListener::bind("127.0.0.1:0").unwrap());
    let (silent_at, plain_at) = (silent.local_addr().unwrap(), plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in plain.incoming() {
            socket.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        }
    });
    let gone = StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let env = TestEnv::new(MUNINN);
    let says = |gateway: &Gateway, problem: &str| {
        let response = gateway.post(TARGET, &[], BODY);
        assert_eq!(response.status, 502, "{problem}");
        assert!(response.text().contains(problem), "{problem}: {}", response.text());
    };
    let port = server.port;
    says(
        &server.gateway(&env, "127.0.0.1", false),
        &format!("cannot connect to 127.0.0.1:{port}: invalid peer certificate: BadSignature"),
    );
    says(
        &server.gateway(&env, "localhost", true),
        &format!(
            "cannot connect to localhost:{port}: invalid peer certificate: certificate not valid for name \
             \\\"localhost\\\"; certificate is only valid for IpAddress(127.0.0.1)"
        ),
    );
    let trusted = env.path("trusted.pem");
    says(
        &serve(&env, &format!("https://{plain_at}"), &trusted),
        &format!("cannot connect to {plain_at}: received corrupt message of type InvalidContentType"),
    );
    says(
        &serve(&env, &format!("https://{silent_at}"), &trusted),
        &format!("cannot connect to {silent_at}: operation timed out"),
    );
    says(
        &serve(&env, &format!("https://{gone}"), &trusted),
        &format!("cannot connect to {gone}: Connection refused (os error 111)"),
    );
    says(
        &serve(&env, "https://no-such-host.invalid", &trusted),
        "cannot connect to no-such-host.invalid: failed to lookup address information: ",
    );
    says(&moved.gateway(&env, "127.0.0.1", true), "the backend answered 302 Found");
    assert_eq!(moved.requests.lock().len(), 1, "a redirect is not followed");
}

#[test]
fn gateway_without_certificates_of_the_system_does_not_start() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &[]);
    let mut command = env.muninn();
    command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(&root).env("SSL_CERT_FILE", env.path("none.pem"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "error: cannot prepare connections to backends: builder error\n");
}
