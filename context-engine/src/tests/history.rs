//! Files that only history finds.

use super::{Repo, ask};
use crate::{Lists, Tuning};

fn list(name: &str) -> Lists {
    Lists::EACH.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The ranked files, best first, without some lists.
fn found(repo: &Repo, question: &str, without: &[&str]) -> Vec<String> {
    let lists = without.iter().fold(Lists::ALL, |lists, name| lists.without(list(name)));
    let tuning = Tuning { lists, decide: false };
    let ranking = repo.ready().rank(question, tuning, 10);
    ranking.files.iter().map(|file| file.path.to_string()).collect()
}

#[test]
fn a_co_changed_file_is_found() {
    let repo = Repo::with(&[]);
    repo.commit("begin", &[("lexer.rs", "fn lexer() {}\n"), ("zoo.rs", "fn giraffe() {}\n")]);
    for version in ["one", "two", "three"] {
        let lexer = format!("fn lexer() {{ {version}() }}\n");
        repo.commit(version, &[("lexer.rs", lexer.as_str()), ("other.rs", version)]);
    }
    let question = "why does the lexer hang";
    assert_eq!(found(&repo, question, &["messages"]), ["lexer.rs", "other.rs", "zoo.rs"]);
    assert_eq!(found(&repo, question, &["messages", "cochange"]), ["lexer.rs"]);
}

#[test]
fn a_commit_message_finds_the_changed_files() {
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
    repo.commit("begin", &[("lexer.rs", "fn lexer() {}\n"), ("zoo.rs", "fn giraffe() {}\n")]);
    let engine = repo.ready();
    let without = Lists::ALL.without(list("cochange"));
    let tuning = Tuning { lists: without, decide: false };
    let found = || engine.rank("the lexer leaves quotation marks", tuning, 10).files.len();
    assert_eq!(found(), 1);
    repo.commit("Escape quotation marks", &[("zoo.rs", "fn lion() {}\n")]);
    engine.refresh(&()).unwrap();
    assert_eq!(found(), 2);
}

/// The context hits of one session: the words of its question that the repository contains, and the files it used.
const ONE_SESSION: &str = r#"{"id":"1","type":"context_hit","terms":["lexer","quotation","marks"],"files":["zoo.rs"],"relevance":0.95}
{"id":"2","type":"context_hit","terms":["lexer","quotation","marks"],"files":["lexer.rs"],"relevance":0.5}
"#;

#[test]
fn a_similar_question_finds_the_files_of_an_earlier_session() {
    let repo = Repo::with(&[
        ("lexer.rs", "fn lexer() { quotation() }\n"),
        ("marks.rs", "/// Quotation marks of the lexer.\nfn marks() {}\n"),
        ("zoo.rs", "fn giraffe() {}\n"),
    ]);
    repo.commit("begin", &[]);
    // Words that the repository lacks make no difference.
    let question = "Persephone asks twice why the lexer leaves quotation marks unescaped, roughly";
    let best = || found(&repo, question, &["cochange", "messages"]);
    assert!(!best().contains(&"zoo.rs".to_owned()));
    repo.write(".muninn/memory/main.jsonl", ONE_SESSION);
    let place = |name: &str| best().iter().position(|path| path == name);
    assert!(place("zoo.rs").is_some(), "{:?}", best());
    assert!(place("lexer.rs") < place("zoo.rs"), "it has the words as well: {:?}", best());
    let pack = ask(&repo.ready(), question);
    let why = |name: &str| {
        let mut items = pack.items.iter();
        items.find(|item| item.source.starts_with(name)).map(|item| item.why.clone())
    };
    assert!(why("lexer.rs").unwrap().ends_with("earlier sessions worked with it"), "{pack:?}");
}

#[test]
fn hits_of_two_sessions_for_similar_questions_add_up() {
    let repo = Repo::with(&[
        ("lexer.rs", "fn lexer() { quotation() }\n"),
        ("marks.rs", "/// Quotation marks of the lexer.\nfn marks() {}\n"),
        ("zoo.rs", "fn giraffe() {}\n"),
    ]);
    repo.commit("begin", &[]);
    let hit = |id: &str, terms: &str, session: &str| {
        format!(
            r#"{{"id":"{id}","type":"context_hit","terms":[{terms}],"files":["zoo.rs"],"relevance":0.5,"session":"{session}"}}"#
        ) + "\n"
    };
    let one = hit("1", r#""lexer","quotation","marks""#, "ada");
    let other = hit("2", r#""lexer","marks""#, "ben");
    let elsewhere = hit("3", r#""giraffe""#, "eve");
    let score = |main: &[&str]| {
        repo.write(".muninn/memory/main.jsonl", main.concat());
        let tuning = Tuning { lists: Lists::ALL.without(list("cochange")).without(list("messages")), decide: false };
        let ranking = repo.ready().rank("why does the lexer leave quotation marks", tuning, 10);
        let mut files = ranking.files.iter();
        files.find(|file| file.path.as_str() == "zoo.rs").map_or(0.0, |file| file.score)
    };
    let (of_one, of_other, of_both) = (score(&[&one]), score(&[&other]), score(&[&one, &other]));
    assert!(of_one > 0.0 && of_other > 0.0 && of_both > of_one.max(of_other), "{of_one} and {of_other} make {of_both}");
    assert_eq!(score(&[&elsewhere]), 0.0);
    assert_eq!(score(&[&one, &one]), of_one, "a duplicated line is one hit");
}
