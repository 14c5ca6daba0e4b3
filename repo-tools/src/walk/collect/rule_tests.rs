//! The walk's ignore rules beside those of git, and hostile ignore files.

use std::collections::BTreeSet;

use crate::fixture::{Fixture, make_pipe};
use crate::{SkipCounts, Walk, WalkLimits, walk};

/// A generator of numbers with a fixed seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn of<'t>(&mut self, table: &[&'t str]) -> &'t str {
        table[self.below(table.len())]
    }
}

/// Directories and names that the patterns are made of.
const DIRECTORIES: [&str; 10] = ["", "a/", "b/", "a/b/", "a/a/", "a/b/a/", "foo/", "foo/bar/", "foo/a/", "foo/a/bar/"];
const NAMES: [&str; 12] = ["a", "b", "ab", "foo.o", "bar.log", "foo bar", "[x]", "x!", "#a", "!b", "a\\b", "Foo.O"];
const PIECES: [&str; 44] = [
    "a", "b", "ab", "foo", "bar", "foo.o", "*", "**", "*.o", "*.log", "*a", "a*", "*a*", "?", "??", "a?", "[ab]",
    "[!a]", "[^a]", "[a-f]*", "[[:alpha:]]", "[[:upper:]]*", "[[:foo:]]", "[]a]", "[a", "\\[x\\]", "[[]x]", "\\#a",
    "#a", "\\!b", "x!", "a\\\\b", "foo\\ bar", "foo bar", "***", "a**", "**b", "*[.]o", "[a-]", "[\\a]", "{a,b}",
    "fo[o]*", "a\\", "*.[ol]*",
];

fn pattern(numbers: &mut Numbers) -> String {
    let mut pattern = String::new();
    if numbers.below(5) == 0 {
        pattern.push('!');
    }
    if numbers.below(4) == 0 {
        pattern.push('/');
    }
    for part in 0..=[0, 0, 0, 1, 1, 2, 3][numbers.below(7)] {
        if part > 0 {
            pattern.push('/');
        }
        pattern.push_str(numbers.of(&PIECES));
    }
    pattern.push_str(numbers.of(&["", "", "", "", "/", "/**", " ", "  ", "\\ ", "\r", "\t"]));
    pattern
}

fn walked(repo: &Fixture) -> BTreeSet<String> {
    let walk = walk(&repo.worktree(), &WalkLimits::default());
    walk.files.into_iter().map(|file| file.path.to_string()).collect()
}

