//! The threshold: questions about the repository get items, other prompts get none.

use super::{Repo, ask, files, limits};
use crate::{Lists, Tuning};

/// Questions, each with the file that answers it.
const ON_TOPIC: &[(&str, &str)] = &[
    ("How are balances rebuilt by replaying the ledger?", "src/ledger.rs"),
    ("what happens when a booking would overdraw an account", "src/ledger.rs"),
    ("where is the checkpoint checksum computed?", "src/ledger.rs"),
    ("OverdraftError", "src/ledger.rs"),
    ("why does Balances::apply return an error", "src/ledger.rs"),
    ("add a currency field to Booking", "src/ledger.rs"),
    ("how does the router match path parameters", "src/http/router.rs"),
    ("what wins, a literal segment or a parameter?", "src/http/router.rs"),
    ("where do we answer 405 method not allowed", "src/http/router.rs"),
    ("can I register the same pattern twice in the Router", "src/http/router.rs"),
    ("how long is the exponential backoff at most", "src/http/retry.rs"),
    ("is a declined payment retryable?", "src/http/retry.rs"),
    ("which provider errors may be repeated", "src/http/retry.rs"),
    ("explain the `CircuitBreaker`", "src/http/retry.rs"),
    ("change MAX_ATTEMPTS to 7", "src/http/retry.rs"),
    ("how is the session cookie signed", "src/session.rs"),
    ("does verify_cookie run in constant time?", "src/session.rs"),
    ("how can I log a user out everywhere, all sessions", "src/session.rs"),
    ("what does src/session.rs do", "src/session.rs"),
    ("how are German amounts parsed in the CSV import", "tools/import_orders.py"),
    ("does import_file skip duplicates by order number", "tools/import_orders.py"),
    ("what encoding does the legacy export have", "tools/import_orders.py"),
    ("add a dry-run flag to the orders import", "tools/import_orders.py"),
    ("how do we roll back a deployment of the Helm chart", "README.md"),
    ("which test covers replaying the ledger twice", "tests/ledger_replay.rs"),
    ("what do error responses look like, which fields", ".muninn/knowledge/errors.md"),
    ("does the payment provider need an idempotency key for retries", "01JH0000000000000000000001"),
];

const OFF_TOPIC: &[&str] = &[
    "write a haiku about autumn",
    "what is the capital of France",
    "hi",
    "thanks",
    "yes do it",
    "commit this",
    "commit and push please",
    "ok, go ahead with option 2",
    "run the tests again",
    "continue",
    "looks good to me",
    "what is the weather in Paris tomorrow",
    "tell me a joke",
    "who won the world cup in 1998",
    "translate good morning to Spanish",
    "recommend a good book about gardening",
    "how do I bake sourdough bread",
    "what is the meaning of life",
    "give me a recipe for lasagna",
    "how tall is Mount Everest",
    "write a birthday poem for my sister",
    "explain quantum entanglement to a child",
    "how many calories are in a banana",
    "convert 10 miles to kilometers",
    "who painted the Mona Lisa",
    "plan a weekend trip to Rome",
    "summarize the plot of Hamlet",
    "write an email to my landlord about the broken heater",
    "what should I name my cat",
    "what is 17 times 23",
    "what time is it",
    "👍",
    "",
];

