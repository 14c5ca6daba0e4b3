//! Histories that would take memory or time without end, fetched or set as the ref by another program.

use super::remote::{Attack, message};
use super::{draft, section, write};
use crate::journal::{IntakeError, Journal, JournalError, SearchSettings, Version, load};

const EVE: &str = "Eve <eve@example.com> 1700000000 +0000";

/// Makes the remote's history. Returns its newest commit.
type Make = fn(&Attack) -> String;

/// A tree in which each of `levels` names the one below ten times.
fn doubling(attack: &Attack, lowest: String, levels: usize) -> String {
    (0..levels).fold(lowest, |tree, _| {
        let lines: Vec<String> = (0..10).map(|name| format!("040000 tree {tree}\t{name}")).collect();
        attack.tree(&lines)
    })
}

fn with_tree(attack: &Attack, tree: &str) -> String {
    attack.commit(tree, None, EVE, &message("a", "text", ""))
}

fn with_blob(attack: &Attack, content: &[u8], name: &str) -> String {
    let blob = attack.blob(content);
    with_tree(attack, &attack.tree(&[format!("100644 blob {blob}\t{name}")]))
}

fn with_message(attack: &Attack, message: &[u8]) -> String {
    attack.commit(&attack.small_tree(), None, EVE, message)
}

/// Commits with these messages, the first one lowest, and one overview.
fn imported(attack: &Attack, messages: impl Iterator<Item = Vec<u8>>) -> String {
    let mut stream = Vec::new();
    for (number, message) in messages.enumerate() {
        let head = format!("commit refs/x\ncommitter {EVE}\ndata {}\n", message.len());
        stream.extend([head.as_bytes(), &message, b"\n"].concat());
        if number == 0 {
            stream.extend(b"M 100644 inline a.md\ndata 1\nx\n");
        }
    }
    attack.git(&["fast-import", "--quiet"], &stream);
    attack.git(&["rev-parse", "refs/x"], b"")
}

/// A pack of one blob and deltas upon it, each upon the one before. Returns the last blob.
fn chain_of_deltas(attack: &Attack, count: usize) -> String {
    // git's own packs are never deeper than it is told, and it takes deeper ones.
    let contents = (0..count).map(|number| format!("{number:08}{}", "same ".repeat(200)));
    let blobs: Vec<String> = {
        let stream: String =
            contents.map(|content| format!("blob\nmark :1\ndata {}\n{content}\n", content.len())).collect();
        let depth = format!("--depth={count}");
        attack.git(&["fast-import", "--quiet", &depth], stream.as_bytes());
        let listed = attack.git(&["cat-file", "--batch-all-objects", "--batch-check=%(deltabase) %(objectname)"], b"");
        listed.lines().map(str::to_owned).collect()
    };
    // The one that is no base of another.
    let is_base = |id: &str| blobs.iter().any(|line| line.starts_with(id));
    let mut ids = blobs.iter().filter_map(|line| line.split_once(' ')).filter(|(base, _)| !base.starts_with("0000"));
    ids.find(|(_, id)| !is_base(id)).map(|(_, id)| id.to_owned()).unwrap()
}

