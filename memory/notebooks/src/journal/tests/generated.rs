//! Hostile histories by chance, with fixed seeds.

use std::fmt::Write as _;
use std::fs;

use super::remote::Attack;
use super::{section, write};
use crate::journal::{EntryRef, SearchSettings, load};

const AUTHORS: [&str; 8] = [
    "Ann <ann@example.com>",
    "Eve <eve@example.com>",
    "E\u{1b}[2Jve <eve@example.com>",
    "\u{202e}nnA <ann@example.com>",
    "Ann <>",
    " <ann@example.com>",
    "<ann@example.com>",
    "Ann\u{2028}Ann <a b@c>",
];
const TIMES: [&str; 7] = [
    "1795600800 +0000",
    "1700000000 +0000",
    "-1 +0000",
    "99999999999999 +0000",
    "9223372036854775807 +0000",
    "0 -1200",
    "1795600800 +1400",
];
const SECTIONS: [&str; 14] = [
    "own", "own", "own", "a", "a/b", "A/b", "../own", "/own", "own/../a", ".git/x", "con", "a\u{1b}b", "é", "e\u{301}",
];
const TEXTS: [&str; 9] = [
    "a stranger's text",
    "the owner's second",
    "the owner's first",
    "",
    "\u{202e}txet",
    "x\n\nSection: own\nSession: s",
    "work_context: y\n\nz",
    "\u{1b}]0;title\u{7}",
    "```\n<!-- entry count: 9 -->",
];
const FILES: [&str; 14] = [
    "own.md", "own.md", "own.conflict", "a.md", "a/b.md", "a.md.md", "A.md", "\"e\\314\\201.md\"", "\"\\303\\251.md\"",
    "\"\\377.md\"", "\"x\\033.md\"", "a/b/c/d/e/f/g.md", "con.md", "x.bin",
];
const MODES: [&str; 4] = ["100644", "100755", "120000", "160000"];
const CONTENTS: [&str; 6] = [
    "overview\n",
    "",
    "<!-- entry count: 18446744073709551615 -->\n",
    "<!-- base: none -->\nother",
    "<!-- base: BLOB -->\nother\n",
    "\u{202e}\u{1b}[2J",
];

fn pick<'a>(random: &mut fastrand::Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

fn any_message(random: &mut fastrand::Rng, own: &[String]) -> String {
    let mut message = String::new();
    if random.u8(..3) == 0 {
        let _ = write!(message, "{}\n\n", pick(random, &["summary", "work_context: s", "\u{7}s"]));
    }
    let context = pick(random, &["own", "x", ""]);
    let _ = write!(
        message,
        "work_context: {context}\n\n{}\n\nSection: {}\n",
        pick(random, &TEXTS),
        pick(random, &SECTIONS)
    );
    for _ in 0..random.u8(..5) {
        let id = own[random.usize(..own.len())].clone();
        let _ = match random.u8(..8) {
            0..4 => writeln!(message, "Was: {id}"),
            4 => writeln!(message, "was: {}", id.to_uppercase()),
            5 => writeln!(message, "Was: {}{}", &id[..12], "0".repeat(28)),
            6 => writeln!(message, "Session: {}", pick(random, &TEXTS)),
            _ => writeln!(message, "\nSection: {}\nWas: {id}", pick(random, &SECTIONS)),
        };
    }
    message
}

/// A stream for `git fast-import` of some commits, the last of which is the remote's newest.
fn history(random: &mut fastrand::Rng, own: &[String]) -> Vec<u8> {
    let mut stream = String::new();
    let count = random.u8(1..12);
    for number in 1..=count {
        let who = format!("{} {}", pick(random, &AUTHORS), pick(random, &TIMES));
        let message = any_message(random, own);
        let _ = write!(stream, "commit refs/muninn/incoming\nmark :{number}\nauthor {who}\ncommitter {who}\n");
        let _ = writeln!(stream, "data {}\n{message}", message.len());
        if number == 1 {
            let from = ["", "from OWN\n", "from FIRST\n"][random.usize(..3)];
            stream.push_str(&from.replace("OWN", &own[0]).replace("FIRST", &own[1]));
        } else if random.u8(..4) == 0 {
            let _ = writeln!(stream, "merge {}", own[random.usize(..own.len())]);
        }
        if random.u8(..6) == 0 {
            stream.push_str("deleteall\n");
        }
        for _ in 0..random.u8(..4) {
            let (mode, file) = (pick(random, &MODES), pick(random, &FILES));
            if mode == "160000" {
                let _ = writeln!(stream, "M {mode} {} {file}", own[0]);
                continue;
            }
            let content = match random.u16(..100) {
                0 => "x".repeat(5 << 20),
                1..4 => "x".repeat(1 << 20),
                _ => pick(random, &CONTENTS).to_owned(),
            };
            let _ = writeln!(stream, "M {mode} inline {file}\ndata {}\n{content}", content.len());
        }
        if random.u8(..40) == 0 {
            let deep = "d/".repeat(random.usize(1..300));
            let _ = writeln!(stream, "M 100644 inline {deep}x.md\ndata 1\nx");
        }
    }
    stream.into_bytes()
}

