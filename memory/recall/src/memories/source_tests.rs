//! What recall reads, and when it reads it again.

use muninn_base::{Clock, RelPath};
use muninn_team::fixture::{Fixture, main_alone};
use muninn_team::records::{MAIN, PRUNED, RECONCILED, SESSIONS};
use muninn_team::store::StoreSettings;

use super::*;

#[test]
fn globs_select_the_files_of_sections() {
    let repo = Fixture::with(&[
        (".muninn/knowledge/a.md", "---\napplies_to: [src/auth/, \"!*.md\"]\n---\n# Alpha\n## Beta\n"),
        (".muninn/knowledge/b.md", "# Tokens\n"),
    ]);
    let memories = Memories::load(&repo.home());
    let applies = |at: usize, path: &str| memories.applies_to(&memories.items()[at], &RelPath::new(path).unwrap());
    assert!(applies(0, "src/auth/token.rs") && applies(1, "src/auth/deep/x.rs"));
    assert!(!applies(0, "src/auth/README.md") && !applies(0, "src/other.rs"));
    assert!(!applies(2, "src/auth/token.rs"));
    let asked = [RelPath::new("src/auth/token.rs").unwrap()];
    let options = RecallOptions { paths: &asked, ..RecallOptions::default() };
    let found = memories.recall("tokens alpha beta", &options);
    assert!(found.iter().all(|found| found.doc.0 < 2) && !found.is_empty(), "{found:?}");
}

#[test]
fn changed_document_is_reloaded() {
    let repo = Fixture::with(&[(".metis/adrs/001.md", "---\nid: cookies\nlevel: adr\n---\n# Cookies\n")]);
    let home = repo.home();
    let memories = Memories::load(&home);
    assert!(memories.is_current(&home, &main_alone().into()));
    repo.write(".metis/vision.md", b"---\nid: v\n---\n# V\n");
    assert!(!memories.is_current(&home, &main_alone().into()));
    let memories = Memories::load(&home);
    repo.write(".gitignore", b".metis/\n");
    assert!(!memories.is_current(&home, &main_alone().into()), "what git ignores is not packed");
    assert!(Memories::load(&home).items().is_empty());
}

#[test]
fn kept_memories_and_changed_files_have_what_a_reload_has() {
    let line = |n: usize| format!("{{\"id\":\"{n:05}\",\"type\":\"learning\",\"text\":\"word{n} filler\"}}\n");
    let repo = Fixture::with(&[(MAIN, &(0..WORTH_KEEPING).map(line).collect::<String>())]);
    let (home, cache) = (repo.home(), tempfile::tempdir().unwrap());
    let kept = || Memories::kept(&home, None, cache.path());
    assert!(kept().is_none());
    let mut files = main_alone();
    Memories::load_from(&home, &files.clone().into(), None, Some(cache.path()));
    let segment = format!("{SESSIONS}/session_late.0.jsonl");
    let decision = "{\"id\":\"D\",\"ts\":\"t\",\"type\":\"decision\",\"keep\":[\"90000\"],\"drop\":[\"00007\"]}\n";
    repo.write(&segment, (line(90_000) + decision).as_bytes());
    files.push(RecordFile::Home(RelPath::new(&segment).unwrap()));
    let sources = MemorySources::from(files);
    let KeptAndChanged { parts: [old, new], status } = kept().unwrap().and_changed(&home, &sources).unwrap();
    let found = |memories: &Memories, question: &str| -> Vec<String> {
        let found = memories.recall(question, &RecallOptions::default());
        found.iter().map(|one| memories.get(one.doc).unwrap().source.clone()).collect()
    };
    assert_eq!(found(&old, "word8"), ["00008"]);
    assert_eq!(found(&new, "word90000"), ["90000"]);
    assert!(status.is_gone("00007") && !status.is_gone("00008"));
    // A file that has changed is read again, and no longer counts as it was.
    repo.write(MAIN, line(3).as_bytes());
    let KeptAndChanged { parts: [old, new], .. } = kept().unwrap().and_changed(&home, &sources).unwrap();
    assert_eq!((found(&old, "word8"), found(&new, "word3")), (vec![], vec!["00003".to_owned()]));
    repo.write(MAIN, "\n".repeat(usize::try_from(MOST_CHANGED).unwrap() + 1).as_bytes());
    assert!(kept().unwrap().and_changed(&home, &sources).is_none(), "much has changed");
}

#[test]
fn records_of_segments_are_recalled_once_and_pruned_ones_never() {
    let repo = Fixture::with(&[("a.txt", "x"), (MAIN, "")]);
    let line = |id: &str| {
        format!("{{\"id\":\"{id}\",\"ts\":\"t\",\"type\":\"learning\",\"text\":\"{id}\",\"branch\":\"side\"}}\n")
    };
    let [late, more] = [line("late"), line("more")];
    let segment = format!("{SESSIONS}/session_late.0.jsonl");
    repo.write(&segment, late.as_bytes());
    repo.write(&format!("{SESSIONS}/session_other.0.jsonl"), line("other").as_bytes());
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit();
    let log = |bytes: usize| {
        let line = format!(
            "{{\"id\":\"L{bytes}\",\"type\":\"reconciled\",\"segment\":\"session_late.0.jsonl\",\"bytes\":{bytes}}}\n"
        );
        repo.write(RECONCILED, line.as_bytes());
    };
    log(late.len());
    // A segment that grew adds its new lines, without the pruned records.
    repo.write(&segment, format!("{late}{more}").as_bytes());
    let state = tempfile::tempdir().unwrap();
    let store = muninn_team::Store::at(repo.home(), state.path(), StoreSettings::default(), Clock::system());
    let recalled = || {
        let memories = Memories::load_from(store.home(), &store.files().unwrap().into(), None, None);
        let mut texts: Vec<String> = memories.items().iter().map(|item| item.text.clone()).collect();
        texts.sort();
        texts
    };
    repo.write(".muninn/memory/archive/session_late.0-0.jsonl", late.as_bytes());
    assert_eq!(recalled(), ["late", "more", "other"], "a copy of a damaged file must not hide records");
    repo.write(PRUNED, late.as_bytes());
    assert_eq!(recalled(), ["more", "other"]);
    repo.write(MAIN, late.as_bytes());
    assert_eq!(recalled(), ["late", "more", "other"], "records in main must be recalled");
    log(late.len() + more.len());
    assert_eq!(recalled(), ["late", "other"]);
}
