//! Packing knowledge: sections that apply to top-ranked files, and Metis documents.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use muninn_team::learn::decisions::Speaker;

use super::{Repo, ask, files};
use crate::{Engine, ItemKind, Limits, PriorContext, render};

const QUESTION: &str = "where is the expiry of a session cookie checked";
const ADR: &str = "---\nid: cookies\nlevel: adr\ntitle: \"Auth by signed cookies\"\nnumber: 3\nshort_code: \"PROJ-A-0003\"\ntags:\n  - \"#phase/decided\"\n---\n\n# ADR-3: Auth by signed cookies\n\nEach request carries its identity.\n\n## Decision\n\nNo session table: auth is the cookie's signature alone.\n";

/// The titles and reasons of the packed knowledge.
fn knowledge(engine: &Engine, question: &str) -> Vec<(String, String)> {
    let found = ask(engine, question);
    let items = found.items.into_iter().filter(|item| item.kind == ItemKind::Knowledge);
    items.map(|item| (item.title, item.why)).collect()
}

#[test]
fn a_section_that_applies_to_a_top_file_has_a_lower_threshold() {
    let rule = "# Clocks\n\nCompare an expiry with the monotonic clock only, and leave a minute of grace for skew.\n";
    for (front, lifted) in
        [("---\napplies_to: [src/session.rs]\n---\n", true), ("---\napplies_to: [tools/]\n---\n", false), ("", false)]
    {
        let repo = Repo::service();
        repo.write(".muninn/knowledge/clocks.md", format!("{front}{rule}"));
        let engine = repo.ready();
        let packed = knowledge(&engine, QUESTION);
        let clocks: Vec<_> = packed.iter().filter(|(title, _)| title == "Clocks").collect();
        assert_eq!(clocks.len(), usize::from(lifted), "{front:?}: {packed:?}");
        for (_, why) in clocks {
            assert_eq!(why, "matched: expiry; applies to src/session.rs");
        }
    }
}

#[test]
fn applies_to_lifts_nothing_for_an_off_topic_question() {
    let repo = Repo::service();
    let text = "---\napplies_to: [\"*\"]\n---\n# Grace\n\nLeave a minute of grace to a wedding, whatever the expiry.\n";
    repo.write(".muninn/knowledge/clocks.md", text);
    let engine = repo.ready();
    let question = "write a speech for the wedding of a user";
    let found = ask(&engine, question);
    assert!(found.items.is_empty(), "{:?}", files(&found));
}

#[test]
fn a_question_about_auth_packs_the_decision_with_its_code() {
    let repo = Repo::service();
    repo.write(".metis/adrs/001-cookies.md", ADR);
    let engine = repo.ready();
    let found = ask(&engine, "how is auth decided, by a session table or by the cookie signature");
    let decision = found.items.iter().find(|item| item.title.contains("Decision"));
    let decision = decision.unwrap_or_else(|| panic!("{:?}", files(&found)));
    assert_eq!(decision.kind, ItemKind::Knowledge);
    assert_eq!(decision.title, "ADR-3 (PROJ-A-0003): Auth by signed cookies, Decision");
    assert_eq!((decision.source.as_str(), decision.confidence), (".metis/adrs/001-cookies.md:15-17", Some(0.9)));
    let as_code = found.items.iter().filter(|item| item.kind == ItemKind::Code);
    let twice = as_code.filter(|item| item.source.starts_with(".metis/")).count();
    assert_eq!(twice, 0, "a knowledge section is not packed as a file, too");
}

