//! Two repositories, a gateway for each, one state directory, and a backend that records: where conversations take place.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use muninn_tests::http::Response;
use muninn_tests::{Gateway, TestEnv, Upstream, answers};

use super::conversation::{Conversation, Looks, Request, render};
use super::oracle::{Exchange, MARKS, Oracle};
use super::prompt::Prompt;
use crate::MUNINN;
use crate::spans::inserted;

/// Topics: a name, words about it, and a question that only this topic answers.
pub(super) const TOPICS: [(&str, &str, &str); 6] = [
    (
        "retry",
        "the retry backoff grows between attempts",
        "How does the retry backoff grow between attempts?",
    ),
    (
        "cache",
        "the cache evicts its oldest entries",
        "Where does the cache evict its oldest entries?",
    ),
    (
        "invoice",
        "invoice lines are parsed into totals",
        "How are invoice lines parsed into totals?",
    ),
    (
        "bucket",
        "the token bucket refills in the limiter",
        "How does the token bucket refill in the limiter?",
    ),
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

/// What to do beside sending a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// `x-muninn-context: off`.
    pub off: bool,
    /// The ledger is locked meanwhile.
    pub locked: bool,
    /// Another request just like it is sent at the same time.
    pub twice: bool,
    /// The client asks on its own behalf.
    pub side: bool,
    /// ... through a subagent.
    pub subagent: bool,
}

impl How {
    pub(super) const PLAIN: How = How {
        off: false,
        locked: false,
        twice: false,
        side: false,
        subagent: false,
    };
    pub(super) const OFF: How = How {
        off: true,
        ..How::PLAIN
    };
    pub(super) const LOCKED: How = How {
        locked: true,
        ..How::PLAIN
    };
    pub(super) const TWICE: How = How {
        twice: true,
        ..How::PLAIN
    };
    pub(super) const SIDE: How = How {
        side: true,
        ..How::PLAIN
    };
}

pub(super) struct World {
    pub env: TestEnv,
    pub repositories: [PathBuf; 2],
    pub oracle: Oracle,
    gateways: [Option<Gateway>; 2],
    arrived: Arc<Mutex<Vec<Vec<u8>>>>,
    _upstream: Upstream,
    version: u32,
    steps: usize,
}

impl World {
    pub(super) fn new() -> World {
        let arrived: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let upstream = Upstream::start_with({
            let arrived = Arc::clone(&arrived);
            move |request| {
                if request.method == "POST" {
                    arrived.lock().unwrap().push(request.body.clone());
                }
                answers::ok(request)
            }
        });
        let env = TestEnv::new(MUNINN);
        // Room for many blocks in a conversation, and blocks that depend on whether the request brings tools.
        let context = "[context]\ndeadline_ms = 20000\ntokens_with_tools = 220\ntokens_without_tools = 420\n";
        env.write_config(&format!("{}{context}", upstream.backend("mock")));
        let repositories = [0, 1].map(|number| {
            let files = files(number, 0);
            let files: Vec<_> = files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str()))
                .collect();
            env.repository(["one", "two"][number], &files)
        });
        World {
            env,
            repositories,
            oracle: Oracle::default(),
            gateways: [None, None],
            arrived,
            _upstream: upstream,
            version: 0,
            steps: 0,
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

    /// Sends a conversation as it stands.
    ///
    /// # Errors
    /// What the oracle found wrong.
    pub(super) fn send(
        &mut self,
        step: &str,
        conversation: &Conversation,
        looks: Looks,
        how: How,
    ) -> Result<String, String> {
        self.steps += 1;
        let request = render(conversation, looks);
        self.gateway(conversation.repository);
        let lock = how.locked.then(|| self.lock(looks.0 % 2 == 1));
        let count = if how.twice { 2 } else { 1 };
        let responses = self.post(conversation.repository, &request, how, count);
        drop(lock);
        let mut arrived = std::mem::take(&mut *self.arrived.lock().unwrap());
        assert_eq!(arrived.len(), count, "each request is forwarded once");
        let mut outcomes: Vec<_> = responses.iter().map(|response| response.outcome().to_owned()).collect();
        // The one that made the block is checked first.
        outcomes.sort_by_key(|outcome| !matches!(outcome.as_str(), "injected" | "partial"));
        arrived.sort();
        for (outcome, body) in outcomes.iter().zip(arrived) {
            let upstream = Prompt::parse(conversation.format, &body);
            let cut = inserted(request.body.as_bytes(), &body);
            let blocks = upstream.without_injected().1;
            assert!(cut.iter().map(String::as_str).eq(blocks.iter().map(|(_, text)| *text)));
            self.oracle.check(Exchange {
                repository: conversation.repository,
                session: conversation.session.clone(),
                step: format!("{}. {step}", self.steps),
                side: how.side,
                outcome: outcome.clone(),
                client: Prompt::parse(conversation.format, request.body.as_bytes()),
                upstream,
            })?;
        }
        Ok(outcomes.remove(0))
    }

    fn post(&self, repository: usize, request: &Request, how: How, count: usize) -> Vec<Response> {
        let mut headers: Vec<(&str, &str)> = request
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        if how.off {
            headers.push(("x-muninn-context", "off"));
        }
        if how.subagent {
            headers.push(("x-claude-code-agent-id", "a1"));
        }
        let gateway = self.gateways[repository].as_ref().expect("a gateway runs");
        let post = || gateway.post(request.path, &headers, request.body.as_bytes());
        let responses: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..count).map(|_| scope.spawn(post)).collect();
            let first = post();
            others
                .into_iter()
                .map(|other| other.join().unwrap())
                .chain([first])
                .collect()
        });
        for response in &responses {
            assert_eq!(response.status, 200, "{}", response.text());
        }
        responses
    }

    /// Another process that writes to the ledger and takes its time.
    fn lock(&self, exclusive: bool) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.env.ledger()).unwrap();
        connection.busy_timeout(muninn_tests::PATIENCE).unwrap();
        let begin = if exclusive {
            "BEGIN EXCLUSIVE"
        } else {
            "BEGIN IMMEDIATE"
        };
        connection.execute_batch(begin).unwrap();
        connection
    }

    /// Ends a gateway; the next request to it starts another one.
    pub(super) fn stop(&mut self, repository: usize, kill: bool) {
        if let Some(gateway) = self.gateways[repository].take() {
            if kill {
                gateway.kill();
            } else {
                gateway.stop_cleanly();
            }
        }
    }

    /// Starts a gateway that can write no file beyond so many blocks, as on a disk that is full.
    pub(super) fn fill_disk(&mut self, repository: usize, blocks: u32) {
        self.stop(repository, false);
        let mut command = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        command.args([
            "-c",
            &script,
            "sh",
            MUNINN,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--root",
        ]);
        command.arg(&self.repositories[repository]);
        self.env.clean(&mut command);
        let gateway = Gateway::spawn(command).unwrap_or_else(|stopped| panic!("no start on a full disk: {stopped:?}"));
        self.gateways[repository] = Some(gateway);
    }

    /// Changes all files, so that blocks made from now on differ from earlier ones.
    pub(super) fn edit_files(&mut self, repository: usize) {
        self.version += 1;
        for (path, text) in files(repository, self.version) {
            std::fs::write(self.repositories[repository].join(path), text).unwrap();
        }
    }
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
