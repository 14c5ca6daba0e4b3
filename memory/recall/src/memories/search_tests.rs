//! A text in any script is stored, and found again by a part of it, by every search.

use std::fs;

use muninn_base::{Clock, RelPath};
use muninn_index::{Field, FileFacts, Snapshot, digest};
use muninn_notebooks::journal::{Draft, Journal, JournalSettings, SearchSettings};
use muninn_notebooks::personal::{EntryMetadata, Personal, SearchOptions};
use muninn_notebooks::wiki::{LinkStyle, PagePath, PageSearch, WikiFolder};
use muninn_repo_tools::BlobId;
use muninn_team::fixture::Fixture;
use muninn_team::records::MAIN;
use muninn_text::lexical::Tokenizer;
use muninn_text::lexical::script_texts::SCRIPTS;
use serde_json::json;

use crate::{Memories, RecallOptions};

/// Runs of scripts without spaces, of lengths that were dropped once, behind the texts of [`SCRIPTS`].
fn texts() -> Vec<(String, Vec<String>)> {
    let of_table = SCRIPTS.iter().map(|(_, text, parts)| {
        let parts = parts.iter().map(|part| (*part).to_owned()).collect();
        ((*text).to_owned(), parts)
    });
    let units = [("東西南北", "北東西"), ("あいうえ", "えあい"), ("หนึ่งสอง", "สองห"), ("가나다라", "라가나")];
    let runs = units.iter().flat_map(|(unit, part)| {
        [22, 64, 65, 1_000].map(|length| {
            let run: String = unit.chars().cycle().take(length).collect();
            (format!("{run}です"), vec![(*part).to_owned()])
        })
    });
    of_table.chain(runs).collect()
}

/// Asserts that `search` returns the number of a text for each of its parts.
fn assert_found(search: impl Fn(&str) -> Vec<String>, name: impl Fn(usize) -> String) {
    for (number, (text, parts)) in texts().iter().enumerate() {
        for part in parts {
            let found = search(part);
            assert!(found.contains(&name(number)), "{part} finds {text}: {found:?}");
        }
    }
}

#[test]
fn recall_finds_records_in_any_script() {
    let record = |(number, (text, _)): (usize, (String, Vec<String>))| {
        let id = format!("id{number}");
        json!({"id": id, "type": "learning", "text": text}).to_string()
    };
    let lines: Vec<String> = texts().into_iter().enumerate().map(record).collect();
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let memories = Memories::load(&repo.home());
    let search = |question: &str| -> Vec<String> {
        let options = RecallOptions { keep: 100, ..RecallOptions::default() };
        let recalled = memories.recall(question, &options).into_iter();
        recalled.filter_map(|recalled| Some(memories.get(recalled.doc)?.source.clone())).collect()
    };
    assert_found(search, |number| format!("id{number}"));
}

#[test]
fn recall_finds_knowledge_in_any_script() {
    let pages: Vec<(String, String)> = texts()
        .into_iter()
        .enumerate()
        .map(|(number, (text, _))| (format!(".muninn/knowledge/p{number}.md"), format!("# Page\n{text}\n")))
        .collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repo = Fixture::with(&pages);
    let memories = Memories::load(&repo.home());
    let search = |question: &str| -> Vec<String> {
        let options = RecallOptions { keep: 100, ..RecallOptions::default() };
        let recalled = memories.recall(question, &options).into_iter();
        recalled.filter_map(|recalled| Some(memories.get(recalled.doc)?.source.clone())).collect()
    };
    assert_found(search, |number| format!(".muninn/knowledge/p{number}.md:1-2"));
}

#[test]
fn pages_of_a_wiki_are_found_in_any_script() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (number, (text, _)) in texts().iter().enumerate() {
        fs::write(folder.path().join(format!("p{number}.md")), format!("{text}\n")).unwrap();
    }
    let wiki = WikiFolder::new(folder.path(), LinkStyle::Auto, state.path(), None).unwrap();
    let (search, pages) = (PageSearch::new(&wiki), wiki.pages());
    let search = |query: &str| -> Vec<String> {
        let found = search.find(query, &pages, 100).into_iter();
        found.map(|found| found.path.to_string()).collect()
    };
    assert_found(search, |number| format!("p{number}"));
}

#[test]
fn entries_of_a_journal_are_found_in_any_script() {
    let (repo, state) = (Fixture::with(&[("a.txt", "x\n")]), tempfile::tempdir().unwrap());
    repo.commit();
    let settings = JournalSettings { author: ("Ann".to_owned(), "ann@example.com".to_owned()), strict: false };
    let clock = Clock::fixed("2026-11-25T10:00:00Z".parse().unwrap());
    let journal = Journal::new(&repo.path(".git"), state.path(), settings, clock);
    let section = PagePath::new("scripts").unwrap();
    for (text, _) in texts() {
        let version = journal.section(&section).unwrap().version;
        let draft = Draft { text, ..Draft::default() };
        journal.write(&section, &draft, Some(version)).unwrap();
    }
    let settings = SearchSettings { max_results: 100, ..SearchSettings::default() };
    let search = |query: &str| -> Vec<String> {
        let found = journal.search("", query, None, &settings).unwrap().into_iter();
        found.map(|found| found.content.trim().to_owned()).collect()
    };
    let texts = texts();
    assert_found(search, |number| texts[number].0.clone());
}

#[test]
fn personal_memory_is_found_in_any_script() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::fixed("2026-03-10T12:00:00Z".parse().unwrap());
    let personal = Personal::new(directory.path(), clock);
    for (text, _) in texts() {
        personal.log("scripts", &text, EntryMetadata::default()).unwrap();
    }
    let options = SearchOptions { kind: None, since: None, limit: 100 };
    let search = |query: &str| -> Vec<String> {
        let found = personal.search(query, &options).unwrap().into_iter();
        found.map(|found| found.content).collect()
    };
    let texts = texts();
    assert_found(search, |number| format!("[scripts] {}", texts[number].0));
}

#[test]
fn code_is_found_in_any_script() {
    let mut tokenizer = Tokenizer::new();
    let files = texts().into_iter().enumerate().map(|(number, (text, _))| {
        let path = RelPath::new(&format!("src/f{number}.rs")).unwrap();
        let text = format!("/// {text}\nfn f{number}() {{}}\n");
        let facts = FileFacts {
            path: path.clone(),
            size: text.len() as u64,
            modified: 0,
            blob: BlobId::of(text.as_bytes()).unwrap(),
        };
        (facts, digest(&mut tokenizer, &path, &text))
    });
    let files: Vec<_> = files.collect();
    let snapshot = Snapshot::of_files(&mut Tokenizer::new(), files);
    // The files that have every concept of a question.
    let search = |question: &str| -> Vec<String> {
        let mut concepts = Vec::new();
        for word in muninn_text::lexical::words(question) {
            Tokenizer::new().each_concept(word.text, |mut terms| concepts.extend(terms.pop()));
        }
        let has = |number: usize, term: &str| {
            let found = snapshot.lookup(Field::Bodies, term).into_iter();
            let mut files = found.map(|posting| snapshot.file_of(muninn_text::lexical::DocId(posting.number)));
            files.any(|file| file == number)
        };
        let files = snapshot.files().filter(|(number, _)| concepts.iter().all(|term| has(*number, term)));
        files.map(|(_, file)| file.facts.path.to_string()).collect()
    };
    assert_found(search, |number| format!("src/f{number}.rs"));
}
