//! Two gateways on one state directory, with conversations that go from one to the other: both write receipts and ledger
//! rows at the same time, and none is lost.

use std::collections::{BTreeMap, BTreeSet};

use muninn_tests::http::Response;
use muninn_tests::{Recorded, TestEnv, Upstream, answers, wait_until};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::MUNINN;
use crate::spans::inserted;
use crate::stage::{FILES, QUESTION, quoted};

/// Turns of each conversation.
const TURNS: usize = 12;
/// Conversations at the same time.
const AT_ONCE: usize = 16;
/// The header that identifies the conversation and its turn to the backend.
const MARK: &str = "x-turn";

/// Questions on different files, since what a conversation holds already is not added again.
const QUESTIONS: [&str; 3] = [
    QUESTION,
    "How does parse_invoice read the number of an Invoice?",
    "Where does archive_invoice put the invoices of the InvoiceStore?",
];

#[test]
fn two_gateways_on_one_state_directory_lose_nothing() {
    converse(AT_ONCE);
}

#[test]
#[ignore = "takes minutes: run nightly"]
fn two_gateways_on_one_state_directory_lose_nothing_of_1152_requests() {
    converse(96);
}

/// The outcome of one request.
struct Asked {
    conversation: usize,
    turn: usize,
    id: String,
    outcome: String,
    body: String,
}

fn converse(conversations: usize) {
    let arrived: std::sync::Arc<Mutex<BTreeMap<String, Vec<u8>>>> = std::sync::Arc::default();
    let upstream = Upstream::start_with({
        let arrived = std::sync::Arc::clone(&arrived);
        move |request: &Recorded| {
            if let Some(mark) = request.headers.get(MARK) {
                arrived.lock().insert(mark.to_owned(), request.body.clone());
            }
            answers::ok(request)
        }
    });
    let env = TestEnv::new(MUNINN);
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    let gateways = [env.serve(&root, &[]), env.serve(&root, &[])];
    gateways.iter().for_each(muninn_tests::Gateway::wait_ready);

    let next = Mutex::new(0..conversations);
    let asked = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(conversation) = next.lock().next() else {
                        return;
                    };
                    for turn in 0..TURNS {
                        let body = body(conversation, turn);
                        let session = format!("session {conversation}");
                        let mark = format!("{conversation}/{turn}");
                        let headers = [("x-session-id", session.as_str()), (MARK, mark.as_str())];
                        let gateway = &gateways[(conversation + turn) % 2];
                        let response: Response = gateway.post("/v1/chat/completions", &headers, body.as_bytes());
                        assert_eq!(response.status, 200, "{}", response.text());
                        asked.lock().push(Asked {
                            conversation,
                            turn,
                            id: response.request_id().to_owned(),
                            outcome: response.outcome().to_owned(),
                            body,
                        });
                    }
                }
            });
        }
    });
    let asked = asked.into_inner();
    assert_eq!(asked.len(), conversations * TURNS);
    check_replay(&asked, &arrived.lock());
    check_outcomes(&asked);
    check_receipts(&env, &asked);
    for gateway in gateways {
        let stopped = gateway.stop();
        assert!(!stopped.stderr.contains("database is locked"), "{}", stopped.stderr);
    }
}

/// The conversation up to this turn.
fn body(conversation: usize, turn: usize) -> String {
    let question = |turn: usize| {
        let words = format!("{} (conversation {conversation}, turn {turn})", QUESTIONS[turn % QUESTIONS.len()]);
        format!(r#"{{"role":"user","content":{}}}"#, quoted(&words))
    };
    let turns: Vec<String> = (0..=turn).map(question).collect();
    let messages = turns.join(r#",{"role":"assistant","content":"ok"},"#);
    format!(r#"{{"model":"m","messages":[{messages}]}}"#)
}

/// Each request has the blocks of the one before, and perhaps one more.
fn check_replay(asked: &[Asked], arrived: &BTreeMap<String, Vec<u8>>) {
    let mut blocks: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for one in asked {
        let recorded = &arrived[&format!("{}/{}", one.conversation, one.turn)];
        blocks.insert((one.conversation, one.turn), inserted(one.body.as_bytes(), recorded));
    }
    let mut injected = 0;
    for ((conversation, turn), now) in &blocks {
        let before = (turn.checked_sub(1)).map_or(&[][..], |turn| &blocks[&(*conversation, turn)]);
        assert!(now.starts_with(before), "conversation {conversation}, turn {turn}: {before:?} became {now:?}");
        injected += now.len() - before.len();
    }
    println!("{} requests, {injected} blocks", asked.len());
    assert!(injected > asked.len() / TURNS, "{injected} blocks in {} requests", asked.len());
}

fn check_outcomes(asked: &[Asked]) {
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for one in asked {
        *outcomes.entry(&one.outcome).or_default() += 1;
    }
    println!("{outcomes:?}");
    assert_eq!(outcomes.get("failed"), None, "{outcomes:?}");
}

fn check_receipts(env: &TestEnv, asked: &[Asked]) {
    let expected: BTreeSet<&str> = asked.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(expected.len(), asked.len(), "each request has an id of its own");
    // A finished request has its receipt soon; the wait fails if it is lost.
    wait_until("the receipt of every request", || {
        let database = Connection::open(env.ledger()).unwrap();
        let mut ids = database.prepare("SELECT id FROM receipts").unwrap();
        let ids: BTreeSet<String> = ids.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        expected.iter().all(|id| ids.contains(*id)).then_some(())
    });
}
