//! Which files are read on which branch.

use std::path::Path;

use super::*;
use crate::fixture::Fixture;
use crate::learn::LearnContext;
use crate::records::{Body, MAIN, SESSIONS, kinds};
use crate::store::segments_in;

/// A repository with one commit that is set up for memory, and a state directory.
struct StoreFixture {
    repo: Fixture,
    state: tempfile::TempDir,
}

impl StoreFixture {
    fn new() -> StoreFixture {
        let repo = Fixture::with(&[("a.txt", "x"), (MAIN, "")]);
        repo.commit();
        StoreFixture { repo, state: tempfile::tempdir().unwrap() }
    }

    fn store(&self) -> Store {
        self.store_with(StoreSettings::default())
    }

    fn store_with(&self, settings: StoreSettings) -> Store {
        Store::at(self.repo.home(), self.state.path(), settings, Clock::system())
    }

    /// Keeps one record in a session of this name.
    fn learn(&self, session: &str) -> Record {
        let store = self.store();
        let mut learned = Vec::new();
        let learn = |origin| {
            let context = LearnContext { home: store.home(), clock: store.clock(), origin, with_text: true };
            let body = Body::Learning(kinds::Learning {
                text: session.to_owned(),
                subject: None,
                confidence: None,
                author: None,
            });
            learned.push(context.record(body, &[]));
            learned.clone()
        };
        assert!(store.keep(session, None, learn).unwrap());
        learned.remove(0)
    }

    /// Writes a segment of another person.
    fn foreign(&self, name: &str, branch: &str) {
        let line = format!(
            "{{\"id\":\"{name}\",\"ts\":\"t\",\"type\":\"learning\",\"text\":\"{name}\",\"branch\":\"{branch}\"}}\n"
        );
        let path = format!("{SESSIONS}/session_{name}.0.jsonl");
        self.repo.write(&path, line.as_bytes());
    }

    /// The texts that recall reads.
    fn read(&self) -> Vec<String> {
        read(&self.store())
    }
}

fn read(store: &Store) -> Vec<String> {
    let files = store.files().unwrap();
    assert_eq!(files[0].to_string(), MAIN);
    let mut texts: Vec<String> =
        LoadedMemories::of_files(&files, store.home()).flat_map(|loaded| loaded.items).map(|item| item.text).collect();
    texts.sort();
    texts
}

#[test]
fn default_branch_reads_own_segments_and_other_branches_all() {
    let fixture = StoreFixture::new();
    fixture.learn("mine");
    assert_eq!(fixture.read(), ["mine"], "waiting records must be read");
    fixture.store().flush(Destination::Home).unwrap();
    fixture.foreign("theirs", "feature");
    fixture.repo.commit();
    assert_eq!(fixture.read(), ["mine"], "segments of other people must wait for a reconciliation");
    fixture.repo.git(&["checkout", "-q", "-b", "side"]);
    assert_eq!(fixture.read(), ["mine", "theirs"]);
    fixture.repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(fixture.read(), ["mine", "theirs"]);
}

#[test]
fn setting_selects_segments_of_the_default_branch() {
    let fixture = StoreFixture::new();
    fixture.learn("mine");
    fixture.foreign("theirs", "feature");
    fixture.repo.commit();
    let reads = |default_branch_segments, default_branch: Option<&str>| {
        read(&fixture.store_with(StoreSettings {
            default_branch_segments,
            default_branch: default_branch.map(str::to_owned),
            ..StoreSettings::default()
        }))
    };
    assert_eq!(reads(DefaultBranchSegments::Own, None), ["mine"]);
    assert_eq!(reads(DefaultBranchSegments::Main, None), [] as [&str; 0]);
    assert_eq!(reads(DefaultBranchSegments::All, None), ["mine", "theirs"]);
    assert_eq!(reads(DefaultBranchSegments::Main, Some("trunk")), ["mine", "theirs"]);
}

#[test]
fn records_of_a_branch_are_read_after_its_merge() {
    let fixture = StoreFixture::new();
    fixture.repo.git(&["checkout", "-q", "-b", "side"]);
    fixture.repo.write("b.txt", b"y");
    fixture.repo.git(&["add", "b.txt"]);
    fixture.repo.git(&["commit", "-q", "-m", "side"]);
    fixture.learn("waits");
    fixture.learn("written");
    let store = fixture.store();
    let written = store.spool().session("written").unwrap().unwrap();
    let segments = Segments::of(&fixture.repo.home()).unwrap();
    store.spool().flush(&segments, |waiting| waiting.session == written).unwrap();
    assert_eq!(fixture.read(), ["waits", "written"]);
    // git leaves the untracked segment in the worktree.
    fixture.repo.git(&["checkout", "-q", "main"]);
    assert!(segments_in(&fixture.repo.path(SESSIONS)).unwrap().len() == 1);
    assert_eq!(fixture.read(), [] as [&str; 0]);
    fixture.repo.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(fixture.read(), ["waits", "written"]);
    fixture.repo.git(&["reset", "-q", "--hard", "HEAD^"]);
    assert_eq!(fixture.read(), [] as [&str; 0], "undoing a merge must remove the records that it brought");
}

