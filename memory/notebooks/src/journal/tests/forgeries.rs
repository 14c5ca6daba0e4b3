//! A remote that says its entries are those of others.

use super::remote::{Attack, message};
use super::{section, write};
use crate::journal::{EntryRef, JournalError, ReadEntry};

const EVE: &str = "Eve <eve@example.com> 1700000000 +0000";
/// The author of the owner's entries, with their time.
const OWNER: &str = "Ann <ann@example.com> 1795600800 +0000";
const FOREIGN: &str = "a stranger's";
const OWN: &str = "the owner's second";

/// The remote's entry about the owner's entry with this id.
type Forge = fn(&str) -> (&'static str, Vec<u8>);

/// The owner's entry, as it is written.
fn own(trailers: &str) -> Vec<u8> {
    format!("work_context: own\n\n{OWN}\n\nSection: own\n{trailers}").into_bytes()
}

const FORGERIES: [(&str, Forge); 20] = [
    ("another text", |id| (EVE, message("own", FOREIGN, &format!("Was: {id}\n")))),
    ("in capitals", |id| (EVE, message("own", FOREIGN, &format!("Was: {}\n", id.to_uppercase())))),
    ("the owner's name and time", |id| (OWNER, message("own", FOREIGN, &format!("Was: {id}\n")))),
    ("the owner's text under another name", |id| (EVE, own(&format!("Was: {id}\n")))),
    ("another address", |id| ("Ann <eve@example.com> 1795600800 +0000", own(&format!("Was: {id}\n")))),
    ("another time", |id| ("Ann <ann@example.com> 1795600801 +0000", own(&format!("Was: {id}\n")))),
    ("another time zone", |id| ("Ann <ann@example.com> 1795600800 +0100", own(&format!("Was: {id}\n")))),
    ("another section", |id| (OWNER, message("own/other", OWN, &format!("Was: {id}\n")))),
    ("another context", |id| (OWNER, message("own", OWN, &format!("Was: {id}\n")))),
    ("another session", |id| (OWNER, own(&format!("Session: s\nWas: {id}\n")))),
    ("a longer text", |id| (OWNER, [b"summary\n\n", &*own(&format!("Was: {id}\n"))].concat())),
    ("many times", |id| (EVE, message("own", FOREIGN, &format!("Was: {id}\n").repeat(70)))),
    ("behind others", |id| {
        let unknown: String = (0..70).map(|number| format!("Was: {number:040x}\n")).collect();
        (EVE, message("own", FOREIGN, &format!("{unknown}Was: {id}\n")))
    }),
    ("in the text", |id| (EVE, message("own", &format!("{FOREIGN}\n\nWas: {id}"), ""))),
    ("in lower case", |id| (EVE, message("own", FOREIGN, &format!("was: {id}\n")))),
    ("under the trailers", |id| (EVE, message("own", FOREIGN, &format!("\nWas: {id}\n")))),
    ("a part of the id", |id| (EVE, message("own", FOREIGN, &format!("Was: {}\n", &id[..12])))),
    ("an id that begins as the owner's", |id| {
        (EVE, message("own", FOREIGN, &format!("Was: {}{}\n", &id[..12], "0".repeat(28))))
    }),
    ("with a second section", |id| (EVE, message("own", FOREIGN, &format!("Section: other\nWas: {id}\n")))),
    ("no entry", |id| (EVE, format!("text\n\nWas: {id}\n").into_bytes())),
];

fn named(attack: &Attack, id: &str) -> Result<ReadEntry, JournalError> {
    attack.journal.entry(&EntryRef::parse(&format!("own#{id}")).unwrap())
}

/// The owner's entries are there, once each, and their names never show another text.
fn check(attack: &Attack, id: &str, name: &str) {
    let mut own = attack.own_entries();
    own.retain(|(_, author, seconds)| author == "Ann" && *seconds == 1_795_600_800);
    let texts: Vec<&str> = own.iter().map(|(text, ..)| text.as_str()).filter(|text| text.starts_with("the")).collect();
    assert!(texts.contains(&OWN) && texts.contains(&"the owner's first"), "{name}: {own:?}");
    for digits in [7, 12, 40] {
        match named(attack, &id[..digits]) {
            Ok(read) => assert_eq!((&*read.content, &*read.author), (OWN, "Ann"), "{name}"),
            Err(JournalError::Ambiguous { .. }) => assert_eq!(name, "an id that begins as the owner's"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn owners_entries_keep_their_text_their_author_and_their_names() {
    for (name, forge) in FORGERIES {
        for is_on_top in [false, true] {
            let mut attack = Attack::new();
            let id = attack.own_tip();
            let (author, message) = forge(&id);
            let parent = is_on_top.then_some(&*id);
            let commit = attack.commit(&attack.small_tree(), parent, author, &message);
            attack.set_tip(&commit);
            attack.take_in().unwrap();
            check(&attack, &id, name);
            let undone = attack.journal.undo_fetch().unwrap();
            assert_eq!((undone.kept, attack.own_tip()), (0, id.clone()), "{name}");
            check(&attack, &id, "undone");
        }
    }
}

#[test]
fn two_entries_that_claim_one_and_a_chain_of_claims_change_nothing() {
    let mut attack = Attack::new();
    let id = attack.own_tip();
    let tree = attack.small_tree();
    let first = attack.commit(&tree, None, EVE, &message("own", FOREIGN, &format!("Was: {id}\n")));
    let second =
        attack.commit(&tree, Some(&first), OWNER, &message("own", FOREIGN, &format!("Was: {id}\nWas: {first}\n")));
    let third = attack.commit(&tree, Some(&second), EVE, &own(&format!("Was: {second}\nWas: {id}\n")));
    attack.set_tip(&third);
    attack.take_in().unwrap();
    check(&attack, &id, "three");
    assert_eq!(attack.journal.condition().unwrap().false_claims, 3);
}

#[test]
fn entry_that_was_moved_is_the_same_entry_and_is_not_put_on_top_again() {
    let mut attack = Attack::new();
    let id = attack.own_tip();
    let tree = attack.small_tree();
    let other = attack.commit(&tree, None, EVE, &message("a", FOREIGN, ""));
    let moved = attack.commit(&tree, Some(&other), OWNER, &own(&format!("Was: {id}\n")));
    attack.set_tip(&moved);
    let merged = attack.take_in().unwrap().unwrap();
    assert_eq!((merged.received, merged.moved), (1, 1), "the owner's first entry alone");
    check(&attack, &id, "moved");
    assert_eq!(attack.own_entries().len(), 2);
    assert_eq!(attack.journal.condition().unwrap().false_claims, 0);
}

#[test]
fn entry_that_came_back_without_its_overview_is_put_on_top_again() {
    let mut attack = Attack::new();
    let first = attack.repo.git(&["rev-parse", &format!("{}^", attack.own_tip())]);
    let first = first.trim();
    let raw = attack.repo.git(&["cat-file", "commit", first]);
    let (_, rest) = raw.split_once('\n').unwrap();
    let blob = attack.blob(b"a stranger's overview\n\n<!-- entry count: 1 -->\n");
    let tree = attack.tree(&[format!("100644 blob {blob}\town.md")]);
    let forged = format!("tree {tree}\n{}\nWas: {first}\n", rest.trim_end());
    let forged = attack.object("commit", forged.as_bytes());
    attack.set_tip(&forged);
    let merged = attack.take_in().unwrap().unwrap();
    assert_eq!(merged.moved, 2);
    let read = attack.journal.section(&section("own")).unwrap();
    let beside = read.conflict.map(|conflict| conflict.other);
    assert_eq!((&*read.overview, beside.as_deref()), ("a stranger's overview", Some("the owner's overview")));
}

#[test]
fn name_that_an_entry_had_before_a_merge_stays_its_own_when_a_stranger_claims_it() {
    let mut attack = Attack::new();
    let id = attack.own_tip();
    let other = attack.commit(&attack.small_tree(), None, EVE, &message("a", FOREIGN, ""));
    attack.set_tip(&other);
    attack.take_in().unwrap();
    assert_ne!(attack.own_tip(), id, "the entry has another commit");
    check(&attack, &id, "moved");
    attack.again();
    let on_top = attack.own_tip();
    let claims = message("own", FOREIGN, &format!("Was: {id}\n"));
    let forged = attack.commit(&attack.small_tree(), Some(&on_top), EVE, &claims);
    attack.set_tip(&forged);
    attack.take_in().unwrap();
    check(&attack, &id, "claimed");
    // Without the commit, nobody can tell which of both claims is true.
    attack.repo.git(&["for-each-ref", "--format=delete %(refname)", "refs/muninn/before-fetch"]);
    for reference in ["1", "2"] {
        attack.repo.git(&["update-ref", "-d", &format!("refs/muninn/before-fetch/{reference}")]);
    }
    attack.repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    attack.repo.git(&["gc", "--quiet", "--prune=now"]);
    assert!(
        attack
            .repo
            .fixture
            .git(&["cat-file", "--batch-all-objects", "--batch-check"])
            .lines()
            .all(|line| !line.starts_with(&id))
    );
    let found = named(&attack, &id);
    assert!(matches!(found, Err(JournalError::Ambiguous { .. })), "{found:?}");
}

#[test]
fn replaced_and_grafted_commits_do_not_count() {
    let mut attack = Attack::new();
    let id = attack.own_tip();
    let forged = attack.commit(&attack.small_tree(), None, OWNER, &message("own", FOREIGN, ""));
    attack.set_tip(&forged);
    attack.take_in().unwrap();
    let now = attack.own_tip();
    for from in [&now, &id] {
        attack.repo.git(&["replace", "-f", from, &forged]);
    }
    let info = attack.repo.fixture.path(".git/info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("grafts"), format!("{now} {forged}\n")).unwrap();
    let journal = attack.repo.journal();
    let read = journal.entry(&EntryRef::parse(&format!("own#{id}")).unwrap()).unwrap();
    assert_eq!((&*read.content, &*read.author), (OWN, "Ann"));
    assert_eq!(journal.entries(&section("own"), 0, 9).unwrap().len(), 3);
}

#[test]
fn strange_sections_are_none_and_strange_authors_are_shown_plainly() {
    let mut attack = Attack::new();
    let strange = [
        "../own", "/own", "", "own/../own", "own//x", ".git/config", "own/.git/x", "a\u{1b}[2Jb", "con", "a\\b", "a#b",
        " own", "own.", "own ",
    ];
    let blob = attack.blob(b"overview\n");
    let mut lines: Vec<String> = ["é.md", "e\u{301}.md", "a.md", "a.md.md", "x\u{1b}.md", ".git.md", "CON.md", "A.md"]
        .map(|name| format!("100644 blob {blob}\t{name}"))
        .to_vec();
    lines.push(format!("120000 blob {blob}\tlink.md"));
    lines.push(format!("100755 blob {blob}\trun.md"));
    lines.push(format!("160000 commit {}\tmodule.md", attack.unknown()));
    // Twice the same name, which git refuses to make.
    let tree = attack.tree(&lines);
    let twice = [&b"100644 b.md\0"[..], &vec![1; attack.unknown().len() / 2]].concat().repeat(2);
    let mut tip: Option<String> = None;
    for section in strange {
        tip = Some(attack.commit(&tree, tip.as_deref(), EVE, &message(section, FOREIGN, "")));
    }
    let author = "E\u{1b}[31mve\u{202e}  <eve@example.com> 99999999999999 +9999";
    let last =
        attack.commit(&tree, tip.as_deref(), author, &message("a", "\u{1b}[2J first\u{2028}line", "Session: \u{7}s\n"));
    attack.set_tip(&last);
    attack.take_in().unwrap();
    let journal = &attack.journal;
    let names: Vec<String> = journal.toc(None, 9).unwrap().into_iter().map(|node| node.id).collect();
    assert_eq!(names, ["A", "a", "own", "run", "é"], "one section for each name");
    let listed = journal.entries(&section("a"), 0, 9).unwrap();
    assert_eq!(listed.len(), 1);
    let read = journal.entry(&EntryRef::parse(&listed[0].id).unwrap()).unwrap();
    assert_eq!((&*read.author, read.session.as_deref()), ("E\u{fffd}[31mve\u{fffd}", Some("\u{fffd}s")));
    assert_eq!(listed[0].summary, "\u{fffd}[2J first\u{fffd}line");
    write(journal, "own", "goes on");

    attack.again();
    let tree = attack.object("tree", &twice);
    let on_top = attack.own_tip();
    let commit = attack.commit(&tree, Some(&on_top), EVE, &message("b", FOREIGN, ""));
    attack.set_tip(&commit);
    assert!(attack.take_in().is_err(), "its files are missing");
}

#[test]
fn merge_of_a_thousand_parents_is_one_entry() {
    let mut attack = Attack::new();
    let tree = attack.small_tree();
    let own = attack.own_tip();
    let length = own.len();
    let parents: String = (0..1_000).map(|number| format!("parent {number:0length$x}\n")).collect();
    let text = String::from_utf8(message("a", FOREIGN, "")).unwrap();
    let head =
        format!("tree {tree}\nparent {own}\n{parents}author {EVE}\ncommitter {EVE}\ngpgsig none\n none\n\n{text}");
    let commit = attack.object("commit", head.as_bytes());
    let path = format!("{}/refs/muninn/incoming", attack.git(&["rev-parse", "--absolute-git-dir"], b""));
    std::fs::write(path, format!("{commit}\n")).unwrap();
    let merged = attack.take_in().unwrap().unwrap();
    assert_eq!((merged.received, merged.moved), (1, 0));
    assert_eq!(attack.journal.entries(&section("a"), 0, 9).unwrap().len(), 1);
}
