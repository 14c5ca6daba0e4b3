//! Files that no word leads to, and history does.

use super::Repo;
use crate::{Lists, Tuning};

fn list(name: &str) -> Lists {
    Lists::EACH.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The files that fit, best first, without some lists.
fn found(repo: &Repo, question: &str, without: &[&str]) -> Vec<String> {
    let lists = without.iter().fold(Lists::ALL, |lists, name| lists.without(list(name)));
    let tuning = Tuning { lists, decide: false };
    let ranking = repo.ready().rank(question, tuning, 10);
    ranking.files.iter().map(|file| file.path.to_string()).collect()
}

#[test]
fn a_file_that_changes_along_is_found() {
    let repo = Repo::with(&[]);
    repo.commit(
        "begin",
        &[("lexer.rs", "fn lexer() {}\n"), ("zoo.rs", "fn giraffe() {}\n")],
    );
    for version in ["one", "two", "three"] {
        let lexer = format!("fn lexer() {{ {version}() }}\n");
        repo.commit(version, &[("lexer.rs", lexer.as_str()), ("other.rs", version)]);
    }
    let question = "why does the lexer hang";
    assert_eq!(
        found(&repo, question, &["messages"]),
        ["lexer.rs", "other.rs", "zoo.rs"]
    );
    assert_eq!(found(&repo, question, &["messages", "cochange"]), ["lexer.rs"]);
}

#[test]
fn a_message_leads_to_what_was_changed() {
    let repo = Repo::with(&[]);
    repo.commit("begin", &[("lexer.rs", "fn lexer() {}\n")]);
    repo.commit("Escape quotation marks", &[("zoo.rs", "fn giraffe() {}\n")]);
    let question = "the lexer leaves quotation marks unescaped";
    assert_eq!(found(&repo, question, &["cochange"]), ["lexer.rs", "zoo.rs"]);
    assert_eq!(found(&repo, question, &["cochange", "messages"]), ["lexer.rs"]);
}

#[test]
fn a_commit_is_seen_by_the_next_refresh() {
    let repo = Repo::with(&[]);
    repo.commit(
        "begin",
        &[("lexer.rs", "fn lexer() {}\n"), ("zoo.rs", "fn giraffe() {}\n")],
    );
    let engine = repo.ready();
    let without = Lists::ALL.without(list("cochange"));
    let tuning = Tuning {
        lists: without,
        decide: false,
    };
    let found = || engine.rank("the lexer leaves quotation marks", tuning, 10).files.len();
    assert_eq!(found(), 1);
    repo.commit("Escape quotation marks", &[("zoo.rs", "fn lion() {}\n")]);
    engine.refresh(&()).unwrap();
    assert_eq!(found(), 2);
}
