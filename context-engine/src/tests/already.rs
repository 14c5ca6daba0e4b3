//! What a conversation holds is not packed again, and what changed since is.

use muninn_repo_tools::RelPath;

use super::{Repo, ask, files, limits};
use crate::{Engine, Exploration, PriorContext, render};

const QUESTION: &str = "how does the ledger replay bookings and what is an overdraft";

fn ask_beside(engine: &Engine, already: &PriorContext, question: &str) -> Exploration {
    engine.explore_after(already, question, &limits(4000))
}

fn sources(exploration: &Exploration) -> Vec<&str> {
    exploration.items.iter().map(|item| item.source.as_str()).collect()
}

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

/// After an exploration was packed.
fn after(exploration: &Exploration) -> PriorContext {
    let mut already = PriorContext::default();
    already.add_block(&render::block(&exploration.items));
    already
}

#[test]
fn what_was_packed_is_not_packed_again() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut already = PriorContext::default();
    let mut packed: Vec<String> = Vec::new();
    // Turn by turn something else, until there is nothing left.
    let last = loop {
        let found = ask_beside(&engine, &already, QUESTION);
        if found.items.is_empty() {
            break found;
        }
        for item in &found.items {
            let entry = render::entry(item);
            assert!(!packed.contains(&entry), "{entry}");
            packed.push(entry);
        }
        already.add_block(&render::block(&found.items));
        assert!(packed.len() < 100);
    };
    assert!(packed.len() > 1);
    assert_eq!(last.reason.as_deref(), Some("what fits is already in the conversation"));
    assert_eq!(last.tokens, 0);
}

#[test]
fn nothing_held_changes_nothing() {
    let repo = Repo::service();
    let engine = repo.ready();
    let mut elsewhere = PriorContext::default();
    elsewhere.add_block("<muninn-context>\n\n## src/other.rs:1-900 @0123456789\n```rust\n```\n</muninn-context>\n");
    let held = ask_beside(&engine, &elsewhere, QUESTION);
    assert_eq!(held.items, ask(&engine, QUESTION).items);
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
    for already in [&after(&first), &read] {
        let again = ask_beside(&engine, already, QUESTION);
        assert!(!files(&again).contains(&"src/ledger.rs"), "{:?}", sources(&again));
    }
    // Other words on the line that matters.
    let at = text.find("overdraft").unwrap();
    repo.write(
        "src/ledger.rs",
        format!("{}overdraft overdrawn {}", &text[..at], &text[at..]),
    );
    engine.refresh(&()).unwrap();
    for already in [&after(&first), &read] {
        let again = ask_beside(&engine, already, QUESTION);
        assert!(files(&again).contains(&"src/ledger.rs"), "{:?}", sources(&again));
    }
}

#[test]
fn the_other_chunks_of_a_file_that_was_read_in_part_still_come() {
    let repo = Repo::service();
    let engine = repo.ready();
    let first = ask(&engine, QUESTION);
    let whole: Vec<_> = first
        .items
        .iter()
        .filter(|item| item.source.starts_with("src/ledger.rs"))
        .collect();
    assert!(!whole.is_empty());
    let text = std::fs::read_to_string(repo.path("src/ledger.rs")).unwrap();
    let (first_line, lines) = (whole[0].first_line as usize, whole[0].text.lines().count());
    assert!(lines > 4);
    // A tool that numbers lines, and only the first half of the best span.
    let half = text.lines().enumerate().skip(first_line - 1).take(lines / 2);
    let numbered: String = half.map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect();
    let mut already = PriorContext::default();
    already.add_read(vec![path("src/ledger.rs")], numbered);
    let again = ask_beside(&engine, &already, QUESTION);
    assert!(files(&again).contains(&"src/ledger.rs"), "{:?}", sources(&again));
    let mut all = PriorContext::default();
    all.add_read(vec![path("src/ledger.rs")], text);
    let others = ask_beside(&engine, &all, QUESTION);
    assert!(!files(&others).contains(&"src/ledger.rs"), "{:?}", sources(&others));
}

#[test]
fn a_memory_comes_once_and_again_when_it_was_corrected() {
    let repo = Repo::service();
    let engine = repo.ready();
    let question = "what do error responses look like, which fields";
    let first = ask(&engine, question);
    assert_eq!(first.items[0].source, ".muninn/knowledge/errors.md:7-10");
    let already = after(&first);
    let again = ask_beside(&engine, &already, question);
    assert!(!sources(&again).contains(&".muninn/knowledge/errors.md:7-10"));
    let text = std::fs::read_to_string(repo.path(".muninn/knowledge/errors.md")).unwrap();
    let line = text.lines().nth(8).unwrap();
    let corrected = text.replace(line, &format!("{line} The response has fields for all errors."));
    repo.write(".muninn/knowledge/errors.md", corrected);
    let corrected = ask_beside(&engine, &already, question);
    assert!(
        sources(&corrected)
            .iter()
            .any(|source| source.starts_with(".muninn/knowledge/errors.md:")),
        "{:?}",
        sources(&corrected)
    );
}