/// What is refused, and how the error names it.
const BOMBS: [(&str, &str, Make); 13] = [
    ("10^10 files", "more than 50000 files and folders", |attack| {
        let blob = attack.blob(b"x");
        let lines: Vec<String> = (0..10).map(|name| format!("100644 blob {blob}\t{name}.md")).collect();
        let lowest = attack.tree(&lines);
        with_tree(attack, &doubling(attack, lowest, 9))
    }),
    ("10^30 folders without a file", "more than 50000 files and folders", |attack| {
        let lowest = attack.tree(&[format!("160000 commit {}\tx", attack.unknown())]);
        with_tree(attack, &doubling(attack, lowest, 30))
    }),
    ("60,000 files in one folder", "more than 50000 files and folders", |attack| {
        let blob = attack.blob(b"x");
        let lines: Vec<String> = (0..60_000).map(|name| format!("100644 blob {blob}\t{name}.md")).collect();
        with_tree(attack, &attack.tree(&lines))
    }),
    ("deep folders", "more than 128 levels", |attack| {
        let tree = (0..200).fold(attack.small_tree(), |tree, _| attack.tree(&[format!("040000 tree {tree}\td")]));
        with_tree(attack, &tree)
    }),
    ("a long name", "more than 4096 bytes in a path", |attack| {
        with_blob(attack, b"x", &format!("{}.md", "n".repeat(9_000)))
    }),
    ("a long path", "more than 4096 bytes in a path", |attack| {
        let name = "n".repeat(200);
        let tree = (0..30).fold(attack.small_tree(), |tree, _| attack.tree(&[format!("040000 tree {tree}\t{name}")]));
        with_tree(attack, &tree)
    }),
    ("a huge tree", "bytes, and 4194304 are the most", |attack| {
        // git does not fetch the commits of submodules.
        let id = vec![1; attack.blob(b"x").len() / 2];
        let entry = [b"160000 ", &*vec![b'n'; 4000], b".md\0", &id].concat();
        let tree = attack.object("tree", &entry.repeat(1_100));
        with_tree(attack, &tree)
    }),
    ("a huge overview", "bytes, and 4194304 are the most", |attack| with_blob(attack, &vec![0; 20 << 20], "a.md")),
    ("a huge conflict file", "bytes, and 4194304 are the most", |attack| {
        with_blob(attack, &vec![0; 5 << 20], "a.conflict")
    }),
    ("a huge object that nothing reaches", "bytes, and 4194304 are the most", |attack| {
        attack.blob(&vec![0; 5 << 20]);
        with_message(attack, &message("a", "text", ""))
    }),
    ("a huge message", "bytes, and 4194304 are the most", |attack| {
        with_message(attack, &message("a", &"x".repeat(5 << 20), ""))
    }),
    ("a huge author", "a name or an address of more than 1000 bytes", |attack| {
        let author = format!("{} <eve@example.com> 1700000000 +0000", "E".repeat(100_000));
        attack.commit(&attack.small_tree(), None, &author, &message("a", "text", ""))
    }),
    ("a long chain of deltas", "more than 300 deltas", |attack| {
        let blob = chain_of_deltas(attack, 1_000);
        with_tree(attack, &attack.tree(&[format!("100644 blob {blob}\ta.md")]))
    }),
];

/// The same, of a size that takes a minute to make.
const LARGE_BOMBS: [(&str, &str, Make); 3] = [
    ("many large messages", "more than 128 MiB of commits", |attack| {
        imported(attack, (0..150).map(|number| message("a", &format!("{number}{}", "x".repeat(1 << 20)), "")))
    }),
    ("many first lines", "have more than 64 MiB", |attack| {
        let section = "é".repeat(90) + "/" + &"é".repeat(90) + "/" + &"é".repeat(60);
        imported(attack, (0..100_000).map(|number| message(&section, &format!("{number}{}", "x".repeat(200)), "")))
    }),
    ("more commits than are read", "more than 120000 commits", |attack| {
        imported(attack, (0..120_001).map(|number| message("a", &number.to_string(), "")))
    }),
];

#[test]
fn fetched_bomb_is_refused_and_nothing_of_it_is_kept() {
    refuses(&BOMBS);
}

#[test]
#[ignore = "takes minutes: run nightly"]
fn fetched_large_bomb_is_refused_and_nothing_of_it_is_kept() {
    refuses(&LARGE_BOMBS);
}

fn refuses(bombs: &[(&str, &str, Make)]) {
    for (name, error, make) in bombs {
        let mut attack = Attack::new();
        let (tip, objects) = (attack.own_tip(), attack.objects());
        let commit = make(&attack);
        attack.set_tip(&commit);
        let refused = attack.take_in().expect_err(name).to_string();
        assert!(refused.contains(error), "{name}: {refused}");
        assert_eq!((attack.own_tip(), attack.objects()), (tip, objects), "{name}");
        let refs = attack.repo.git(&["for-each-ref", "--format=%(refname)", "refs/muninn"]);
        assert_eq!(refs, "refs/muninn/journal\n", "{name}");
        let left = std::fs::read_dir(attack.repo.fixture.path(".git/objects")).unwrap().map(Result::unwrap);
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("tmp_"));
        assert_eq!(left.count(), 0, "{name}");
        write(&attack.journal, "own", "goes on");
        assert_eq!(attack.journal.toc(None, 1).unwrap().len(), 1, "{name}");
    }
}

#[test]
fn bomb_that_another_program_has_fetched_is_cut_or_an_error_and_own_sections_stay_usable() {
    bounds(&BOMBS);
}