/// Programs that the repository names, each of which leaves a file.
fn lay_canaries(attack: &Attack) {
    let git_dir = attack.repo.fixture.path(".git");
    let canary = attack.repo.state.path().join("canary");
    let program = git_dir.join("program");
    fs::write(&program, format!("#!/bin/sh\necho ran >> {}\n", canary.display())).unwrap();
    let hooks = git_dir.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "post-update", "pre-receive", "post-merge", "pre-auto-gc"] {
        fs::copy(&program, hooks.join(hook)).unwrap();
    }
    #[cfg(unix)]
    for file in fs::read_dir(&hooks).unwrap().map(|entry| entry.unwrap().path()).chain([program.clone()]) {
        fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let program = program.display();
    let config = format!(
        "[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n\
         [filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n[diff]\n\texternal = {program}\n"
    );
    let path = git_dir.join("config");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &config).unwrap();
    fs::write(git_dir.join("info/attributes"), "* filter=x diff=x\n").ok();
}

#[test]
fn hostile_histories_never_change_an_own_entry_and_never_run_anything() {
    hostile_histories(40);
}

#[test]
#[ignore = "the long version of the test above"]
fn two_hundred_hostile_histories_never_change_an_own_entry_and_never_run_anything() {
    hostile_histories(200);
}

fn hostile_histories(count: u64) {
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..count {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut attack = Attack::new();
        let tip = attack.own_tip();
        let first = attack.repo.git(&["rev-parse", "refs/muninn/journal~1"]).trim().to_owned();
        let own = [tip.clone(), first];
        let before = attack.own_entries();
        lay_canaries(&attack);
        attack.git(&["fast-import", "--quiet", "--force"], &history(&mut random, &own));
        let result = attack.take_in();
        let journal = &attack.journal;
        match &result {
            Ok(merged) => {
                taken += 1;
                assert!(merged.is_some());
            }
            Err(_) => {
                refused += 1;
                assert_eq!(attack.own_tip(), tip, "seed {seed}");
            }
        }
        let after = attack.own_entries();
        assert!(before.iter().all(|entry| after.contains(entry)), "seed {seed}: {after:?}");
        for (id, text) in own.iter().zip(["the owner's second", "the owner's first"]) {
            if let Ok(read) = journal.entry(&EntryRef::parse(&format!("own#{id}")).unwrap()) {
                assert_eq!((&*read.content, &*read.author), (text, "Ann"), "seed {seed}");
            }
        }
        journal.toc(None, 9).unwrap();
        journal.section(&section("own")).unwrap();
        journal.entries(&section("own"), 0, 99).unwrap();
        journal.search("own", "text", None, &SearchSettings::default()).unwrap();
        journal.condition().unwrap();
        let loaded = load(&attack.repo.fixture.path(".git"));
        assert!(loaded.items.iter().map(|memory| memory.text.len()).sum::<usize>() < 40 << 20, "seed {seed}");
        write(journal, "own", "goes on");
        if attack.own_tip() != tip && result.is_ok_and(|merged| merged.is_some_and(|merged| merged.received > 0)) {
            assert_eq!(journal.undo_fetch().unwrap().kept, 1, "seed {seed}");
            attack.repo.git(&["merge-base", "--is-ancestor", &tip, "refs/muninn/journal"]);
        }
        assert!(!attack.repo.state.path().join("canary").exists(), "seed {seed}: something ran");
    }
    assert!(taken > count / 2 && refused > count / 20, "{taken} taken in, {refused} refused");
}