fn untracked(repo: &Fixture) -> BTreeSet<String> {
    let files = repo.git(&["ls-files", "-z", "--others", "--exclude-standard"]);
    files.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

#[test]
fn generated_patterns_ignore_what_git_ignores() {
    let repo = Fixture::with(&[]);
    for directory in DIRECTORIES {
        for name in NAMES {
            // No name is both a file and a directory.
            let is_directory = DIRECTORIES.contains(&format!("{directory}{name}/").as_str());
            if !is_directory {
                repo.write(&format!("{directory}{name}"), b"x");
            }
        }
    }
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..400 {
        let mut rules = Vec::new();
        for file in [".gitignore", "a/.gitignore", "a/b/.gitignore", "foo/.gitignore", ".git/info/exclude"] {
            let lines: Vec<String> = (0..numbers.below(4)).map(|_| pattern(&mut numbers)).collect();
            let mark = if numbers.below(20) == 0 { "\u{feff}" } else { "" };
            let text = format!("{mark}{}", lines.join("\n"));
            repo.write(file, text.as_bytes());
            rules.push((file, text));
        }
        assert_eq!(walked(&repo), untracked(&repo), "round {round}: {rules:#?}");
    }
}

#[test]
fn precedence_of_ignore_files_is_that_of_git() {
    for (files, shown) in [
        (&[(".gitignore", "*.x"), ("d/.gitignore", "!k.x"), ("d/k.x", ""), ("d/l.x", "")][..], &["d/k.x"][..]),
        (&[(".gitignore", "d/"), ("d/.gitignore", "!*"), ("d/k", "")], &[]),
        (&[(".gitignore", "d/*\n!d/k"), ("d/k", ""), ("d/l", "")], &["d/k"]),
        (&[(".gitignore", "/d"), ("d", ""), ("e/d", "")], &["e/d"]),
        (&[(".gitignore", "d/"), ("d", ""), ("e/d/x", "")], &["d"]),
        (&[(".gitignore", "d/e"), ("d/e", ""), ("f/d/e", "")], &["f/d/e"]),
        (&[(".git/info/exclude", "k"), (".gitignore", "!k"), ("k", "")], &["k"]),
        (&[(".git/info/exclude", "/d/k"), ("d/k", ""), ("e/d/k", "")], &["e/d/k"]),
        (&[("d/.gitignore", "/k"), ("d/k", ""), ("d/e/k", "")], &["d/e/k"]),
        (&[(".gitignore", "k\r\nl \nm\\ \n"), ("k", ""), ("l", ""), ("m ", ""), ("n", "")], &["n"]),
        (&[(".gitignore", "a\0b\n"), ("a", ""), ("b", "")], &["b"]),
        // Not git's: `.ignore` takes precedence.
        (&[(".gitignore", "k\nl"), (".ignore", "!k"), ("k", ""), ("l", "")], &["k"]),
        (&[("d/.gitignore", "!k"), (".ignore", "k"), ("d/k", "")], &[]),
    ] {
        let repo = Fixture::with(files);
        let found: Vec<String> = walked(&repo).into_iter().filter(|path| !path.ends_with("ignore")).collect();
        assert_eq!(found, shown, "{files:?}");
        if !files.iter().any(|(name, _)| *name == ".ignore") {
            assert_eq!(walked(&repo), untracked(&repo), "{files:?}");
        }
    }
}

#[test]
fn a_linked_worktree_has_the_rules_of_its_repository() {
    let repo = Fixture::with(&[(".gitignore", "*.o\n")]);
    repo.commit();
    repo.git(&["worktree", "add", "-q", "side"]);
    repo.write(".git/info/exclude", b"k\n");
    for name in ["side/k", "side/l", "side/m.o"] {
        repo.write(name, b"x");
    }
    let side = crate::Worktree::discover(&repo.path("side")).unwrap();
    let found = walk(&side, &WalkLimits::default());
    let found: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(found, [".gitignore", "l"]);
}

/// Makes the file at a path.
type Make = fn(&std::path::Path);

fn link(to: &str, path: &std::path::Path) {
    std::os::unix::fs::symlink(to, path).unwrap();
}

#[cfg(unix)]
#[test]
fn hostile_ignore_files_neither_block_nor_fill_memory() {
    // Whether the directory of the file counts as ignored.
    let kinds: [(&str, Make, bool); 13] = [
        ("pipe", |path| make_pipe(path), false),
        ("link to an endless device", |path| link("/dev/zero", path), false),
        (
            "link to a pipe",
            |path| {
                let pipe = path.with_extension("pipe");
                make_pipe(&pipe);
                link(pipe.to_str().unwrap(), path);
            },
            false,
        ),
        ("link to itself", |path| link(path.to_str().unwrap(), path), false),
        ("link to nothing", |path| link("gone", path), false),
        ("link to a file beside", |path| link("kept.txt", path), false),
        ("directory", |path| std::fs::create_dir(path).unwrap(), false),
        ("socket", |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()), false),
        ("6 MB", |path| std::fs::write(path, "pattern-number\n".repeat(400_000)).unwrap(), true),
        ("300 MB of nothing", |path| std::fs::File::create(path).unwrap().set_len(300 << 20).unwrap(), true),
        ("a byte too large", |path| std::fs::write(path, " ".repeat((256 << 10) + 1)).unwrap(), true),
        ("a pattern too many", |path| std::fs::write(path, "k\n".repeat(20_001)).unwrap(), true),
        ("all patterns", |path| std::fs::write(path, "k\n".repeat(20_000)).unwrap(), false),
    ];
    for (kind, make, hidden) in kinds {
        for place in [".gitignore", ".ignore", "deep/er/.gitignore", "deep/er/.ignore", ".git/info/exclude"] {
            let repo = Fixture::with(&[("top.txt", "x"), ("deep/kept.txt", "x"), ("deep/er/kept.txt", "x")]);
            std::fs::remove_dir_all(repo.path(".git/info")).ok();
            std::fs::create_dir(repo.path(".git/info")).unwrap();
            make(&repo.path(place));
            let found = walk(&repo.worktree(), &WalkLimits::default());
            let shown = found.files.iter().filter(|file| file.path.as_str().ends_with("txt")).count();
            let expected = match place {
                _ if !hidden => 3,
                "deep/er/.gitignore" | "deep/er/.ignore" => 2,
                _ => 0,
            };
            assert_eq!(shown, expected, "{kind} at {place}");
            assert_eq!(found.skipped.ignore_files, usize::from(hidden), "{kind} at {place}");
        }
    }
}

