//! A differential test: the same patterns and globs find the same lines as the ripgrep binary.
//!
//! Without `rg` the test prints that it is skipped and passes; `.ci/ripgrep` installs it.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use gix::bstr::ByteSlice;
use muninn_base::Until;

use super::*;
use crate::fixture::Fixture;
use crate::grep::MAX_LINE_BYTES;
use crate::{GrepLimits, GrepPattern};

const PATTERNS: usize = 200;

/// A random number generator with a fixed seed, so that failures are reproducible.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

const WORDS: &[&str] = &[
    "refill", "Bucket", "token", "read_line", "HTTP", "caf\u{e9}", "na\u{ef}ve", "x", "fn", "return", "self", "Self",
    "0x1f", "a.b", "foo(bar)", "[x]", "$1", "\\n", "//", "TODO", "\u{4e16}\u{754c}", "-v", "",
];

fn line(dice: &mut Dice) -> String {
    let count = dice.roll(9);
    (0..count).map(|_| dice.pick(WORDS)).collect::<Vec<_>>().join(dice.pick(&[" ", "", "\t", "_"]))
}

fn text(dice: &mut Dice, ending: &str) -> String {
    let lines = dice.roll(60);
    (0..lines).map(|_| line(dice) + ending).collect()
}

/// Creates a worktree with every kind of file that a walk can find, except secrets and nested repositories, because
/// ripgrep would read those.
pub(super) fn awkward_tree(dice: &mut Dice) -> Fixture {
    let repo = Fixture::with(&[(".gitignore", "ignored/\n*.log\n"), ("src/.gitignore", "gen_*\n!gen_keep.rs\n")]);
    let folders =
        ["", "src/", "src/deep/er/", "docs/", "ignored/", ".hidden/", "\u{fc}n\u{ef}/", "new\nline/", "sp ace/"];
    let names = ["a.rs", "b.py", "c.md", "gen_x.rs", "gen_keep.rs", "d.log", "e", ".dot", "caf\u{e9}.txt", "w.TXT"];
    for folder in folders {
        for name in names {
            let ending = if dice.roll(4) == 0 { "\r\n" } else { "\n" };
            repo.write(&format!("{folder}{name}"), text(dice, ending).as_bytes());
        }
    }
    let body = text(dice, "\n");
    repo.write("bom.rs", format!("\u{feff}{body}").as_bytes());
    let wide = |bytes: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        [&mark[..], &body.encode_utf16().flat_map(bytes).collect::<Vec<_>>()].concat()
    };
    repo.write("utf16le.txt", wide(u16::to_le_bytes, [0xff, 0xfe]));
    repo.write("utf16be.txt", wide(u16::to_be_bytes, [0xfe, 0xff]));
    repo.write("latin.c", body.chars().map(|c| if c.is_ascii() { c as u8 } else { 0xe9 }).collect::<Vec<_>>());
    repo.write("nul-first.bin", format!("\0{body}").as_bytes());
    repo.write("nul-late.bin", format!("{body}\0{body}").as_bytes());
    repo.write("nul-very-late.bin", format!("{}\0{body}", body.repeat(200)).as_bytes());
    repo.write("no-end.txt", b"refill token\nBucket");
    repo.write("long.txt", format!("{}\nBucket {}\n", "token ".repeat(20_000), "x".repeat(50_000)).as_bytes());
    repo.write("empty.txt", b"");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("src", repo.path("link-to-folder")).unwrap();
        std::os::unix::fs::symlink("bom.rs", repo.path("link-to-file.rs")).unwrap();
        std::os::unix::fs::symlink("nowhere", repo.path("broken-link")).unwrap();
    }
    repo
}

fn pattern(dice: &mut Dice) -> GrepPattern {
    let word = |dice: &mut Dice| loop {
        let word = dice.pick(WORDS);
        if !word.is_empty() {
            break word;
        }
    };
    if dice.roll(3) == 0 {
        return GrepPattern::Literals(vec![word(dice).to_owned()]);
    }
    let piece = |dice: &mut Dice| match dice.roll(12) {
        0 => r"\w+".to_owned(),
        1 => r"[a-z]{2,5}".to_owned(),
        2 => r"\s".to_owned(),
        3 => r"(?:fn|return)".to_owned(),
        4 => ".".to_owned(),
        5 => r"\b".to_owned(),
        6 => r"\d*".to_owned(),
        7 => r"\p{Greek}?".to_owned(),
        _ => regex_escape(word(dice)),
    };
    let pieces: String = (0..=dice.roll(3)).map(|_| piece(dice)).collect();
    let (start, end) = (dice.pick(&["", "", "", "^"]), dice.pick(&["", "", "", "$"]));
    GrepPattern::Regex(format!("{start}{pieces}{end}"))
}

fn regex_escape(text: &str) -> String {
    text.chars().flat_map(|c| (r"\.+*?()|[]{}^$".contains(c)).then_some('\\').into_iter().chain([c])).collect()
}

pub(super) fn query(dice: &mut Dice) -> GrepQuery {
    let globs: &[&[&str]] = &[
        &[],
        &[],
        &[],
        &["*.rs"],
        &["!*.rs"],
        &["*.rs", "!gen_*"],
        &["src/**"],
        &["**/er/*"],
        &["!docs/"],
        &["*.{py,md}"],
        &["!/src/"],
        &["*.txt", "!caf*"],
    ];
    let mut query = GrepQuery::new(pattern(dice));
    query.case_sensitive = dice.roll(3) != 0;
    query.smart_case = dice.roll(3) == 0;
    query.word = dice.roll(5) == 0;
    query.invert = dice.roll(10) == 0;
    query.filter.globs = dice.pick(globs).iter().map(|glob| (*glob).to_owned()).collect();
    query.detail = [Detail::Lines, Detail::Lines, Detail::Counts, Detail::Files][dice.roll(4)];
    if query.detail == Detail::Lines && dice.roll(3) == 0 {
        query.context = (dice.roll(3), dice.roll(3));
    }
    query.limits = GrepLimits {
        max_matches: usize::MAX,
        max_matches_per_file: usize::MAX,
        max_bytes: usize::MAX,
        max_file_bytes: u64::MAX,
        until: Until::within(Duration::from_secs(300)),
        ..GrepLimits::default()
    };
    query
}