#[test]
fn a_conflict_is_packed_with_both_sides_or_not_at_all() {
    let learning = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"type\":\"learning\",\"text\":\"{text}\"}}\n");
    let found_by = |by: &str| {
        format!("{{\"id\":\"C{by}\",\"type\":\"conflict\",\"left\":\"1\",\"right\":\"2\",\"by\":\"{by}\"}}\n")
    };
    let [rules, model] = ["rules", "model"].map(found_by);
    for (found_by, mark, relation) in [
        (model.clone(), " (disputed)", "contradicted by"),
        (rules.clone(), " (perhaps disputed)", "may contradict"),
        (rules + &model, " (disputed)", "contradicted by"),
    ] {
        let main =
            [learning("1", "Retries of the ledger use jitter"), learning("2", "No jitter there, ever"), found_by];
        let repo = Repo::with(&[("src/lib.rs", "fn main() {}\n"), (".muninn/memory/main.jsonl", &main.concat())]);
        repo.commit("begin", &[]);
        let engine = repo.ready();
        let found = ask(&engine, "do retries of the ledger use jitter?");
        let memories: Vec<_> = found.items.iter().filter(|item| item.kind == ItemKind::Memory).collect();
        let sources: Vec<_> = memories.iter().map(|item| item.source.as_str()).collect();
        assert_eq!(sources, ["1", "2"], "{found:?}");
        for (item, other) in memories.iter().zip(["2", "1"]) {
            assert!(item.title.ends_with(mark), "{}", item.title);
            assert!(item.why.contains(&format!("{relation} {other}")), "{}", item.why);
        }
    }
}

/// The texts of the packed memories.
fn remembered(engine: &Engine, question: &str) -> Vec<String> {
    let found = ask(engine, question);
    let items = found.items.into_iter().filter(|item| item.kind == ItemKind::Memory);
    items.map(|item| item.text).collect()
}

#[test]
fn a_memory_about_a_file_is_packed_if_the_file_is_the_subject() {
    let attached_by = |author: &str, file: &str| {
        let text = "Marta wants to see each edit before the expiry";
        let sources = format!("[{{\"path\":\"{file}\",\"blob\":\"0\"}}]");
        let line =
            format!("{{\"id\":\"1\",\"type\":\"learning\",\"text\":\"{text}\",{author}\"sources\":{sources}}}\n");
        let repo = Repo::service();
        repo.write(".muninn/memory/main.jsonl", line);
        let engine = repo.ready();
        (repo, engine)
    };
    let attached = |file| attached_by("", file);
    let named = "split src/session.rs in two modules";
    let (_repo, engine) = attached("src/session.rs");
    assert_eq!(remembered(&engine, named).len(), 1, "the question names the file");
    assert_eq!(remembered(&engine, QUESTION).len(), 1, "it is the best file, and a word is common");
    assert!(remembered(&engine, "write a speech for a wedding").is_empty());
    let (_repo, engine) = attached("tools/import_orders.py");
    assert!(remembered(&engine, named).is_empty());
    for speaker in [Speaker::User, Speaker::Agent] {
        let author = format!("\"author\":\"{}\",", speaker.author());
        let (_repo, engine) = attached_by(&author, "src/session.rs");
        assert!(remembered(&engine, named).is_empty(), "nobody attached it: {speaker:?}");
    }
}

#[test]
fn newer_memory_about_the_same_subject_accompanies_the_older_one() {
    let learning = |id: &str, text: &str| {
        format!("{{\"id\":\"{id}\",\"ts\":\"2026-01-0{id}\",\"type\":\"learning\",\"text\":\"{text}\"}}\n")
    };
    let repo = Repo::service();
    let older = learning("1", "Orders are exported nightly to the OpenAI embedding API of the vendor");
    let newer = learning("2", "Embeddings come from a local library, and no vendor API");
    let other = learning("3", "Marta wants to see each edit before lunch");
    repo.write(".muninn/memory/main.jsonl", [older, newer, other].concat());
    let engine = repo.ready();
    let found = ask(&engine, "are orders exported nightly to the OpenAI embedding service");
    let memories = found.items.iter().filter(|item| item.kind == ItemKind::Memory);
    let memories: Vec<(&str, &str)> = memories.map(|item| (&*item.source, &*item.why)).collect();
    assert_eq!(memories.len(), 2, "{memories:?}");
    assert_eq!(memories[0].0, "1");
    assert_eq!(memories[1], ("2", "newer than 1 and similar to it"));
}

/// The features of the memory that recall ranks first.
fn features(repo: &Repo, question: &str) -> HashMap<&'static str, f32> {
    let mut all = repo.ready().memory_features(question);
    assert!(!all.is_empty(), "nothing is recalled");
    all.swap_remove(0).1.into_iter().collect()
}

