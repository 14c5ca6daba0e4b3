//! Proxies of the environment: which requests go through one, and what it gets.

use std::io::{Read, Write, copy};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::MUNINN;
use crate::http2::{acceptor, certificate, trusted_file};

const TARGET: &str = "/v1/chat/completions";
const BODY: &[u8] = br#"{"model":"m","messages":[]}"#;

fn backend(url: &str) -> String {
    format!("[[backends]]\nname = \"far\"\nurl = \"{url}\"\ndialect = \"chat\"\nretries = 0\n")
}

fn serve(env: &TestEnv, url: &str, variables: &[(&str, &str)]) -> Gateway {
    env.write_config(&backend(url));
    let root = env.repository("demo", &[]);
    env.serve_with(&root, &[], |command| {
        command.envs(variables.iter().copied());
    })
}

fn answering() -> Upstream {
    Upstream::start_with(|_| Reply::json(200, r#"{"choices":[]}"#))
}

fn names(request: &Recorded) -> Vec<&str> {
    request.headers.0.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn plain_request_goes_whole_to_the_proxy_with_its_credentials() {
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let (env, proxy) = (TestEnv::new(MUNINN), answering());
        let url = proxy.url().replace("http://", "http://us%65r:p%40ss@");
        let gateway = serve(&env, "http://far.example/base", &[(variable, &url)]);
        for _ in 0..2 {
            let response = gateway.post(&format!("{TARGET}?a=1"), &[("X-One", "1")], BODY);
            assert_eq!(response.status, 200, "{variable}: {}", response.text());
            let request = proxy.last();
            let target = format!("http://far.example/base{TARGET}?a=1");
            assert_eq!((request.method.as_str(), &request.target, request.body.as_slice()), ("POST", &target, BODY));
            assert_eq!(request.headers.get("host"), Some("far.example"));
            assert_eq!(request.headers.get("accept"), Some("*/*"));
            assert_eq!(request.headers.get("proxy-authorization"), Some("Basic dXNlcjpwQHNz"));
            let expected =
                ["x-one", "content-type", "accept-encoding", "accept", "proxy-authorization", "host", "content-length"];
            assert_eq!(names(&request), expected, "{variable}");
        }
        assert_eq!(gateway.post(TARGET, &[("Accept", "text/x")], BODY).status, 200);
        assert_eq!(proxy.last().headers.all("accept"), ["text/x"]);
    }
}

#[test]
fn hosts_that_are_excluded_are_reached_without_the_proxy() {
    let (proxy, upstream) = (answering(), answering());
    let far = upstream.url().replace("127.0.0.1", "0.0.0.0");
    let proxied = proxy.url();
    for (excluded, is_proxied) in [
        (vec![], true),
        (vec![("NO_PROXY", "127.0.0.1, example.com")], true),
        (vec![("NO_PROXY", "example.com, 0.0.0.0")], false),
        (vec![("no_proxy", "0.0.0.0/8")], false),
        // A star stands for names only.
        (vec![("NO_PROXY", "*")], true),
        (vec![("REQUEST_METHOD", "GET")], false),
    ] {
        let env = TestEnv::new(MUNINN);
        let variables = [vec![("HTTP_PROXY", proxied.as_str())], excluded].concat();
        let gateway = serve(&env, &far, &variables);
        assert_eq!(gateway.post(TARGET, &[], BODY).status, 200, "{variables:?}");
        let requests = (proxy.take_requests().len(), upstream.take_requests().len());
        assert_eq!(requests, if is_proxied { (1, 0) } else { (0, 1) }, "{variables:?}");
    }
}

#[test]
fn refusals_of_a_proxy_are_reported() {
    let refusing = Upstream::start_with(|_| Reply::json(407, ""));
    let closing = Upstream::start_with(|_| Reply::hangup());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (needs_key, closes) = (refusing.url(), closing.url());
    let (nobody, socks) = (format!("http://{gone}"), format!("socks5://{gone}"));
    for (scheme, variable, proxy, problem) in [
        (
            "https",
            "HTTPS_PROXY",
            &needs_key,
            "cannot connect to far.example: tunnel error: proxy authorization required",
        ),
        ("https", "https_proxy", &closes, "cannot connect to far.example: tunnel error: unexpected end of file"),
        ("https", "ALL_PROXY", &nobody, "cannot connect to far.example: Connection refused (os error 111)"),
        ("http", "http_proxy", &nobody, "cannot connect to far.example: Connection refused (os error 111)"),
        ("https", "ALL_PROXY", &socks, "cannot connect to far.example: unsupported scheme socks5"),
        ("http", "ALL_PROXY", &socks, "cannot connect to far.example: unsupported scheme socks5"),
        (
            "http",
            "HTTP_PROXY",
            &closes,
            "far.example broke off before it answered: connection closed before message completed",
        ),
    ] {
        let env = TestEnv::new(MUNINN);
        let gateway = serve(&env, &format!("{scheme}://far.example"), &[(variable, proxy)]);
        let response = gateway.post(TARGET, &[], BODY);
        assert_eq!(response.status, 502);
        assert!(response.text().contains(problem), "{scheme} {variable}: {}", response.text());
    }
}

/// Accepts `CONNECT` requests, keeps their heads, and connects each to the address.
fn tunnels(to: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://user@{}", listener.local_addr().unwrap());
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&heads);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            seen.lock().push(String::from_utf8(head).unwrap());
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let server = TcpStream::connect(&to).unwrap();
            for (mut from, mut into) in [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)] {
                std::thread::spawn(move || copy(&mut from, &mut into));
            }
        }
    });
    (url, heads)
}

#[test]
fn tls_runs_inside_the_tunnel_of_a_proxy() {
    let (certificate, key) = certificate();
    let tls = acceptor((certificate.clone(), key), &["http/1.1"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    runtime.spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let mut socket = tls.accept(socket).await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(BODY) {
                socket.read_buf(&mut request).await.unwrap();
            }
            assert!(request.starts_with(b"POST /v1/chat/completions HTTP/1.1\r\n"));
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"choices\":[]}").await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    let (proxy, heads) = tunnels(address);
    let env = TestEnv::new(MUNINN);
    let trusted = trusted_file(&env, &certificate);
    // The port of the URL differs from the server's, so that only the tunnel leads there.
    let variables = [("HTTPS_PROXY", proxy.as_str()), ("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let gateway = serve(&env, "https://127.0.0.1:1", &variables);
    for _ in 0..2 {
        let response = gateway.post(TARGET, &[("authorization", "Bearer secret")], BODY);
        assert_eq!((response.status, response.text().as_str()), (200, r#"{"choices":[]}"#), "{}", gateway.stderr());
    }
    let expected = "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nProxy-Authorization: Basic dXNlcjo=\r\n\r\n";
    let heads = heads.lock();
    assert!(heads.len() == 2 && heads.iter().all(|head| head == expected), "{heads:?}");
}
