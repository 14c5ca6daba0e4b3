//! Archives that no honest program writes.

use std::collections::BTreeMap;
use std::io::Write;

use super::*;
use crate::{Imported, import};

/// An entry, byte by byte.
#[derive(Clone)]
struct Raw {
    name: Vec<u8>,
    kind: u8,
    /// The size that its header states.
    size: u64,
    content: Vec<u8>,
}

impl Raw {
    fn file(name: &str, content: &[u8]) -> Raw {
        Raw::of(b'0', name, content)
    }

    fn of(kind: u8, name: &str, content: &[u8]) -> Raw {
        Raw { name: name.as_bytes().to_owned(), kind, size: content.len() as u64, content: content.to_owned() }
    }

    fn link(kind: u8, name: &str) -> Raw {
        Raw::of(kind, name, b"")
    }

    fn stating(self, size: u64) -> Raw {
        Raw { size, ..self }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        let fields = header.as_gnu_mut().unwrap();
        let length = self.name.len().min(100);
        fields.name[..length].copy_from_slice(&self.name[..length]);
        fields.linkname[..11].copy_from_slice(b"/etc/passwd");
        fields.typeflag = [self.kind];
        header.set_size(self.size);
        header.set_mode(0o6777);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&self.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

/// The length of the line must count itself.
fn pax(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length);
    format!("{}{rest}", length.unwrap()).into_bytes()
}

fn pack(archive: &Path, entries: &[Raw]) {
    let mut encoder = zstd::Encoder::new(File::create(archive).unwrap(), LEVEL).unwrap();
    for entry in entries {
        encoder.write_all(&entry.bytes()).unwrap();
    }
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap();
}

/// All files, links and directories below a directory, but for those of Muninn itself.
fn found(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

const EVIL: &[u8] = b"[core]\n\tfsmonitor = touch canary\n";

/// The entry of each is named and left, and what the archive holds beside it is taken.
#[test]
fn files_that_no_memory_has_are_named_and_left() {
    for name in [
        "entities/x/.git/config",
        "entities/x/.GIT/config",
        "entities/x/.git",
        "entities/.git/hooks/post-commit",
        ".git/config",
        ".GIT/config",
        "./.git/config",
        ".git /config",
        ".gıt/config",
        ".g\u{200c}it/config",
        "git~1/config",
        "entities/x.git/config",
        "entities/x/HEAD",
        "entities/x/objects/info/alternates",
        ".gitmodules",
        ".gitattributes",
        "state/.gitattributes",
        "entities/people/.gitattributes",
        ".Index/x",
        ".index/writers.lock",
        ".daemon.pid",
        "Identity.md",
        "STATE/inbox.md",
        "state/inbox.md:evil.md",
        "state/inbox.md.",
        "state/a/b/c/d/e.md",
        "bin/claude",
        "muninn.toml",
        "x",
        "journal/today.jsonl",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (root, archive) = (folder.path().join("me"), folder.path().join("a.tar.zst"));
        pack(&archive, &[Raw::file(name, EVIL), Raw::file("identity.md", b"# Ann\n")]);
        let imported = import(&root, &archive, true).unwrap();
        let expected = name.trim_start_matches("./");
        assert_eq!((imported.added, &*imported.left[0].name), (1, expected), "{name}");
        assert_eq!(found(&root).into_keys().collect::<Vec<_>>(), ["identity.md"], "{name}");
    }
}

/// The archive is refused, and nothing of it is there.
#[test]
fn archives_that_lead_outside_or_lie_are_refused_as_a_whole() {
    let first = Raw::file("identity.md", b"# Ann\n");
    let named = |extension: Raw| vec![first.clone(), extension, Raw::file("state/today.md", b"x")];
    let cases: Vec<(&str, Vec<Raw>)> = vec![
        ("up", vec![first.clone(), Raw::file("../x", b"x")]),
        ("up from within", vec![first.clone(), Raw::file("state/../../x", b"x")]),
        ("up at the end", vec![first.clone(), Raw::file("state/..", b"x")]),
        ("absolute", vec![first.clone(), Raw::file("/tmp/muninn-x", b"x")]),
        ("a directory above", vec![first.clone(), Raw::link(b'5', "../up/")]),
        ("hard link", vec![first.clone(), Raw::link(b'1', "state/today.md")]),
        ("symbolic link", vec![first.clone(), Raw::link(b'2', "state/today.md")]),
        ("link for a folder", vec![first.clone(), Raw::link(b'2', "state"), Raw::file("state/today.md", b"x")]),
        ("character device", vec![first.clone(), Raw::link(b'3', "state/today.md")]),
        ("block device", vec![first.clone(), Raw::link(b'4', "state/today.md")]),
        ("pipe", vec![first.clone(), Raw::link(b'6', "state/today.md")]),
        ("sparse file", vec![first.clone(), Raw::link(b'S', "state/today.md")]),
        ("unknown kind", vec![first.clone(), Raw::link(b'Z', "state/today.md")]),
        ("long name up", named(Raw::of(b'L', "././@LongLink", b"state/../../x\0"))),
        ("pax path up", named(Raw::of(b'x', "pax", &pax("path", "../x")))),
        ("pax path for all", named(Raw::of(b'g', "pax", &pax("path", "state/today.md")))),
        ("pax size", named(Raw::of(b'x', "pax", &pax("size", "0")))),
        ("pax sparse", named(Raw::of(b'x', "pax", &pax("GNU.sparse.name", "x")))),
        ("pax without form", named(Raw::of(b'x', "pax", b"no line"))),
        ("size above the content", vec![first.clone(), Raw::file("state/today.md", b"x").stating(100_000)]),
        ("size below the content", vec![first.clone(), Raw::file("state/today.md", &[b'x'; 2_000]).stating(1)]),
        ("size above the limit", vec![first.clone(), Raw::file("state/today.md", b"x").stating(1 << 40)]),
        ("size above all", vec![first.clone(), Raw::file("x.txt", b"x").stating(u64::MAX / 2)]),
        ("long name of a gigabyte", named(Raw::of(b'L', "long", b"x").stating(1 << 30))),
        ("text above its limit", vec![first.clone(), Raw::file("state/today.md", &vec![b'x'; (4 << 20) + 1])]),
        ("settings above their limit", vec![first.clone(), Raw::file("macrodata.json", &[b' '; 65 << 10])]),
    ];
    for (name, entries) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (root, archive) = (folder.path().join("below/me"), folder.path().join("a.tar.zst"));
        pack(&archive, &entries);
        let refused = import(&root, &archive, true);
        assert!(
            matches!(refused, Err(ArchiveError::Foreign { .. } | ArchiveError::Limit { .. })),
            "{name}: {refused:?}"
        );
        assert!(found(&root).is_empty(), "{name}: {:?}", found(&root));
        assert_eq!(found(folder.path()).into_keys().collect::<Vec<_>>(), ["a.tar.zst"], "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (root, archive) = (folder.path().join("me"), folder.path().join("a.tar.zst"));
    for bytes in [&b"text"[..], b"", &[0x28, 0xb5, 0x2f, 0xfd], &[0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff]] {
        fs::write(&archive, bytes).unwrap();
        let imported = import(&root, &archive, true);
        let is_empty = imported.as_ref().is_ok_and(|imported| *imported == Imported::default());
        assert!(is_empty || matches!(imported, Err(ArchiveError::Foreign { .. })), "{imported:?}");
        assert!(found(&root).is_empty());
    }
}

#[test]
fn names_that_some_systems_take_for_each_other_are_taken_once() {
    let folder = tempfile::tempdir().unwrap();
    let (root, archive) = (folder.path().join("me"), folder.path().join("a.tar.zst"));
    let names = [
        "entities/people/ann.md",
        "entities/people/ann.md",
        "entities/people/ANN.md",
        "entities/people/jörg.md",
        "entities/people/jo\u{308}rg.md",
        "entities/people/ｘ.md",
        "entities/people/x.md",
        "entities/People/ann.md",
    ];
    let entries: Vec<Raw> = (0..).zip(names).map(|(at, name)| Raw::file(name, &[b'0' + at])).collect();
    pack(&archive, &entries);
    let imported = import(&root, &archive, true).unwrap();
    assert_eq!((imported.added, imported.left.len()), (3, 5), "{imported:?}");
    let texts: Vec<Vec<u8>> = found(&root).into_values().collect();
    assert_eq!(texts, [b"0", b"3", b"5"], "the first of each counts");
}

/// A part of a bomb, compressed once: parts of a zstd stream can follow each other any number of times.
fn frame(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Each would fill the memory or the disk.
#[test]
fn bombs_are_refused_with_nothing_written() {
    let megabyte = frame(&vec![0; 1 << 20]);
    let texts = |number: usize, size: usize| {
        let name = format!("entities/people/{number}.md");
        frame(&Raw::file(&name, b"").stating(size as u64).bytes())
    };
    let million = frame(&Raw::file("x", b"").bytes().repeat(1_000)).repeat(1_000);
    let deep = |depth: usize| {
        let named = Raw::of(b'L', "long", ("d/".repeat(depth) + "x.md").as_bytes()).bytes();
        frame(&[named, Raw::file("x", b"x").bytes()].concat())
    };
    let cases: [(&str, Vec<u8>); 7] = [
        (
            "many texts at their limit",
            (0..400).flat_map(|at| [texts(at, 4 << 20), megabyte.repeat(4)].concat()).collect(),
        ),
        (
            "one left file of 1.6 GB",
            [frame(&Raw::file("x.bin", b"").stating(1600 << 20).bytes()), megabyte.repeat(1600)].concat(),
        ),
        ("a million entries", million),
        ("deep paths", deep(30_000)),
        ("many deep paths", deep(2_000).repeat(100_000)),
        ("many files", (0..30_000).flat_map(|at| texts(at, 0)).collect()),
        (
            "a file, and a left one of 8 GB",
            [texts(0, 0), frame(&Raw::file("y.bin", b"").stating(1 << 33).bytes()), megabyte.repeat(1 << 13)].concat(),
        ),
    ];
    for (name, bytes) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (root, archive) = (folder.path().join("me"), folder.path().join("a.tar.zst"));
        fs::write(&archive, bytes).unwrap();
        let began = std::time::Instant::now();
        let refused = import(&root, &archive, true);
        println!("{name}: {:?}", began.elapsed());
        assert!(matches!(refused, Err(ArchiveError::Limit { .. })), "{name}: {refused:?}");
        assert!(found(&root).is_empty(), "{name}");
    }
}

/// An archive in an archive is one file that no memory has.
#[test]
fn nested_archive_and_large_window_unpack_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (root, archive) = (folder.path().join("me"), folder.path().join("a.tar.zst"));
    pack(&archive, &[Raw::file("identity.md", b"x")]);
    let inner = fs::read(&archive).unwrap();
    pack(&archive, &[Raw::file("inner.tar.zst", &inner)]);
    assert_eq!(import(&root, &archive, true).unwrap().left[0].name, "inner.tar.zst");
    let mut encoder = zstd::Encoder::new(File::create(&archive).unwrap(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&Raw::file("identity.md", b"x").bytes()).unwrap();
    encoder.finish().unwrap();
    assert!(matches!(import(&root, &archive, true), Err(ArchiveError::Foreign { .. })));
    assert!(found(&root).is_empty());
}

/// Whatever an archive holds, only files of a memory are in the directory afterwards, and nothing is beside it.
#[test]
fn generated_archives_write_only_files_of_a_memory() {
    let mut rng = fastrand::Rng::with_seed(48);
    let parts = [
        "state", "entities", "journal", "reminders", "signals", "people", ".git", ".GIT", "git~1", "..", ".", "", "x",
        "identity.md", "today.md", "macrodata.json", "2027-01-01.jsonl", "tea.json", ".gitattributes", "config",
        "hooks", ".index", "a\\b", "NUL.md", "C:", "\u{202e}x.md", "jörg.md", "jo\u{308}rg.md", "X.MD", "x.md ",
        ".gitmodules", "objects",
    ];
    let kinds = *b"00000000007555123467LKxgSVZ\0";
    let mut taken = 0;
    for number in 0..200 {
        let folder = tempfile::tempdir().unwrap();
        let (root, archive) = (folder.path().join("me"), folder.path().join("a.tar.zst"));
        let is_mild = rng.bool();
        let mut entries = Vec::new();
        for _ in 0..rng.usize(1..12) {
            let depth = rng.usize(1..5);
            let mut name: Vec<&str> = (0..depth).map(|_| *rng.choice(parts.iter()).unwrap()).collect();
            // So that some of them are taken.
            if rng.bool() {
                name = vec!["entities", "people", *rng.choice(["a.md", "b.md", ".git", "jörg.md"].iter()).unwrap()];
            }
            let mut name = name.join("/");
            let kind = if is_mild { b'0' } else { *rng.choice(kinds.iter()).unwrap() };
            if is_mild {
                name = name.replace("..", "up").trim_start_matches('/').to_owned();
            }
            let content: Vec<u8> = match rng.u8(0..4) {
                0 => EVIL.to_vec(),
                1 => pax("path", &name),
                2 => TEA.as_bytes().to_vec(),
                _ => name.clone().into_bytes(),
            };
            let mut entry = Raw::of(kind, &name, &content);
            if !is_mild && rng.u8(0..10) == 0 {
                entry = entry.stating(rng.u64(0..1 << 34));
            }
            entries.push(entry);
        }
        pack(&archive, &entries);
        let imported = import(&root, &archive, rng.bool());
        let there = found(&root);
        assert!(imported.is_ok() || there.is_empty(), "{number}: {there:?}");
        assert!(there.keys().all(|path| FileKind::of(path).is_some()), "{number}: {there:?}");
        let is_inside = |path: &String| path.starts_with("me/") || path == "a.tar.zst";
        assert!(found(folder.path()).keys().all(is_inside), "{number}");
        taken += there.len();
    }
    assert!(taken > 100, "{taken} files were taken");
}