#[test]
fn abbreviation_and_the_language_go_are_evidence() {
    let repo = Repo::service();
    let learning = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"type\":\"learning\",\"text\":\"{text}\"}}\n");
    let lines = [
        learning("1", "Close a pull request that nobody has updated for a month"),
        learning("2", "The minimum version for this project is Go 1.12"),
        learning("3", "Marta wants to see each edit before lunch"),
    ];
    repo.write(".muninn/memory/main.jsonl", lines.concat());
    assert_eq!(
        remembered(&repo.ready(), "How stale must a PR be before a maintainer closes it?"),
        ["Close a pull request that nobody has updated for a month"]
    );
    assert!(features(&repo, "Which Go do I need?")["evidence"] > 0.0);
}

#[test]
fn other_side_of_a_conflict_is_no_rival() {
    let learning = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"type\":\"learning\",\"text\":\"{text}\"}}\n");
    let sides = [
        learning("1", "Exports of orders run at midnight"),
        learning("2", "Exports of orders run at noon"),
        learning("3", "Marta wants to see each edit before lunch"),
    ]
    .concat();
    let conflict = "{\"id\":\"C\",\"type\":\"conflict\",\"left\":\"1\",\"right\":\"2\"}\n";
    let lead = |main: &str| {
        let repo = Repo::service();
        repo.write(".muninn/memory/main.jsonl", main);
        features(&repo, "when do exports of orders run")["lead"]
    };
    let (rivals, opponents) = (lead(&sides), lead(&[&sides, conflict].concat()));
    assert!(rivals < 0.1, "two memories fit alike: {rivals}");
    assert!(opponents > 0.2, "nothing else fits: {opponents}");
}

#[test]
fn places_are_unknown_in_a_repository_of_few_files_and_where_the_question_leads_to_none() {
    let main = "{\"id\":\"1\",\"type\":\"learning\",\"text\":\"The expiry of a session cookie is one day\"}\n";
    let places = |repo: Repo, question: &str| {
        repo.write(".muninn/memory/main.jsonl", main);
        features(&repo, question)["places"]
    };
    let unknown = 0.75;
    let few = Repo::with(&[("src/session.rs", "fn expiry() {}\n"), ("src/lib.rs", "mod session;\n")]);
    assert_eq!(places(few, QUESTION), unknown);
    assert_eq!(places(Repo::service(), "wedding speech, one day"), unknown);
    let known = places(Repo::service(), QUESTION);
    assert!((0.0..=1.0).contains(&known) && known != unknown, "{known}");
}

#[test]
fn likely_memory_is_named_in_a_line_for_a_client_that_can_recall_it() {
    let repo = Repo::service();
    let text =
        "Exports of orders run at midnight because the warehouse is locked until then, and nobody may change that";
    let line = format!("{{\"id\":\"01JH0000000000000000EXPORT\",\"type\":\"learning\",\"text\":\"{text}\"}}\n");
    repo.write(".muninn/memory/main.jsonl", line);
    let engine = repo.ready();
    let mut prior = PriorContext::default();
    let hints = |prior: &PriorContext| {
        let limits = Limits { tokens: 4_000, deadline: Instant::now() + Duration::from_secs(60) };
        let found = engine.explore_after(prior, "is the warehouse open at night", &limits, None);
        found.items.into_iter().filter(|item| item.kind == ItemKind::Hint).collect::<Vec<_>>()
    };
    prior.allow_hints();
    let threshold = (1..100u8).map(|step| f32::from(step) / 100.0).find(|threshold| {
        engine.set_threshold(Some(*threshold));
        !hints(&prior).is_empty()
    });
    assert!(threshold.is_some_and(|threshold| threshold > 0.1), "{threshold:?}");
    let named = hints(&prior);
    let words = "Exports of orders run at midnight because the warehouse is locked until then, and nobody ...";
    assert_eq!(named[0].text, words);
    let block = render::block(&named);
    assert!(block.contains(&format!("\n- 00EXPORT: {words}\n")), "{block}");
    assert!(hints(&PriorContext::default()).is_empty());
    prior.add_block(&block);
    assert!(hints(&prior).is_empty(), "it was named before");
}
