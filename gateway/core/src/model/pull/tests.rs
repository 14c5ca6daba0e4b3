//! The exchange with an index: redirects, credentials, links and failures.

use muninn_tests::{Recorded, Reply, Upstream};

use super::*;
use crate::model::PinnedFile;

const ARCHIVE: &str = "tiny-1.whl";

fn pin() -> Pin {
    Pin {
        name: "tiny".to_owned(),
        package: "tiny-pkg".to_owned(),
        archive: ARCHIVE.to_owned(),
        size: 3,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        files: vec![PinnedFile { path: "a".to_owned(), size: 0, sha256: String::new() }],
    }
}

/// Pulls what is no archive: it fails at the end with this error if everything was fetched.
const FETCHED: &str = "tiny-1.whl cannot be unpacked";

fn pull_from(index: &str) -> String {
    rustls::crypto::ring::default_provider().install_default().ok();
    let home = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(pull(&pin(), index, home.path(), &|_, _| {})).unwrap_err().to_string()
}

fn page(link: &str) -> Reply {
    Reply::new(200, "text/html", format!("<a href='{link}'>it</a>"))
}

fn moved(status: u16, to: &str) -> Reply {
    Reply::new(status, "text/plain", "").header("location", to)
}

fn targets(upstream: &Upstream) -> Vec<String> {
    upstream.requests().into_iter().map(|request| request.target).collect()
}

#[test]
fn links_are_relative_to_the_page_after_redirects() {
    for (link, target) in [
        ("tiny-1.whl", "/b/tiny-pkg/x/tiny-1.whl"),
        ("./tiny-1.whl#sha256=1", "/b/tiny-pkg/x/tiny-1.whl"),
        ("../tiny-1.whl", "/b/tiny-pkg/tiny-1.whl"),
        ("../../../../../f/./g/../tiny-1.whl", "/f/tiny-1.whl"),
        ("/f/tiny-1.whl?a=1&amp;b=2", "/f/tiny-1.whl?a=1&b=2"),
        ("HOST/f/tiny-1.whl", "/f/tiny-1.whl"),
        ("http:HOST/f/tiny-1.whl", "/f/tiny-1.whl"),
        ("a b/\u{e9}/tiny-1.whl", "/b/tiny-pkg/x/a%20b/%C3%A9/tiny-1.whl"),
        ("%7Ea/tiny-1.whl", "/b/tiny-pkg/x/%7Ea/tiny-1.whl"),
    ] {
        let upstream = Upstream::start_with(move |request: &Recorded| match request.target.as_str() {
            "/a/tiny-pkg/" => moved(301, "/b/tiny-pkg/x/?q=/1/"),
            "/b/tiny-pkg/x/?q=/1/" => {
                page(&link.replace("HOST", &format!("//{}", request.headers.get("host").unwrap())))
            }
            _ => Reply::new(200, "x/y", "abc"),
        });
        let error = pull_from(&format!("{}/a", upstream.url()));
        assert!(error.starts_with(FETCHED), "{link}: {error}");
        assert_eq!(targets(&upstream), ["/a/tiny-pkg/", "/b/tiny-pkg/x/?q=/1/", target], "{link}");
    }
}