#[test]
#[ignore = "takes minutes: run nightly"]
fn large_bomb_that_another_program_has_fetched_is_cut_or_an_error_and_own_sections_stay_usable() {
    bounds(&LARGE_BOMBS);
}

/// A plain `git fetch` moves the ref without any check.
fn bounds(bombs: &[(&str, &str, Make)]) {
    for (name, _, make) in bombs {
        let attack = Attack::new();
        let commit = make(&attack);
        attack.set_tip(&commit);
        let from = attack.git(&["rev-parse", "--absolute-git-dir"], b"");
        attack.repo.git(&["fetch", "--quiet", &from, "+refs/muninn/incoming:refs/muninn/journal"]);
        let journal = attack.repo.journal();
        let refused = [
            journal.toc(None, 9).err(),
            journal.section(&section("a")).err(),
            journal.entries(&section("a"), 0, 10).err(),
            journal.search("", "text", None, &SearchSettings::default()).err(),
            journal.write(&section("new"), &draft("text"), Some(Version::New)).err(),
            journal.condition().err(),
        ];
        for error in refused.into_iter().flatten() {
            // The entries of one bomb are all in another section.
            let is_expected = matches!(error, JournalError::Chain(_) | JournalError::NoSection(_));
            assert!(is_expected, "{name}: {error}");
        }
        let loaded = load(&attack.repo.fixture.path(".git"));
        let bytes: usize = loaded.items.iter().map(|memory| memory.text.len() + memory.title.len()).sum();
        assert!(bytes < 40 << 20, "{name}: {bytes}");
    }
}

/// A remote has as many files as are read.
#[test]
fn nothing_is_put_on_top_of_a_full_journal() {
    let mut attack = Attack::new();
    let own = attack.own_tip();
    let blob = attack.blob(b"x");
    let files: Vec<String> = (0..50_000).map(|number| format!("100644 blob {blob}\t{number}.md")).collect();
    let full = with_tree(&attack, &attack.tree(&files));
    attack.set_tip(&full);
    let refused = attack.take_in().unwrap_err().to_string();
    assert!(refused.contains("more than 50000 files and folders"), "{refused}");
    assert_eq!(attack.own_tip(), own);
    attack.repo.git(&["update-ref", "refs/muninn/journal", &full]);
    let refused = write_error(&attack.journal);
    assert!(matches!(refused, JournalError::Chain(_)), "{refused}");
    assert_eq!(attack.journal.toc(None, 1).unwrap().len(), 50_000);
}

fn write_error(journal: &Journal) -> JournalError {
    journal.write(&section("new"), &draft("text"), Some(Version::New)).unwrap_err()
}

#[test]
fn history_that_is_not_whole_is_refused() {
    let broken: [(&str, Make); 6] = [
        ("a parent is missing", |attack| {
            attack.commit(&attack.small_tree(), Some(&attack.unknown()), EVE, &message("a", "text", ""))
        }),
        ("the tree is missing", |attack| attack.commit(&attack.unknown(), None, EVE, &message("a", "text", ""))),
        ("a file is missing", |attack| {
            with_tree(attack, &attack.tree(&[format!("100644 blob {}\ta.md", attack.unknown())]))
        }),
        ("a file is a tree", |attack| {
            let tree = [b"100644 a.md\0", &*hex(&attack.small_tree())].concat();
            with_tree(attack, &attack.object("tree", &tree))
        }),
        ("no commit at all", |attack| attack.object("commit", b"garbage")),
        ("a tree of garbage", |attack| with_tree(attack, &attack.object("tree", b"100644 garbage"))),
    ];
    for (name, make) in broken {
        let mut attack = Attack::new();
        let tip = attack.own_tip();
        let commit = make(&attack);
        let path = format!("{}/refs/muninn/incoming", attack.git(&["rev-parse", "--absolute-git-dir"], b""));
        std::fs::write(path, format!("{commit}\n")).unwrap();
        let refused = attack.take_in();
        assert!(matches!(&refused, Err(error) if !matches!(error, IntakeError::Merge(_))), "{name}: {refused:?}");
        assert_eq!(attack.own_tip(), tip, "{name}");
    }
}

/// The bytes of an id.
fn hex(id: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
    (0..id.len()).step_by(2).map(digit).collect()
}