/// The lines that ripgrep prints, with a NUL between the path and the rest.
fn of_ripgrep(repo: &Fixture, query: &GrepQuery) -> BTreeSet<Vec<u8>> {
    let mut command = Command::new("rg");
    command.current_dir(repo.root()).env("HOME", repo.root()).env_remove("XDG_CONFIG_HOME");
    // The rules of this crate's walk: hidden files, and only the repository's own ignore files.
    command
        .args(["--no-config", "--no-ignore-parent", "--no-ignore-global", "--hidden", "--glob=!.git", "--no-heading"]);
    command.args(["--color=never", "--no-messages", "--null", "--no-context-separator"]);
    let case = match (query.case_sensitive, query.smart_case) {
        (false, _) => "--ignore-case",
        (true, true) => "--smart-case",
        (true, false) => "--case-sensitive",
    };
    command.arg(case);
    let flags = [(query.word, "--word-regexp"), (query.invert, "--invert-match")];
    command.args(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag));
    command.args(query.filter.globs.iter().map(|glob| format!("--glob={glob}")));
    match query.detail {
        Detail::Lines => command.args([
            "--line-number".to_owned(),
            format!("-B{}", query.context.0),
            format!("-A{}", query.context.1),
        ]),
        Detail::Counts => command.arg("--count"),
        Detail::Files => command.arg("--files-with-matches"),
    };
    match &query.pattern {
        GrepPattern::Literals(words) => command.args(["--fixed-strings", "-e", &words[0]]),
        GrepPattern::Regex(regex) => command.args(["-e", regex]),
    };
    let output = command.arg("./").output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {output:?}");
    let separator = if query.detail == Detail::Files { b'\0' } else { b'\n' };
    // The one path that contains a line break.
    let printed = output.stdout.replace("new\nline/", "new line/");
    let lines = printed.split(|byte| *byte == separator).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_start_matches("./").trim_end_matches('\r');
            // ripgrep prints this warning between the lines. In our result the warning is a field.
            if text.contains("WARNING: stopped searching binary file") { Vec::new() } else { text.as_bytes().to_vec() }
        })
        .filter(|line| !line.is_empty() && !is_ignored(line))
        .collect()
}

/// Returns whether a line is from an ignored file. ripgrep includes an ignored file that a glob matches; our search
/// never does.
fn is_ignored(line: &[u8]) -> bool {
    let path = String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or(line)).into_owned();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let generated = path.starts_with("src/") && name.starts_with("gen_") && name != "gen_keep.rs";
    generated || path.starts_with("ignored/") || name.ends_with(".log")
}

/// Returns the lines of our result in the same form. Lines longer than our limit are dropped from both results.
fn of_ours(result: &GrepResult, detail: Detail) -> BTreeSet<Vec<u8>> {
    let name = |path: &RelPath| path.as_str().replace('\n', " ");
    let lines = result.matches.iter().map(|line| {
        let mark = if line.context { '-' } else { ':' };
        format!("{}\0{}{mark}{}", name(&line.path), line.line, line.text).into_bytes()
    });
    let counts = result.counts.iter().map(|file| match detail {
        Detail::Files => name(&file.path).into_bytes(),
        _ => format!("{}\0{}", name(&file.path), file.lines).into_bytes(),
    });
    if detail == Detail::Lines { lines.collect() } else { counts.collect() }
}

#[test]
fn finds_what_ripgrep_finds() {
    if Command::new("rg").arg("--version").output().is_err() {
        eprintln!("skipped: `rg` is not installed, so there is nothing to compare with");
        return;
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let repo = awkward_tree(&mut dice);
    let worktree = repo.worktree();
    let (mut tried, mut lines) = (0, 0);
    while tried < PATTERNS {
        let query = query(&mut dice);
        let Ok(ours) = grep(&worktree, &query, None) else {
            continue;
        };
        assert!(!ours.cut, "{query:?}");
        tried += 1;
        // In ripgrep 13, globs do not match paths with a line break.
        let comparable = |line: &Vec<u8>| {
            let odd = !query.filter.globs.is_empty() && line.starts_with(b"new line/");
            // If a file contains a NUL byte, the amount of printed context depends on the buffer's end, in ripgrep too.
            let unsteady = query.context != (0, 0) && line.starts_with(b"nul-very-late.bin");
            line.len() < MAX_LINE_BYTES && !odd && !unsteady
        };
        let short = |lines: BTreeSet<Vec<u8>>| -> BTreeSet<Vec<u8>> { lines.into_iter().filter(comparable).collect() };
        let (ours, theirs) = (short(of_ours(&ours, query.detail)), short(of_ripgrep(&repo, &query)));
        lines += ours.len();
        let difference: Vec<_> =
            ours.symmetric_difference(&theirs).map(|line| String::from_utf8_lossy(line)).take(5).collect();
        assert!(difference.is_empty(), "{query:?}\nours {} theirs {}: {difference:#?}", ours.len(), theirs.len());
    }
    assert!(lines > 10_000, "only {lines} lines were compared");
}
