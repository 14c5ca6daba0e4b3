//! A gateway with one scripted backend for each format.

use std::sync::Arc;

use muninn_tests::http::{Connection, Response};
use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream, answers};
use parking_lot::Mutex;

use crate::MUNINN;
use crate::formats::{ALL, Format, Turn, all_pairs, backend};
use crate::stage::error_message;

type Answering = dyn Fn(&Recorded) -> Reply + Send + Sync;

/// The gateway, and what its backends answer.
pub(crate) struct Broken {
    answer: Arc<Mutex<Arc<Answering>>>,
    pub(crate) gateway: Gateway,
    pub(crate) upstream: Upstream,
    pub(crate) env: TestEnv,
    /// The client's connection. The gateway reads the machine's table of sockets for each new one, so that thousands of
    /// connections would cost more than what they ask for.
    client: Mutex<Option<Connection>>,
}

impl Broken {
    pub(crate) fn new() -> Broken {
        Broken::with("retries = 0\n", "")
    }

    /// With settings of each backend, and limits.
    pub(crate) fn with(settings: &str, limits: &str) -> Broken {
        let answer: Arc<Mutex<Arc<Answering>>> = Arc::new(Mutex::new(Arc::new(answers::ok)));
        let upstream = Upstream::start_with({
            let answer = Arc::clone(&answer);
            move |request| {
                let answer = Arc::clone(&*answer.lock());
                answer(request)
            }
        });
        let env = TestEnv::new(MUNINN);
        let backends = ALL.map(|format| {
            let name = format.dialect();
            let route = format!("[[routes]]\nmodel = \"{name}\"\nbackend = \"{name}\"\n");
            (backend(name, &upstream.url(), format) + settings, route)
        });
        let (backends, routes): (Vec<_>, Vec<_>) = backends.into_iter().unzip();
        let limits = format!("[limits]\ncircuit_failures = 0\n{limits}");
        env.write_config(&format!("{}{}{limits}", backends.concat(), routes.concat()));
        let root = env.repository("demo", &[]);
        let gateway = env.serve(&root, &[]);
        Broken { answer, gateway, upstream, env, client: Mutex::default() }
    }

    pub(crate) fn answer_with(&self, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) {
        *self.answer.lock() = Arc::new(answer);
    }

    pub(crate) fn body(client: Format, spoken: Format, streamed: bool) -> String {
        client.request(spoken.dialect(), streamed, &[Turn::User("hello".to_owned())])
    }

    pub(crate) fn ask(&self, client: Format, spoken: Format, streamed: bool) -> Response {
        let mut kept = self.client.lock();
        let mut connection = kept.take().unwrap_or_else(|| Connection::open(self.gateway.address));
        let body = Broken::body(client, spoken, streamed);
        connection.send("POST", client.path(), &[("Content-Type", "application/json")], body.as_bytes());
        let response = connection.response();
        if response.headers.get("connection") != Some("close") {
            *kept = Some(connection);
        }
        response
    }

    /// Asks a backend that closes its connections without saying so, and waits for that. Until then the gateway could send
    /// the next request on the same connection.
    pub(crate) fn ask_closing(&self, client: Format, spoken: Format, streamed: bool) -> Response {
        let response = self.ask(client, spoken, streamed);
        muninn_tests::wait_until("the end of the backend's connection", || {
            (self.upstream.open_connections() == 0).then_some(())
        });
        response
    }

    /// How many descriptors the gateway has when its index is ready and it has nothing to do.
    #[cfg(target_os = "linux")]
    pub(crate) fn base(&self, stir: impl Fn()) -> usize {
        self.gateway.wait_ready();
        self.at_rest(usize::MAX, stir)
    }

    /// Waits until no request is in progress, the backend has no connection, and the gateway has at most so many
    /// descriptors; returns how many it has. `stir` is done before each look.
    #[cfg(target_os = "linux")]
    pub(crate) fn at_rest(&self, most: usize, stir: impl Fn()) -> usize {
        let last = std::cell::RefCell::default();
        let at_rest = || {
            stir();
            // Asking for metrics is a connection too, so descriptors come first.
            let descriptors = self.gateway.descriptors();
            let (active, open) = (self.gateway.active_requests(), self.upstream.open_connections());
            let is_at_rest = active == 0 && open == 0 && descriptors.len() <= most;
            *last.borrow_mut() = format!("{active} requests, {open} connections, {descriptors:#?}");
            is_at_rest.then_some(descriptors.len())
        };
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            muninn_tests::wait_until("a gateway at rest", at_rest)
        }));
        waited.unwrap_or_else(|_| panic!("not at rest with at most {most} descriptors: {}", last.borrow()))
    }

    pub(crate) fn assert_lives(&mut self) {
        assert!(self.gateway.is_running(), "{}", self.gateway.stderr());
        assert!(!self.gateway.stderr().contains("panicked"), "{}", self.gateway.stderr());
        self.answer_with(answers::ok);
        for (client, spoken) in all_pairs() {
            assert_eq!(client.read_stream(&self.ask(client, spoken, true).text()).text, "ok");
        }
    }
}

/// Panics unless the answer is a complete one, or an error that the client's format knows.
pub(crate) fn assert_well_formed(client: Format, response: &Response, how: &str) {
    if response.status != 200 {
        assert_eq!(response.headers.get("content-type"), Some("application/json"), "{how}");
        assert!(response.status >= 400, "{how}");
        assert!(!error_message(client.path(), response).is_empty(), "{how}");
    } else if response.headers.get("content-type") == Some("text/event-stream") {
        let answer = client.read_stream(&response.text());
        assert!(answer.failed.is_some() || answer.text == "ok", "{how}: {answer:?}");
    } else {
        client.read_whole(&response.json());
    }
}
