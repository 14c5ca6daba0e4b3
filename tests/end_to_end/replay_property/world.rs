//! The environment of the conversations: two repositories with a gateway each, one state directory, and a recording
//! backend.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use muninn_tests::socket::Socket;
use muninn_tests::{Gateway, TestEnv, Upstream, answers};
use parking_lot::Mutex;

use super::conversation::{Conversation, Request, Style, render};
use super::oracle::{Exchange, MARKS, Oracle};
use super::prompt::Prompt;
use crate::MUNINN;
use crate::spans::inserted;

/// Topics: a name, a description, and a question that matches only this topic.
pub(super) const TOPICS: [(&str, &str, &str); 6] = [
    ("retry", "the retry backoff grows between attempts", "How does the retry backoff grow between attempts?"),
    ("cache", "the cache evicts its oldest entries", "Where does the cache evict its oldest entries?"),
    ("invoice", "invoice lines are parsed into totals", "How are invoice lines parsed into totals?"),
    ("bucket", "the token bucket refills in the limiter", "How does the token bucket refill in the limiter?"),
    (
        "scheduler",
        "the scheduler picks the next job by priority",
        "How does the scheduler pick the next job by priority?",
    ),
    (
        "decoder",
        "the frame decoder handles a truncated header",
        "How does the frame decoder handle a truncated header?",
    ),
];

/// Circumstances of sending a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendOptions {
    /// The header `x-muninn-context: off` is sent.
    pub off: bool,
    /// Another process locks the ledger.
    pub locked: bool,
    /// An equal request is sent at the same time.
    pub twice: bool,
    /// The request is a side request.
    pub side: bool,
    /// The side request is a subagent's.
    pub subagent: bool,
}

impl SendOptions {
    pub(super) const PLAIN: SendOptions =
        SendOptions { off: false, locked: false, twice: false, side: false, subagent: false };
    pub(super) const OFF: SendOptions = SendOptions { off: true, ..SendOptions::PLAIN };
    pub(super) const LOCKED: SendOptions = SendOptions { locked: true, ..SendOptions::PLAIN };
    pub(super) const TWICE: SendOptions = SendOptions { twice: true, ..SendOptions::PLAIN };
    pub(super) const SIDE: SendOptions = SendOptions { side: true, ..SendOptions::PLAIN };
}

pub(super) struct World {
    pub env: TestEnv,
    pub repositories: [PathBuf; 2],
    pub oracle: Oracle,
    gateways: [Option<Gateway>; 2],
    received: Arc<Mutex<Vec<Vec<u8>>>>,
    _upstream: Upstream,
    version: u32,
    steps: usize,
    /// The number of requests over WebSockets.
    pub sockets: usize,
}

impl World {
    pub(super) fn new() -> World {
        let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let upstream = Upstream::start_with({
            let received = Arc::clone(&received);
            move |request| {
                if request.method == "POST" {
                    received.lock().push(request.body.clone());
                }
                answers::ok(request)
            }
        });
        let env = TestEnv::new(MUNINN);
        // Small budgets allow many blocks in a conversation. They differ for requests with and without tools.
        let context = "[context]\ndeadline_ms = 20000\ntokens_with_tools = 220\ntokens_without_tools = 420\n";
        env.write_config(&format!("{}{context}", upstream.backend("mock")));
        let repositories = [0, 1].map(|number| {
            let files = files(number, 0);
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            env.repository(["one", "two"][number], &files)
        });
        World {
            env,
            repositories,
            oracle: Oracle::default(),
            gateways: [None, None],
            received,
            _upstream: upstream,
            version: 0,
            steps: 0,
            sockets: 0,
        }
    }

    fn gateway(&mut self, repository: usize) -> &Gateway {
        let gateway = self.gateways[repository].take();
        let gateway = gateway.unwrap_or_else(|| {
            let gateway = self.env.serve(&self.repositories[repository], &[]);
            gateway.wait_ready();
            gateway
        });
        self.gateways[repository].insert(gateway)
    }

