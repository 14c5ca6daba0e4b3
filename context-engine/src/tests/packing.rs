//! Budget, order and deadline of packs.

use std::time::Instant;

use super::{Repo, ask, assert_spans_are_on_disk, files, limits};
use crate::{Completeness, IndexStatus, ItemKind, Limits, render, tokens};

const QUESTIONS: &[&str] = &[
    "how does the ledger replay bookings and what is an overdraft",
    "how is a session cookie signed and verified",
    "how does the payment provider retry with backoff",
    "how are orders imported from the csv export",
];

#[test]
fn the_block_never_costs_more_than_the_budget() {
    let repo = Repo::service();
    let engine = repo.ready();
    for budget in [0, 1, 50, 119, 120, 150, 200, 300, 500, 1000, 2000, 8000] {
        for question in QUESTIONS {
            let found = engine.explore(question, &limits(budget));
            let cost = tokens::count(&render::block(&found.items));
            assert_eq!(found.tokens, cost);
            assert!(cost <= budget, "{cost} > {budget}");
            assert!(!found.items.is_empty() || found.reason.is_some());
            assert!(budget < 500 || !found.items.is_empty(), "{question}: {:?}", found.reason);
            assert_spans_are_on_disk(repo.root(), &found);
        }
    }
}

#[test]
fn definition_that_does_not_fit_is_shown_by_its_signature_and_the_lines_that_match() {
    let steps: String = (0..90).map(|at| format!("    let step_{at} = advance(frame, {at});\n")).collect();
    let text = format!(
        "/// Rebuilds the sextant.\npub fn rebuild_sextant(frame: &Frame) {{\n{steps}    calibrate_zenith(frame);\n}}\n"
    );
    let repo = Repo::with(&[("src/sextant.rs", &text), ("src/other.rs", "pub fn other() {}\n")]);
    let question = "why does rebuild_sextant calibrate the zenith of a frame";
    let found = repo.ready().explore(question, &limits(350));
    let shown: String = found.items.iter().map(|item| &*item.text).collect();
    assert!(shown.contains("pub fn rebuild_sextant") && shown.contains("calibrate_zenith"), "{shown}");
    assert!(found.items.len() == 2 && shown.lines().count() < 20, "{shown}");
    assert_spans_are_on_disk(repo.root(), &found);
}

#[test]
fn the_same_question_gives_the_same_bytes() {
    let repo = Repo::service();
    let (one, two) = (repo.ready(), repo.ready());
    two.refresh(&()).unwrap();
    for question in QUESTIONS {
        let block = render::block(&ask(&one, question).items);
        assert_eq!(block, render::block(&ask(&one, question).items));
        assert_eq!(block, render::block(&ask(&two, question).items));
    }
}

#[test]
fn memory_and_knowledge_come_first_with_their_sources() {
    let repo = Repo::service();
    let found = ask(&repo.ready(), "does the payment provider need an idempotency key for retries");
    let memory = &found.items[0];
    assert_eq!((memory.kind, memory.source.as_str()), (ItemKind::Memory, "01JH0000000000000000000001"));
    assert_eq!((memory.date.as_deref(), memory.confidence), (Some("2026-01-07T10:00:00Z"), Some(0.8)));
    assert!(found.items.iter().any(|item| item.kind == ItemKind::Code && item.source.starts_with("src/http/retry.rs")));
    let knowledge = ask(&repo.ready(), "what do error responses look like, which fields");
    assert_eq!(knowledge.items[0].kind, ItemKind::Knowledge);
    assert_eq!(knowledge.items[0].source, ".muninn/knowledge/errors.md:7-10");
}

#[test]
fn an_item_has_its_language_reason_and_score() {
    let repo = Repo::service();
    let found = ask(&repo.ready(), "where does `verify_cookie` check the expiry");
    let item = found.items.iter().find(|item| item.source.starts_with("src/session.rs")).unwrap();
    assert_eq!(item.language, "rust");
    assert!(item.why.contains("defines: verify_cookie"), "{}", item.why);
    assert!(item.text.contains("fn verify_cookie") && item.tokens > 0 && item.score > 0.0);
    assert_eq!(found.completeness, Completeness::Full);
    assert_eq!(found.question_terms[0], "verify_cookie");
}

#[test]
fn tests_rank_below_sources_unless_the_question_is_about_tests() {
    let repo = Repo::service();
    let engine = repo.ready();
    assert_eq!(files(&ask(&engine, "how is the ledger replayed into balances"))[0], "src/ledger.rs");
    assert_eq!(files(&ask(&engine, "which test covers replaying the ledger twice"))[0], "tests/ledger_replay.rs");
}

#[test]
fn a_name_that_only_a_test_defines_is_found_in_it() {
    let repo = Repo::with(&[(
        "tests/hooks.rs",
        "#[test]\nfn spawned() {}\n\nfn ledger_scale_edit_9() -> usize {\n    9\n}\n",
    )]);
    // Other files have the parts of the name in their paths and many times in their text.
    for number in 0..4 {
        let text = "pub fn total() {\n    ledger(scale, edit, ledger, scale, edit);\n}\n";
        repo.write(&format!("src/ledger_scale_edit_{number}.rs"), text);
    }
    for number in 0..200 {
        repo.write(&format!("src/other_{number}.rs"), "pub fn nothing() {}\n");
    }
    let engine = repo.ready();
    let question = "what does `ledger_scale_edit_9` return?";
    assert_eq!(files(&ask(&engine, question))[0], "tests/hooks.rs");
    // A definition in source code ranks above one in a test, although it matches less.
    let body = "    nothing();\n".repeat(20);
    repo.write("src/z.rs", format!("pub fn ledger_scale_edit_9() -> usize {{\n{body}    9\n}}\n"));
    engine.refresh(&()).unwrap();
    assert_eq!(files(&ask(&engine, question))[0], "src/z.rs");
}

#[test]
fn a_passed_deadline_gives_no_items_and_a_reason() {
    let repo = Repo::service();
    for engine in [repo.ready(), repo.engine()] {
        let found = engine.explore(QUESTIONS[0], &Limits { tokens: 4000, deadline: Instant::now() });
        assert!(found.items.is_empty());
        assert_eq!(found.reason.as_deref(), Some("deadline passed"));
    }
}

#[test]
fn the_status_follows_the_index() {
    let repo = Repo::service();
    let engine = repo.engine();
    assert_eq!(engine.status(), IndexStatus::Empty);
    assert_eq!(ask(&engine, QUESTIONS[0]).completeness, Completeness::Partial);
    let report = engine.refresh(&()).unwrap();
    let ready = |settled| IndexStatus::Ready {
        files: report.files,
        chunks: report.chunks,
        memories: report.memories,
        unembedded: 0,
        settled,
    };
    assert_eq!(engine.status(), ready(false));
    engine.embed(&|| true, &|_, _| ());
    assert_eq!(engine.status(), ready(true));
    assert_eq!((report.files, report.memories), (8, 3));
}