#[test]
fn credentials_of_the_index_stay_on_its_host() {
    let other = Upstream::start_with(|_| page("/f/tiny-1.whl"));
    let elsewhere = format!("{}/there", other.url());
    let upstream = Upstream::start_with(move |request: &Recorded| match request.target.as_str() {
        "/simple/tiny-pkg/" => moved(302, "../other/"),
        "/simple/other/" => moved(307, &elsewhere),
        _ => Reply::json(404, ""),
    });
    let error = pull_from(&upstream.url().replace("http://", "http://us%65r:p%40ss@"));
    assert_eq!(error, format!("cannot fetch {}/tiny-pkg/: it answered 404 Not Found", upstream.url()));
    let error = pull_from(&format!("{}/simple/", upstream.url().replace("http://", "http://us%65r:p%40ss@")));
    assert!(error.starts_with("tiny-1.whl does not match its pin"), "{error}");
    let requests = upstream.requests();
    assert_eq!(targets(&upstream), ["/tiny-pkg/", "/simple/tiny-pkg/", "/simple/other/"]);
    for request in &requests {
        assert_eq!(request.headers.get("authorization"), Some("Basic dXNlcjpwQHNz"));
        assert_eq!(request.headers.all("accept"), [index::ACCEPT]);
    }
    let first = format!("{}/simple/tiny-pkg/", upstream.url());
    assert_eq!(requests[1].headers.get("referer"), None);
    assert_eq!(requests[2].headers.get("referer"), Some(first.as_str()));
    let elsewhere = other.requests();
    assert_eq!(targets(&other), ["/there", "/f/tiny-1.whl"]);
    assert_eq!(elsewhere[0].headers.get("referer"), Some(first.replace("tiny-pkg", "other").as_str()));
    assert_eq!(elsewhere[1].headers.all("accept"), ["*/*"]);
    for request in elsewhere {
        assert_eq!(request.headers.get("authorization"), None);
        assert_eq!(request.headers.get("user-agent"), None);
    }
}

#[test]
fn ten_redirects_are_followed_and_no_more() {
    let hops = |count: usize| {
        Upstream::start_with(move |request: &Recorded| {
            let hop = request.target.strip_prefix("/hop/").map_or(0, |hop| hop.parse::<usize>().unwrap());
            if request.target.ends_with(".whl") {
                Reply::new(200, "x/y", "abc")
            } else if hop == count {
                page("/tiny-1.whl")
            } else {
                moved(308, &format!("/hop/{}", hop + 1))
            }
        })
    };
    let enough = hops(10);
    assert!(pull_from(&enough.url()).starts_with(FETCHED));
    assert_eq!(enough.requests().len(), 12);
    let endless = hops(11);
    assert_eq!(pull_from(&endless.url()), format!("cannot fetch {}/tiny-pkg/: too many redirects", endless.url()));
    assert_eq!(endless.requests().len(), 11);
}

#[test]
fn failures_of_an_index_name_their_reason() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let lost = Upstream::start_with(|_| Reply::hangup());
    let lost = lost.url();
    let stray = Upstream::start_with(|_| moved(302, "ftp://example.com/"));
    let nowhere = Upstream::start_with(|_| Reply::new(302, "text/plain", ""));
    let linked = Upstream::start_with(|_| page("http://[::1/tiny-1.whl"));
    for (index, expected) in [
        (
            format!("http://{gone}/simple"),
            format!("cannot fetch http://{gone}/simple/tiny-pkg/: Connection refused (os error 111)"),
        ),
        (format!("{lost}/x"), format!("cannot fetch {lost}/x/tiny-pkg/: connection closed before message completed")),
        (stray.url(), format!("cannot fetch {}/tiny-pkg/: URL scheme is not allowed", stray.url())),
        (nowhere.url(), format!("{}/tiny-pkg/ lists no tiny-1.whl", nowhere.url())),
        (linked.url(), "`http://[::1/tiny-1.whl` is not a usable address: invalid IPv6 address".to_owned()),
        (
            "ftp://example.com".to_owned(),
            "cannot fetch ftp://example.com/tiny-pkg/: URL scheme is not allowed".to_owned(),
        ),
        (
            "pypi.org/simple".to_owned(),
            "`pypi.org/simple` is not a usable address: relative URL without a base".to_owned(),
        ),
        ("http://x:99999".to_owned(), "`http://x:99999` is not a usable address: invalid port number".to_owned()),
        ("http://?".to_owned(), "`http://?` is not a usable address: empty host".to_owned()),
        (
            "http://user:secret@no-such-host.invalid".to_owned(),
            "cannot fetch http://no-such-host.invalid/tiny-pkg/: failed to lookup address information: ".to_owned(),
        ),
    ] {
        let error = pull_from(&index);
        assert!(error.starts_with(&expected), "{index}: {error}");
    }
}