    /// Sends a conversation, checks it with the oracle, and returns the outcome.
    ///
    /// # Errors
    /// The oracle's report of a violation.
    pub(super) fn send(
        &mut self,
        step: &str,
        conversation: &Conversation,
        style: Style,
        options: SendOptions,
    ) -> Result<String, String> {
        self.steps += 1;
        let request = render(conversation, style);
        self.gateway(conversation.repository);
        let lock = options.locked.then(|| self.lock(style.0 % 2 == 1));
        let count = if options.twice { 2 } else { 1 };
        let mut outcomes = self.post(conversation.repository, &request, options, count);
        self.sockets += usize::from(!request.frames.is_empty());
        drop(lock);
        let mut received = std::mem::take(&mut *self.received.lock());
        assert_eq!(received.len(), count, "each request is forwarded once");
        // The response whose request created the block is checked first.
        outcomes.sort_by_key(|outcome| !matches!(outcome.as_str(), "injected" | "partial"));
        received.sort();
        for (outcome, body) in outcomes.iter().zip(received) {
            let upstream = Prompt::parse(conversation.format, &body);
            let cut = inserted(request.body.as_bytes(), &body);
            let blocks = upstream.without_injected().1;
            assert!(cut.iter().map(String::as_str).eq(blocks.iter().map(|(_, text)| *text)));
            self.oracle.check(Exchange {
                repository: conversation.repository,
                session: conversation.session.clone(),
                step: format!("{}. {step}", self.steps),
                side: options.side,
                outcome: outcome.clone(),
                client: Prompt::parse(conversation.format, request.body.as_bytes()),
                upstream,
            })?;
        }
        Ok(outcomes.remove(0))
    }

    /// Sends a request `count` times at once, and returns the outcomes.
    fn post(&self, repository: usize, request: &Request, options: SendOptions, count: usize) -> Vec<String> {
        let mut headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if options.off {
            headers.push(("x-muninn-context", "off"));
        }
        if options.subagent {
            headers.push(("x-claude-code-agent-id", "a1"));
        }
        let gateway = self.gateways[repository].as_ref().expect("a gateway runs");
        let post = || {
            if !request.frames.is_empty() {
                return over_socket(gateway, &headers, &request.frames);
            }
            let response = gateway.post(request.path, &headers, request.body.as_bytes());
            assert_eq!(response.status, 200, "{}", response.text());
            response.outcome().to_owned()
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..count).map(|_| scope.spawn(post)).collect();
            let first = post();
            others.into_iter().map(|other| other.join().unwrap()).chain([first]).collect()
        })
    }

    /// Locks the ledger like a slow writer of another process.
    fn lock(&self, exclusive: bool) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.env.ledger()).unwrap();
        connection.busy_timeout(muninn_tests::PATIENCE).unwrap();
        let begin = if exclusive { "BEGIN EXCLUSIVE" } else { "BEGIN IMMEDIATE" };
        connection.execute_batch(begin).unwrap();
        connection
    }

    /// Stops or kills a gateway. The next request to it starts another one.
    pub(super) fn stop(&mut self, repository: usize, kill: bool) {
        if let Some(gateway) = self.gateways[repository].take() {
            if kill {
                gateway.kill();
            } else {
                gateway.stop_cleanly();
            }
        }
    }

    /// Starts a gateway that can write files of at most this many blocks of 512 bytes, which simulates a full disk.
    pub(super) fn fill_disk(&mut self, repository: usize, blocks: u32) {
        self.stop(repository, false);
        let mut command = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        command.args(["-c", &script, "sh", MUNINN, "serve", "--listen", "127.0.0.1:0", "--root"]);
        command.arg(&self.repositories[repository]);
        self.env.clean(&mut command);
        let gateway = Gateway::spawn(command).unwrap_or_else(|stopped| panic!("no start on a full disk: {stopped:?}"));
        self.gateways[repository] = Some(gateway);
    }

    /// Changes all files, so that new blocks differ from earlier ones.
    pub(super) fn edit_files(&mut self, repository: usize) {
        self.version += 1;
        for (path, text) in files(repository, self.version) {
            std::fs::write(self.repositories[repository].join(path), text).unwrap();
        }
    }
}

/// Sends frames over a WebSocket of their own, each of which continues the response before it, and returns the outcome.
fn over_socket(gateway: &Gateway, headers: &[(&str, &str)], frames: &[String]) -> String {
    let mut socket = Socket::open(gateway.address, headers).unwrap();
    let (mut id, mut outcome) = (String::new(), String::new());
    for frame in frames {
        socket.send(frame.replace("KNOWN", &id));
        let response = socket.response();
        let last = response.last().unwrap();
        assert_eq!(last["type"], "response.completed", "{response:?}");
        id = last["response"]["id"].as_str().unwrap().to_owned();
        outcome = response[0]["headers"]["x-muninn-context"].as_str().unwrap_or_default().to_owned();
    }
    outcome
}

fn files(repository: usize, version: u32) -> Vec<(String, String)> {
    let mark = MARKS[repository];
    let file = |(name, words, _): &(&str, &str, &str)| {
        let path = format!("src/{mark}{name}.rs");
        let text = format!(
            "//! {mark}{name}: {words}.\n\n/// Where {words}.\npub fn {mark}{name}_step(input: u32) -> u32 {{\n    \
             // {words}, in version {version}\n    let {name} = input + {version};\n    {name}\n}}\n"
        );
        (path, text)
    };
    TOPICS.iter().map(file).collect()
}