#[test]
fn local_segments_belong_to_their_branch() {
    let fixture = StoreFixture::new();
    fixture.repo.git(&["checkout", "-q", "-b", "side"]);
    fixture.repo.write("b.txt", b"y");
    fixture.repo.commit();
    fixture.learn("there");
    fixture.store().flush(Destination::State).unwrap();
    assert_eq!(fixture.read(), ["there"]);
    fixture.repo.git(&["checkout", "-q", "main"]);
    assert_eq!(fixture.read(), [] as [&str; 0]);
    fixture.learn("here");
    fixture.store().flush(Destination::State).unwrap();
    assert_eq!(fixture.read(), ["here"]);
    fixture.repo.git(&["checkout", "-q", "side"]);
    fixture.repo.git(&["rebase", "-q", "main"]);
    assert_eq!(fixture.read(), ["here", "there"]);
}

#[test]
fn open_store_sees_every_change() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    assert_eq!(read(&store), [] as [&str; 0]);
    fixture.learn("one");
    assert_eq!(read(&store), ["one"]);
    fixture.store().flush(Destination::Home).unwrap();
    fixture.learn("one");
    assert_eq!(read(&store), ["one", "one"]);
    fixture.repo.git(&["checkout", "-q", "-b", "side"]);
    fixture.foreign("theirs", "elsewhere");
    assert_eq!(read(&store), ["one", "one"], "records of an unmerged branch must not be read");
    fixture.repo.git(&["add", SESSIONS]);
    assert_eq!(read(&store), ["one", "one", "theirs"]);
    std::fs::remove_dir_all(fixture.repo.path(SESSIONS)).unwrap();
    assert_eq!(read(&store), ["one"]);
}

#[test]
fn linked_worktree_has_its_own_memory() {
    let fixture = StoreFixture::new();
    fixture.repo.git(&["worktree", "add", "-q", "-b", "side", "linked"]);
    fixture.learn("here");
    let linked = muninn_repo_tools::Worktree::discover(&fixture.repo.path("linked")).unwrap();
    let there = Store::at(Home::Repository(linked), fixture.state.path(), StoreSettings::default(), Clock::system());
    assert_eq!(read(&there), [] as [&str; 0]);
    fixture.store().flush(Destination::Home).unwrap();
    fixture.repo.git(&["add", SESSIONS]);
    fixture.repo.git(&["commit", "-q", "-m", "memory"]);
    fixture.repo.git(&["-C", "linked", "merge", "-q", "main"]);
    assert_eq!(read(&there), ["here"]);
}

#[test]
fn reconciled_segments_are_not_read_again() {
    let fixture = StoreFixture::new();
    fixture.foreign("late", "feature");
    fixture.foreign("other", "feature");
    fixture.repo.git(&["checkout", "-q", "-b", "side"]);
    fixture.repo.commit();
    let store = fixture.store();
    assert_eq!(read(&store), ["late", "other"]);
    let name = format!("{SESSIONS}/session_late.0.jsonl");
    let late = std::fs::read_to_string(fixture.repo.path(&name)).unwrap();
    let log = |bytes: usize| {
        let line = format!(
            "{{\"id\":\"L{bytes}\",\"type\":\"reconciled\",\"segment\":\"session_late.0.jsonl\",\"bytes\":{bytes}}}\n"
        );
        fixture.repo.write(crate::records::RECONCILED, line.as_bytes());
    };
    log(late.len());
    assert_eq!(read(&store), ["other"]);
    assert_eq!(store.shared_segments().unwrap().len(), 2, "the reconciled segment must still be listed for removal");
    // A segment that grew adds its new lines, without the pruned records.
    let more = r#"{"id":"more","type":"learning","text":"more","branch":"feature"}"#;
    fixture.repo.write(&name, format!("{late}{more}\n").as_bytes());
    assert_eq!(read(&store), ["late", "more", "other"], "a segment that grew must be read as a whole");
}

#[cfg(unix)]
#[test]
fn link_out_of_the_worktree_is_not_read() {
    let fixture = StoreFixture::new();
    let outside = tempfile::tempdir().unwrap();
    let segment = |dir: &Path| {
        let text = "{\"id\":\"1\",\"type\":\"learning\",\"text\":\"outside\",\"branch\":\"main\"}\n";
        std::fs::write(dir.join("session_X.0.jsonl"), text).unwrap();
    };
    segment(outside.path());
    std::os::unix::fs::symlink(outside.path(), fixture.repo.path(SESSIONS)).unwrap();
    let reads = || {
        read(&fixture.store_with(StoreSettings {
            default_branch_segments: DefaultBranchSegments::All,
            ..StoreSettings::default()
        }))
    };
    assert_eq!(reads(), [] as [&str; 0]);
    std::fs::remove_file(fixture.repo.path(SESSIONS)).unwrap();
    std::fs::create_dir(fixture.repo.path(SESSIONS)).unwrap();
    segment(&fixture.repo.path(SESSIONS));
    assert_eq!(reads(), ["outside"], "without the link the file must be read");
}

#[cfg(unix)]
#[test]
fn segments_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = StoreFixture::new();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let segments = |dir: &Path| segments_in(dir).unwrap();
    for (name, destination) in [("first", Destination::Home), ("second", Destination::State)] {
        fixture.learn(name);
        fixture.store().flush(destination).unwrap();
    }
    let home = fixture.repo.path(SESSIONS);
    let state = fixture.store().local_segments();
    assert_eq!((segments(&home).len(), segments(&state).len()), (1, 1));
    assert_eq!(mode(&state), 0o700);
    fixture.repo.commit();
    fixture.learn("third");
    fixture.store().flush(Destination::Home).unwrap();
    let all = [segments(&home), segments(&state)].concat();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|path| mode(path) == 0o600), "{all:?}");
    fixture.store().squash().unwrap().unwrap();
    let squashed = segments(&home);
    assert_eq!(squashed.iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o600]);
}
