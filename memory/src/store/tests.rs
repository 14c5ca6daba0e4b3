//! What is read on which branch.

use std::path::Path;

use super::*;
use crate::fixture::Fixture;
use crate::learn::Place;
use crate::records::{Body, MAIN, SESSIONS, kinds};

/// A repository with one commit that is set up for memory, and a state directory beside it.
struct Desk {
    repo: Fixture,
    state: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        let repo = Fixture::with(&[("a.txt", "x"), (MAIN, "")]);
        repo.commit();
        Desk {
            repo,
            state: tempfile::tempdir().unwrap(),
        }
    }

    fn store(&self) -> Store {
        self.store_with(StoreSettings::default())
    }

    fn store_with(&self, settings: StoreSettings) -> Store {
        Store::at(self.repo.home(), self.state.path(), settings, Clock::system())
    }

    /// Keeps something in a session of this name, learned here and now.
    fn learn(&self, session: &str) -> Record {
        let store = self.store();
        let mut learned = Vec::new();
        let learn = |id: &str| {
            let place = Place {
                home: store.home(),
                clock: store.clock(),
                session: id.to_owned(),
                task: None,
                with_text: true,
            };
            let body = Body::Learning(kinds::Learning {
                text: session.to_owned(),
                subject: None,
                confidence: None,
                author: None,
            });
            learned.push(place.record(body, &[]));
            learned.clone()
        };
        assert!(store.keep(session, None, learn).unwrap());
        learned.remove(0)
    }

    /// A segment that somebody else wrote.
    fn foreign(&self, name: &str, branch: &str) {
        let line = format!(
            "{{\"id\":\"{name}\",\"ts\":\"t\",\"type\":\"learning\",\"text\":\"{name}\",\"branch\":\"{branch}\"}}\n"
        );
        let path = format!("{SESSIONS}/session_{name}.0.jsonl");
        self.repo.write(&path, line.as_bytes());
    }

    /// What recall reads: the texts of the records.
    fn read(&self) -> Vec<String> {
        read(&self.store())
    }
}

fn read(store: &Store) -> Vec<String> {
    let files = store.files();
    assert_eq!(files[0].to_string(), MAIN);
    let mut texts: Vec<String> = files
        .iter()
        .flat_map(|file| Loaded::of_file(file, store.home()).items)
        .map(|item| item.text)
        .collect();
    texts.sort();
    texts
}

#[test]
fn a_branch_reads_main_and_its_segments_and_the_default_branch_its_own() {
    let desk = Desk::new();
    desk.learn("mine");
    assert_eq!(desk.read(), ["mine"], "what waits is read");
    desk.store().flush(Destination::Home).unwrap();
    desk.foreign("theirs", "feature");
    desk.repo.commit();
    assert_eq!(desk.read(), ["mine"], "others' are for a reconciliation");
    desk.repo.git(&["checkout", "-q", "-b", "side"]);
    assert_eq!(desk.read(), ["mine", "theirs"]);
    desk.repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(desk.read(), ["mine", "theirs"]);
}

#[test]
fn what_is_read_on_the_default_branch_is_for_the_user_to_say() {
    let desk = Desk::new();
    desk.learn("mine");
    desk.foreign("theirs", "feature");
    desk.repo.commit();
    let reads = |on_default, default_branch: Option<&str>| {
        read(&desk.store_with(StoreSettings {
            on_default,
            default_branch: default_branch.map(str::to_owned),
            ..StoreSettings::default()
        }))
    };
    assert_eq!(reads(OnDefault::Own, None), ["mine"]);
    assert_eq!(reads(OnDefault::Main, None), [] as [&str; 0]);
    assert_eq!(reads(OnDefault::All, None), ["mine", "theirs"]);
    assert_eq!(reads(OnDefault::Main, Some("trunk")), ["mine", "theirs"]);
}

#[test]
fn what_was_learned_on_a_branch_stays_with_it_until_it_is_merged() {
    let desk = Desk::new();
    desk.repo.git(&["checkout", "-q", "-b", "side"]);
    desk.repo.write("b.txt", b"y");
    desk.repo.git(&["add", "b.txt"]);
    desk.repo.git(&["commit", "-q", "-m", "side"]);
    desk.learn("waits");
    desk.learn("written");
    let store = desk.store();
    let written = store.spool().session("written").unwrap().unwrap();
    let segments = Segments::of(&desk.repo.home()).unwrap();
    store
        .spool()
        .flush(&segments, |waiting| waiting.session == written)
        .unwrap();
    assert_eq!(desk.read(), ["waits", "written"]);
    // git leaves the segment, which it does not track, in the worktree.
    desk.repo.git(&["checkout", "-q", "main"]);
    assert!(segments_in(&desk.repo.path(SESSIONS)).unwrap().len() == 1);
    assert_eq!(desk.read(), [] as [&str; 0]);
    desk.repo.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(desk.read(), ["waits", "written"]);
    desk.repo.git(&["reset", "-q", "--hard", "HEAD^"]);
    assert_eq!(
        desk.read(),
        [] as [&str; 0],
        "a merge that was taken back takes along what came with it"
    );
}