#[test]
fn rules_that_are_not_followed_are_described() {
    let counts = SkipCounts { ignore_files: 2, ..SkipCounts::default() };
    assert!(counts.describe().starts_with("directories with an ignore file"), "{}", counts.describe());
}

/// Walks a repository with this `.gitignore` in each of nested directories, and these files in the deepest.
fn costly(patterns: &str, depth: usize, files: &[String]) -> Walk {
    let repo = Fixture::with(&[]);
    let mut directory = String::new();
    for _ in 0..depth {
        repo.write(&format!("{directory}.gitignore"), patterns.as_bytes());
        directory.push_str("a/");
    }
    for file in files {
        repo.write(&format!("{directory}{file}"), b"");
    }
    walk(&repo.worktree(), &WalkLimits::default())
}

#[test]
fn costly_patterns_end_in_bounded_time() {
    let long =
        |byte: &str, count: usize| -> Vec<String> { (0..count).map(|n| format!("{}{n}", byte.repeat(240))).collect() };
    let deep = [format!("{}x", "a/".repeat(60))];
    let lines = |line: &str| {
        let count = (255 << 10) / (line.len() + 1);
        format!("{line}\n").repeat(count.min(20_000))
    };
    for (name, patterns, depth, files) in [
        ("stars", lines(&format!("{}b", "*a".repeat(100))), 1, long("a", 200)),
        ("short stars", lines("*a*a*a*b"), 1, long("a", 200)),
        ("directories", lines(&format!("{}b", "**/a/".repeat(60))), 1, deep.to_vec()),
        ("stars and directories", lines(&format!("{}b", "**/*a*/".repeat(30))), 1, deep.to_vec()),
        ("classes", lines(&format!("*[{}]b", "a-z".repeat(2000))), 1, long("a", 200)),
        ("open classes", lines("*[[[[[[[[[[[["), 1, long("a", 200)),
        ("braces", lines(&format!("*{}", "{a,b}".repeat(40))), 1, long("a", 200)),
        ("question marks", lines(&format!("*{}b", "?".repeat(200))), 1, long("a", 200)),
        ("a chain", lines("x*y"), 40, long("a", 20)),
        ("escapes", lines(&"\\a".repeat(120)), 1, long("a", 200)),
        ("one open class", format!("[{}", "a".repeat(255 << 10)), 1, long("a", 200)),
    ] {
        // Without a bound, it would not end.
        let walk = costly(&patterns, depth, &files);
        // Whatever was not decided is not shown.
        let shown = walk.files.iter().any(|file| file.path.as_str().ends_with(".gitignore"));
        assert!(shown, "{name}: files above are shown");
        assert!(name != "one open class" || walk.skipped.ignore_files > 0, "{name}");
    }
}
