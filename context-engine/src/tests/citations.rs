//! Memories that cite places, after the places have changed.

use muninn_base::Clock;
use muninn_repo_tools::Worktree;
use muninn_team::citations::{Citation, CitationState, Place};
use muninn_team::records::{Body, MAIN, Origin, Record, Source, kinds};

use super::{Repo, ask};
use crate::{Citations, Engine, ItemKind, render};

/// Lines of one definition.
const LENGTH: usize = 4;
const DEFINITIONS: usize = 8;
const NOTE: &str = "The expiry of a session cookie is compared with the monotonic clock";

/// A file of definitions, the last of which occurs twice.
fn file(name: &str) -> Vec<String> {
    let definition = |at: usize| {
        [format!("fn {name}_{at}(value: u32) -> u32 {{"), format!("    value + {at}"), "}".to_owned(), String::new()]
    };
    (0..DEFINITIONS).chain([DEFINITIONS - 1]).flat_map(definition).collect()
}

fn cite(repo: &Repo, place: &str) -> Citation {
    Citation::of(&Worktree::discover(repo.root()).unwrap(), Place::parse(place).unwrap()).unwrap()
}

fn state(engine: &Engine, citation: &Citation) -> CitationState {
    engine.refresh(&()).unwrap();
    engine.with_citations(|citations: &Citations<'_>| citations.state(citation))
}

/// An edit of a cited place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    LinesBefore,
    OtherDirectory,
    OtherName,
    Indented,
    Reverted,
    LineChanged,
    LineAdded,
    LinesDeleted,
    CopyChanged,
    FileDeleted,
}

const EDITS: [Edit; 10] = [
    Edit::LinesBefore,
    Edit::OtherDirectory,
    Edit::OtherName,
    Edit::Indented,
    Edit::Reverted,
    Edit::LineChanged,
    Edit::LineAdded,
    Edit::LinesDeleted,
    Edit::CopyChanged,
    Edit::FileDeleted,
];

#[test]
fn no_changed_or_deleted_place_counts_as_current() {
    let repo = Repo::with(&[("README.md", "# Edits\n")]);
    let engine = repo.engine();
    for case in 0..200 {
        let edit = EDITS[case % EDITS.len()];
        let at = if edit == Edit::CopyChanged { DEFINITIONS - 1 } else { case / EDITS.len() % (DEFINITIONS - 1) };
        let [path, renamed, elsewhere] = ["src/a.rs", "src/b.rs", "lib/a.rs"];
        for other in [renamed, elsewhere] {
            std::fs::remove_file(repo.path(other)).ok();
        }
        let before = file(&format!("case{case}"));
        let write = |path: &str, lines: &[String]| repo.write(path, lines.join("\n"));
        write(path, &before);
        let (first, last) = (at * LENGTH, at * LENGTH + LENGTH - 2);
        let cited = cite(&repo, &format!("{path}:{}-{}", first + 1, last + 1));
        let mut after = before.clone();
        let mut target = path;
        match edit {
            Edit::LinesBefore => after.splice(0..0, vec!["// A comment.".to_owned(); 1 + case % 7]).for_each(drop),
            Edit::OtherDirectory => target = elsewhere,
            Edit::OtherName => {
                after.push("// The end.".to_owned());
                target = renamed;
            }
            Edit::Indented => after.iter_mut().for_each(|line| line.insert_str(0, "    ")),
            Edit::Reverted => {
                write(path, &[]);
                assert_eq!(state(&engine, &cited), CitationState::Changed);
            }
            Edit::LineChanged | Edit::CopyChanged => after[first + 1].push_str(" * 2"),
            Edit::LineAdded => after.insert(first + 1, "    log();".to_owned()),
            Edit::LinesDeleted => after.drain(first..=last).for_each(drop),
            Edit::FileDeleted => {}
        }
        std::fs::remove_file(repo.path(path)).unwrap();
        if edit != Edit::FileDeleted {
            write(target, &after);
        }
        let moved = |place: &str, by: usize| {
            let place = format!("{place}:{}-{}", first + by + 1, last + by + 1);
            CitationState::Moved(Place::parse(&place).unwrap())
        };
        let expected = match edit {
            Edit::LinesBefore => moved(path, 1 + case % 7),
            Edit::OtherDirectory | Edit::OtherName => moved(target, 0),
            Edit::Indented | Edit::Reverted => CitationState::Unchanged,
            Edit::LineChanged | Edit::LineAdded | Edit::LinesDeleted | Edit::CopyChanged => CitationState::Changed,
            Edit::FileDeleted => CitationState::Gone,
        };
        assert_eq!(state(&engine, &cited), expected, "case {case}: {edit:?}");
    }
}

#[test]
fn a_changed_place_is_shown_as_such_and_a_note_whose_places_are_gone_is_not_shown() {
    let repo = Repo::service();
    let cited = cite(&repo, "src/session.rs:1-4");
    let body = Body::Learning(kinds::Learning { text: NOTE.to_owned(), ..kinds::Learning::default() });
    let origin = Origin {
        sources: vec![Source::from(cited)],
        branch: Some("main".to_owned()),
        reason: Some("clocks are set back".to_owned()),
        ..Origin::default()
    };
    repo.write(MAIN, Record::new(body, origin, &Clock::system()).line() + "\n");
    let head = || {
        let found = ask(&repo.ready(), "What is the expiry of a session cookie compared with?");
        let memory = found.items.into_iter().find(|item| item.kind == ItemKind::Memory)?;
        assert_eq!(memory.text, format!("{NOTE}\nreason: clocks are set back"));
        render::block(&[memory]).lines().find(|line| line.starts_with("## memory ")).map(str::to_owned)
    };
    let end = |head: Option<String>| head.unwrap().split_once(", on ").unwrap().1.to_owned();
    assert_eq!(end(head()), "main, cites src/session.rs:1-4 (unchanged)");
    let text = std::fs::read_to_string(repo.path("src/session.rs")).unwrap();
    repo.write("src/session.rs", format!("// One.\n// Two.\n{text}"));
    assert_eq!(end(head()), "main, cites src/session.rs:1-4 (now src/session.rs:3-6)");
    repo.write("src/session.rs", text.replacen("//!", "//! Once:", 2));
    assert_eq!(end(head()), "main, cites src/session.rs:1-4 (changed since)");
    std::fs::remove_file(repo.path("src/session.rs")).unwrap();
    assert_eq!(head(), None);
}

#[test]
fn a_place_that_cannot_be_cited_has_a_reason() {
    let repo = Repo::with(&[("a.rs", "fn a() {\n\n}\n"), ("huge.txt", &"line\n".repeat(1 << 20)), (".env", "A=1\n")]);
    let worktree = Worktree::discover(repo.root()).unwrap();
    for (written, reason) in [
        ("../outside.rs:1-2", "is not a place"),
        ("a.rs:0-2", "is not a place"),
        ("a.rs:3-2", "is not a place"),
        ("a.rs:1-4", "a.rs has 3 lines"),
        ("a.rs:2-3", "contain no word"),
        ("absent.rs", "absent.rs"),
        (".", "is not a place"),
        ("huge.txt:1-2", "more than"),
        (".env:1-1", "secrets"),
    ] {
        let cited = Place::parse(written).and_then(|place| Citation::of(&worktree, place));
        let error = cited.expect_err(written).to_string();
        assert!(error.contains(reason), "{written}: {error}");
    }
}
