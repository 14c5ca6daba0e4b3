//! Notes that agents do not use, and notes of rules that nobody needs.

use std::time::{Duration, Instant};

use muninn_base::Clock;
use muninn_team::records::{Body, MAIN, Origin, Record, kinds};

use super::{Repo, ask};
use crate::{Action, EngineSettings, ItemKind, new_notes};

const QUESTION: &str = "What is the expiry of a session cookie compared with?";
const NOTE: &str = "The expiry of a session cookie is compared with the monotonic clock";

fn clock(day: &str) -> Clock {
    Clock::fixed(format!("{day}T12:00:00Z").parse().unwrap())
}

/// Whether the prompt carries a record, with these uses, on a day.
fn carries(note: &Record, uses: &[(&str, bool)], day: &str) -> bool {
    let repo = Repo::service();
    let of = |(day, used): &(&str, bool)| {
        let ids = vec![note.id.clone()];
        let body = Body::Use(kinds::Use {
            shown: ids.clone(),
            used: if *used { ids } else { Vec::new() },
            contradicted: Vec::new(),
        });
        Record::new(body, Origin::default(), &clock(day)).line() + "\n"
    };
    repo.write(MAIN, note.line() + "\n" + &uses.iter().map(of).collect::<String>());
    let engine = repo.engine_with(EngineSettings { clock: clock(day), ..EngineSettings::default() });
    engine.refresh(&()).unwrap();
    let memories = engine.current_memories();
    let recalled = engine.recall(&memories, QUESTION, &muninn_recall::RecallOptions::default());
    assert!(recalled.iter().any(|(one, _)| memories.get(one.doc).unwrap().source == note.id), "it is always recalled");
    ask(&engine, QUESTION).items.iter().any(|item| item.kind == ItemKind::Memory && item.source == note.id)
}

#[test]
fn a_note_that_was_shown_twelve_times_without_use_is_in_no_prompt() {
    let body = Body::Learning(kinds::Learning { text: NOTE.to_owned(), ..kinds::Learning::default() });
    let note = Record::new(body, Origin::default(), &clock("2026-01-01"));
    let unused = [("2026-01-02", false); 12];
    assert!(carries(&note, &unused[..11], "2026-01-03"));
    assert!(!carries(&note, &unused, "2026-01-03"));
    let used = [&unused[..], &[("2026-01-03", true)]].concat();
    assert!(carries(&note, &used, "2026-01-04"), "used once, it has twelve more chances");
    let again = [&used[..], &[("2026-01-04", false); 12]].concat();
    assert!(!carries(&note, &again, "2026-01-05"));
    assert!(carries(&note, &[], "2036-01-01"), "what a person wrote does not expire");
}

#[test]
fn a_note_of_rules_expires_without_use() {
    let body = Body::Failure(kinds::Failure {
        attempt: "Compare the expiry of a session cookie with the wall clock".to_owned(),
        outcome: NOTE.to_owned(),
        ..kinds::Failure::default()
    });
    let note = Record::new(body, Origin::default(), &clock("2026-01-01"));
    assert!(carries(&note, &[], "2026-03-01"));
    assert!(!carries(&note, &[], "2026-03-04"));
    assert!(carries(&note, &[("2026-02-01", true)], "2026-03-04"), "its last use counts");
    assert!(carries(&note, &[], "2020-01-01"), "a clock that is late hides nothing");
}

#[test]
fn of_many_notes_about_a_command_the_newest_are_looked_at() {
    let repo = Repo::service();
    let note = |at: usize| {
        let body = Body::Learning(kinds::Learning {
            text: format!("`make all` needs tool {at}"),
            ..kinds::Learning::default()
        });
        Record::new(body, Origin::default(), &clock("2026-01-01")).line() + "\n"
    };
    repo.write(MAIN, (0..3_000).map(note).collect::<String>());
    let engine = repo.engine();
    engine.refresh(&()).unwrap();
    let action = Action { files: Vec::new(), commands: vec!["make all".to_owned()] };
    let groups = engine.notes_about("`make all`", &action, Instant::now() + Duration::from_secs(5));
    assert_eq!(groups.len(), 20);
    let notes = new_notes("`make all`", groups, &|_| false, 120);
    assert!((1..20).contains(&notes.len()), "{}", notes.len());
}
