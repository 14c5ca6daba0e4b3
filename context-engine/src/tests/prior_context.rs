//! Text that a conversation contains is not packed again, unless it changed since.

use muninn_base::RelPath;

use super::{Repo, ask, files, limits};
use crate::{Engine, Exploration, PriorContext, render};

const QUESTION: &str = "how does the ledger replay bookings and what is an overdraft";

fn ask_after(engine: &Engine, prior: &PriorContext, question: &str) -> Exploration {
    engine.explore_after(prior, question, &limits(4000), None)
}

fn sources(exploration: &Exploration) -> Vec<&str> {
    exploration.items.iter().map(|item| item.source.as_str()).collect()
}

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

/// The conversation after an exploration was packed.
fn after(exploration: &Exploration) -> PriorContext {
    let mut prior = PriorContext::default();
    prior.add_block(&render::block(&exploration.items));
    prior
}

#[test]
fn packed_items_are_not_packed_again() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut prior = PriorContext::default();
    let mut packed: Vec<String> = Vec::new();
    // Each turn packs other items, until nothing is left.
    let last = loop {
        let found = ask_after(&engine, &prior, QUESTION);
        if found.items.is_empty() {
            break found;
        }
        for item in &found.items {
            let entry = render::entry(item);
            assert!(!packed.contains(&entry), "{entry}");
            packed.push(entry);
        }
        prior.add_block(&render::block(&found.items));
        assert!(packed.len() < 100);
    };
    assert!(packed.len() > 1);
    assert_eq!(last.reason.as_deref(), Some("what fits is already in the conversation"));
    assert_eq!(last.tokens, 0);
}

#[test]
fn a_block_of_other_files_changes_nothing() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut elsewhere = PriorContext::default();
    elsewhere.add_block("<muninn-context>\n\n## src/other.rs:1-900 @0123456789\n```rust\n```\n</muninn-context>\n");
    let found = ask_after(&engine, &elsewhere, QUESTION);
    assert_eq!(found.items, ask(&engine, QUESTION).items);
}

#[test]
fn a_file_that_changed_is_packed_again() {
    let repo = Repo::service();
    let engine = repo.ready();
    let first = ask(&engine, QUESTION);
    assert_eq!(files(&first)[0], "src/ledger.rs");
    let text = std::fs::read_to_string(repo.path("src/ledger.rs")).unwrap();
    let mut read = PriorContext::default();
    read.add_read(vec![path("src/ledger.rs")], text.clone());
    for prior in [&after(&first), &read] {
        let again = ask_after(&engine, prior, QUESTION);
        assert!(!files(&again).contains(&"src/ledger.rs"), "{:?}", sources(&again));
    }
    // Other words on the line that matters.
    let at = text.find("overdraft").unwrap();
    repo.write("src/ledger.rs", format!("{}overdraft overdrawn {}", &text[..at], &text[at..]));
    engine.refresh(&()).unwrap();
    for prior in [&after(&first), &read] {
        let again = ask_after(&engine, prior, QUESTION);
        assert!(files(&again).contains(&"src/ledger.rs"), "{:?}", sources(&again));
    }
}

#[test]
fn the_unread_chunks_of_a_file_are_packed() {
    let repo = Repo::service();
    let engine = repo.ready();
    let first = ask(&engine, QUESTION);
    let whole: Vec<_> = first.items.iter().filter(|item| item.source.starts_with("src/ledger.rs")).collect();
    assert!(!whole.is_empty());
    let text = std::fs::read_to_string(repo.path("src/ledger.rs")).unwrap();
    let (first_line, lines) = (whole[0].first_line as usize, whole[0].text.lines().count());
    assert!(lines > 4);
    // A tool that numbers lines, and only the first half of the best span.
    let half = text.lines().enumerate().skip(first_line - 1).take(lines / 2);
    let numbered: String = half.map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect();
    let mut prior = PriorContext::default();
    prior.add_read(vec![path("src/ledger.rs")], numbered);
    let again = ask_after(&engine, &prior, QUESTION);
    assert!(files(&again).contains(&"src/ledger.rs"), "{:?}", sources(&again));
    let mut all = PriorContext::default();
    all.add_read(vec![path("src/ledger.rs")], text);
    let others = ask_after(&engine, &all, QUESTION);
    assert!(!files(&others).contains(&"src/ledger.rs"), "{:?}", sources(&others));
}

#[test]
fn a_memory_is_packed_once_and_again_after_a_correction() {
    let repo = Repo::service();
    let engine = repo.ready();
    let question = "what do error responses look like, which fields";
    let first = ask(&engine, question);
    assert_eq!(first.items[0].source, ".muninn/knowledge/errors.md:7-10");
    let prior = after(&first);
    let again = ask_after(&engine, &prior, question);
    assert!(!sources(&again).contains(&".muninn/knowledge/errors.md:7-10"));
    let text = std::fs::read_to_string(repo.path(".muninn/knowledge/errors.md")).unwrap();
    let line = text.lines().nth(8).unwrap();
    let corrected = text.replace(line, &format!("{line} The response has fields for all errors."));
    repo.write(".muninn/knowledge/errors.md", corrected);
    let corrected = ask_after(&engine, &prior, question);
    assert!(
        sources(&corrected).iter().any(|source| source.starts_with(".muninn/knowledge/errors.md:")),
        "{:?}",
        sources(&corrected)
    );
}

#[test]
fn turn_that_refers_back_is_searched_with_the_question_before_it() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut prior = PriorContext::default();
    let turn = "and is that left alone at the start, too?";
    let alone = ask_after(&engine, &prior, turn);
    assert!(alone.items.is_empty(), "{:?}", sources(&alone));
    prior.set_question(QUESTION.to_owned());
    let found = ask_after(&engine, &prior, turn);
    assert!(!found.items.is_empty(), "{:?}", found.reason);
    for turn in ["does that rhyme with a haiku about penguins?", "thanks, that helps"] {
        let found = ask_after(&engine, &prior, turn);
        assert!(found.items.is_empty(), "{turn}: {:?}", sources(&found));
    }
}