#[test]
fn questions_about_the_repository_get_items() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut missed = Vec::new();
    for (question, file) in ON_TOPIC {
        let found = ask(&engine, question);
        if !files(&found).iter().take(3).any(|found| found == file) {
            missed.push(format!("{question}: {:?} {:?}", files(&found), found.reason));
        }
        assert!(!found.question_terms.is_empty(), "{question}");
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn words_that_others_have_and_this_repository_lacks_are_evidence_against() {
    let found = ask(&Repo::service().ready(), "which environment variable sets the listen address of the server");
    assert!(found.items.is_empty(), "{:?}", files(&found));
    assert!(found.reason.unwrap().contains("not in this repository: environment, variable"));
}

#[test]
fn name_with_one_definition_is_exact_evidence_in_any_language() {
    let repo = Repo::service();
    let engine = repo.ready();
    for question in ["Wo wird `checkpoint` eigentlich berechnet, und womit genau?", "checkpoint() 是在哪里实现的?"]
    {
        let found = ask(&engine, question);
        assert!(files(&found).contains(&"src/ledger.rs"), "{:?}", found.reason);
    }
    for question in ["Wo wird eigentlich gerechnet, und womit genau?", "Was macht `iterator()` eigentlich?"] {
        let found = ask(&engine, question);
        assert!(found.items.is_empty(), "{:?}", files(&found));
    }
}

#[test]
fn off_topic_prompts_get_a_reason_and_no_items() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut answered = Vec::new();
    for question in OFF_TOPIC {
        let found = ask(&engine, question);
        assert_eq!(found.items.is_empty(), found.tokens == 0);
        assert_eq!(found.items.is_empty(), found.reason.is_some(), "{question}");
        if !found.items.is_empty() {
            answered.push(format!("{question}: {:?}", files(&found)));
        }
    }
    assert!(answered.is_empty(), "{answered:#?}");
}

#[test]
fn most_questions_are_judged_right_before_the_index_is_ready() {
    let repo = Repo::service();
    let engine = repo.engine();
    let answered =
        |question: &str, file: &str| files(&ask(&engine, question)).iter().take(3).any(|found| *found == file);
    let right = ON_TOPIC.iter().filter(|(question, file)| answered(question, file)).count();
    let wrong = OFF_TOPIC.iter().filter(|question| !ask(&engine, question).items.is_empty()).count();
    assert!(right * 10 >= ON_TOPIC.len() * 8, "{right} of {}", ON_TOPIC.len());
    assert!(wrong <= 1, "{wrong}");
}

#[test]
fn the_threshold_can_be_set() {
    let repo = Repo::service();
    let strict = repo.engine_with(crate::EngineSettings { threshold: Some(1.0), ..Default::default() });
    strict.refresh(&()).unwrap();
    assert!(ask(&strict, "how does the router match unicorns and rainbows").items.is_empty());
    let loose = repo.engine_with(crate::EngineSettings { threshold: Some(0.1), ..Default::default() });
    loose.refresh(&()).unwrap();
    assert!(!ask(&loose, "how does the router match unicorns and rainbows").items.is_empty());
}

#[test]
fn a_measurement_can_switch_the_threshold_off() {
    let repo = Repo::service();
    let engine = repo.ready();
    let question = "write a birthday poem for my router";
    assert!(ask(&engine, question).items.is_empty());
    let undecided = Tuning { decide: false, ..Tuning::default() };
    let found = engine.explore_with(question, &limits(4000), undecided);
    let ranking = engine.rank(question, Tuning::default(), 3);
    assert_eq!(ranking.files[0].path.as_str(), "src/http/router.rs");
    assert_eq!(files(&found)[0], "src/http/router.rs");
    assert!(ranking.files.len() <= 3);
}

#[test]
fn each_list_changes_the_ranking() {
    let repo = Repo::service();
    repo.commit("The dashboard shows what customers were charged", &[]);
    repo.commit(
        "Alerts for the queue",
        &[("src/http/retry.rs", "fn apply() {}\n"), ("src/queue.rs", "fn grow() {}\n")],
    );
    let hit = r#"{"id":"1","type":"context_hit","terms":["ledger","router","book"],"files":["src/session.rs"],"relevance":0.95}"#;
    repo.write(".muninn/memory/main.jsonl", hit);
    let engine = repo.ready();
    let question = "which test in src/http/retry.rs covers `apply`, and does the ledger router book it\n\n\
        Customers were charged twice yesterday, the dashboard went red, alerts paged somebody at night, and the queue \
        grew until memory ran out on three machines.";
    let scores = |lists| {
        let ranking = engine.rank(question, Tuning { lists, decide: true }, 20);
        ranking.files.into_iter().map(|file| (file.path, file.score)).collect::<Vec<_>>()
    };
    // Vectors are not used for long questions; see `vectors.rs`.
    for (name, list) in Lists::EACH.iter().filter(|(name, _)| *name != "vectors") {
        assert_ne!(scores(Lists::ALL), scores(Lists::ALL.without(*list)), "{name}");
    }
}