#[test]
fn memory_that_never_reaches_git_keeps_to_its_branch_too() {
    let desk = Desk::new();
    desk.repo.git(&["checkout", "-q", "-b", "side"]);
    desk.repo.write("b.txt", b"y");
    desk.repo.commit();
    desk.learn("there");
    desk.store().flush(Destination::State).unwrap();
    assert_eq!(desk.read(), ["there"]);
    desk.repo.git(&["checkout", "-q", "main"]);
    assert_eq!(desk.read(), [] as [&str; 0]);
    desk.learn("here");
    desk.store().flush(Destination::State).unwrap();
    assert_eq!(desk.read(), ["here"]);
    desk.repo.git(&["checkout", "-q", "side"]);
    desk.repo.git(&["rebase", "-q", "main"]);
    assert_eq!(desk.read(), ["here", "there"]);
}

#[test]
fn one_store_sees_every_change() {
    let desk = Desk::new();
    let store = desk.store();
    assert_eq!(read(&store), [] as [&str; 0]);
    desk.learn("one");
    assert_eq!(read(&store), ["one"]);
    desk.store().flush(Destination::Home).unwrap();
    desk.learn("one");
    assert_eq!(read(&store), ["one", "one"]);
    desk.repo.git(&["checkout", "-q", "-b", "side"]);
    desk.foreign("theirs", "elsewhere");
    assert_eq!(read(&store), ["one", "one"], "nobody has said that it belongs here");
    desk.repo.git(&["add", SESSIONS]);
    assert_eq!(read(&store), ["one", "one", "theirs"]);
    std::fs::remove_dir_all(desk.repo.path(SESSIONS)).unwrap();
    assert_eq!(read(&store), ["one"]);
}

#[test]
fn a_linked_worktree_has_memory_of_its_own() {
    let desk = Desk::new();
    desk.repo.git(&["worktree", "add", "-q", "-b", "side", "linked"]);
    desk.learn("here");
    let linked = muninn_repo_tools::Worktree::discover(&desk.repo.path("linked")).unwrap();
    let there = Store::at(
        Home::Repository(linked),
        desk.state.path(),
        StoreSettings::default(),
        Clock::system(),
    );
    assert_eq!(read(&there), [] as [&str; 0]);
    desk.store().flush(Destination::Home).unwrap();
    desk.repo.git(&["add", SESSIONS]);
    desk.repo.git(&["commit", "-q", "-m", "memory"]);
    desk.repo.git(&["-C", "linked", "merge", "-q", "main"]);
    assert_eq!(read(&there), ["here"]);
}

#[test]
fn what_main_has_taken_in_is_not_read_again() {
    let desk = Desk::new();
    desk.foreign("late", "feature");
    desk.foreign("other", "feature");
    desk.repo.git(&["checkout", "-q", "-b", "side"]);
    desk.repo.commit();
    let store = desk.store();
    assert_eq!(read(&store), ["late", "other"]);
    let name = format!("{SESSIONS}/session_late.0.jsonl");
    let late = std::fs::read_to_string(desk.repo.path(&name)).unwrap();
    let log = |bytes: usize| {
        let line = format!(
            "{{\"id\":\"L{bytes}\",\"type\":\"reconciled\",\"segment\":\"session_late.0.jsonl\",\"bytes\":{bytes}}}\n"
        );
        desk.repo.write(crate::records::RECONCILED, line.as_bytes());
    };
    log(late.len());
    assert_eq!(read(&store), ["other"]);
    assert_eq!(store.shared_segments().len(), 2, "it is still to be put away");
    // One that grew brings what is new, and not what left main.
    let more = r#"{"id":"more","type":"learning","text":"more","branch":"feature"}"#;
    desk.repo.write(&name, format!("{late}{more}\n").as_bytes());
    assert_eq!(
        read(&store),
        ["late", "more", "other"],
        "main has it, or will hold it back by its id"
    );
    let recalled = || {
        let memories = crate::recall::Memories::load_from(store.home(), &store.files(), None, None);
        let mut texts: Vec<String> = memories.items().iter().map(|item| item.text.clone()).collect();
        texts.sort();
        texts
    };
    desk.repo
        .write(".muninn/memory/archive/session_late.0-0.jsonl", late.as_bytes());
    assert_eq!(recalled(), ["late", "more", "other"], "a copy of what was damaged");
    desk.repo.write(crate::records::PRUNED, late.as_bytes());
    assert_eq!(recalled(), ["more", "other"]);
    desk.repo.write(MAIN, late.as_bytes());
    assert_eq!(recalled(), ["late", "more", "other"], "what main has is recalled");
    log(late.len() + more.len() + 1);
    assert_eq!(recalled(), ["late", "other"]);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_worktree_is_not_read() {
    let desk = Desk::new();
    let outside = tempfile::tempdir().unwrap();
    let segment = |dir: &Path| {
        let text = "{\"id\":\"1\",\"type\":\"learning\",\"text\":\"outside\",\"branch\":\"main\"}\n";
        std::fs::write(dir.join("session_X.0.jsonl"), text).unwrap();
    };
    segment(outside.path());
    std::os::unix::fs::symlink(outside.path(), desk.repo.path(SESSIONS)).unwrap();
    let reads = || {
        read(&desk.store_with(StoreSettings {
            on_default: OnDefault::All,
            ..StoreSettings::default()
        }))
    };
    assert_eq!(reads(), [] as [&str; 0]);
    std::fs::remove_file(desk.repo.path(SESSIONS)).unwrap();
    std::fs::create_dir(desk.repo.path(SESSIONS)).unwrap();
    segment(&desk.repo.path(SESSIONS));
    assert_eq!(reads(), ["outside"], "it is the link alone that keeps it out");
}
