//! Archives of every kind, and what of them reaches the directory.

use std::fs;

use muninn_notebooks::personal::layout::FileKind;

use super::*;
use crate::import;

mod hostile;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// An entry of the journal.
fn entry(content: &str) -> String {
    format!(r#"{{"timestamp":"2027-01-01T00:00:00.000Z","topic":"t","content":"{content}"}}"#)
}

const TEA: &str = r#"{"id":"tea","type":"cron","expression":"0 9 * * *","description":"Tea","payload":"p"}"#;

#[test]
fn archive_brings_what_is_missing_and_replaces_nothing_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there, archive) =
        (folder.path().join("here"), folder.path().join("there"), folder.path().join("me.tar.zst"));
    let [a, b, c] = ["a", "b", "c"].map(entry);
    let long = format!("entities/people/{}.md", "long ".repeat(30).trim());
    write(
        &here,
        &[
            ("identity.md", "# Ann\n"),
            ("journal/2027-01-01.jsonl", &format!("{a}\n{b}\n")),
            ("entities/people/jörg.md", "# Jörg\n"),
            (&long, "# Long\n"),
            ("reminders/tea.json", TEA),
            ("notes.txt", "no part"),
            (".index/x", "rebuilt"),
            (".git/HEAD", "ref"),
            (".daemon.pid", "1"),
        ],
    );
    let exported = export(&here, &archive).unwrap();
    assert_eq!((exported.files, &*exported.left[0].name, exported.left.len()), (5, "notes.txt", 1));
    assert!(matches!(export(&here, &archive), Err(ArchiveError::Io { .. })), "an archive is not overwritten");
    write(&there, &[("identity.md", "# Somebody\n"), ("journal/2027-01-01.jsonl", &format!("{c}\n{b}"))]);
    let imported = import(&there, &archive, false).unwrap();
    let read = |name: &str| fs::read_to_string(there.join(name)).unwrap();
    assert_eq!(
        (imported.added, imported.merged, imported.kept, imported.left),
        (3, 1, vec!["identity.md".to_owned()], Vec::new())
    );
    assert_eq!(imported.waiting, ["reminders/tea.json"]);
    assert_eq!(read("identity.md"), "# Somebody\n");
    assert_eq!(read("journal/2027-01-01.jsonl"), format!("{c}\n{b}\n{a}\n"));
    assert_eq!(read("entities/people/jörg.md"), "# Jörg\n");
    assert_eq!(read(&long), "# Long\n");
    assert!(!there.join(".git").exists() && !there.join(".index/x").exists());
    assert_eq!(fs::read_dir(there.join(".index")).unwrap().count(), 0, "nothing is left");
    assert_eq!(import(&there, &archive, false).unwrap().unchanged, 4);
    let replaced = import(&there, &archive, true).unwrap();
    assert_eq!((replaced.replaced, replaced.waiting.len()), (1, 0));
    assert_eq!(read("identity.md"), "# Ann\n");
}

#[cfg(unix)]
#[test]
fn links_are_neither_exported_nor_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there, archive) =
        (folder.path().join("here"), folder.path().join("there"), folder.path().join("me.tar.zst"));
    write(&here, &[("entities/people/a.md", "a")]);
    std::os::unix::fs::symlink("/etc/passwd", here.join("entities/people/b.md")).unwrap();
    let exported = export(&here, &archive).unwrap();
    assert_eq!((exported.files, exported.left.len()), (1, 1));
    for (name, target) in [
        ("entities", folder.path()),
        ("entities/people", folder.path()),
        ("entities/people/a.md", &folder.path().join("victim")),
        ("entities/people/a.tmp", &folder.path().join("victim")),
        (".index", folder.path()),
    ] {
        let there = there.join(name.replace('/', "-"));
        let link = there.join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        let imported = import(&there, &archive, true);
        // The name of a temporary file is free again.
        assert_eq!(imported.is_ok(), name.ends_with(".tmp"), "{name}: {imported:?}");
        assert!(!folder.path().join("people").exists() && !folder.path().join("victim").exists());
    }
}

#[test]
fn settings_of_an_archive_send_and_run_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    write(
        &here,
        &[(
            "macrodata.json",
            r#"{"git":{"enabled":true,"autoCommit":true,"remote":"/tmp/evil"},"search":{"model":"evil/model","indexOnWrite":false},
                "daemon":{"enabled":false,"checkInterval":0},"agents":{"claude":{"enabled":true}},"root":"/"}"#,
        )],
    );
    let archive = folder.path().join("me.tar.zst");
    export(&here, &archive).unwrap();
    let imported = import(&there, &archive, false).unwrap();
    let left: Vec<&str> = imported.left.iter().map(|left| &*left.name).collect();
    assert_eq!(
        left,
        [
            "macrodata.json: agents.claude",
            "macrodata.json: daemon.checkInterval",
            "macrodata.json: daemon.enabled",
            "macrodata.json: git.autoCommit",
            "macrodata.json: git.enabled",
            "macrodata.json: git.remote",
            "macrodata.json: root",
            "macrodata.json: search.model",
        ]
    );
    let read =
        || -> serde_json::Value { serde_json::from_slice(&fs::read(there.join("macrodata.json")).unwrap()).unwrap() };
    assert_eq!(read(), serde_json::json!({"search": {"indexOnWrite": false}}));
    // The user's own settings stay, also with `--force`.
    let own = r#"{"git":{"enabled":true},"search":{"indexOnWrite":true}}"#;
    write(&there, &[("macrodata.json", own)]);
    assert_eq!(import(&there, &archive, false).unwrap().kept, ["macrodata.json"]);
    assert_eq!(import(&there, &archive, true).unwrap().replaced, 1);
    let expected = serde_json::json!({"git": {"enabled": true}, "search": {"indexOnWrite": false}});
    assert_eq!(read(), expected);
    assert_eq!(import(&there, &archive, true).unwrap().unchanged, 1);
}

#[test]
fn reminders_of_an_archive_are_marked_whatever_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let claims = TEA.replace('}', r#","muninn":{"action":"agent","fromTools":false}}"#);
    write(&here, &[("reminders/tea.json", &claims), ("reminders/other.json", TEA), ("reminders/bad.json", "{")]);
    let archive = folder.path().join("me.tar.zst");
    export(&here, &archive).unwrap();
    let imported = import(&there, &archive, false).unwrap();
    assert_eq!(imported.waiting, ["reminders/tea.json"]);
    let left: Vec<&str> = imported.left.iter().map(|left| &*left.name).collect();
    assert_eq!(left, ["reminders/bad.json", "reminders/other.json"]);
    let text = fs::read_to_string(there.join("reminders/tea.json")).unwrap();
    assert!(text.contains(r#""fromTools": true"#), "{text}");
    assert_eq!(import(&there, &archive, false).unwrap().unchanged, 1);
}

/// Lines of an archive cost time and memory whenever the journal is read.
#[test]
fn only_lines_that_parse_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let signal = r#"{"timestamp":"2027-01-01T00:00:00.000Z","type":"search"}"#;
    let good = entry("a");
    write(
        &here,
        &[
            ("journal/2027-01-01.jsonl", &"{}\n".repeat(300_000)),
            ("journal/2027-01-02.jsonl", &format!("{{}}\n{good}\nno json\n\n[]")),
            ("journal/2027-01-03.jsonl", &good),
            ("signals/2027-01-01.jsonl", &format!("{good}\n{signal}\n")),
            ("signals/2027-01-02.jsonl", "null\n"),
        ],
    );
    let archive = folder.path().join("me.tar.zst");
    export(&here, &archive).unwrap();
    let imported = import(&there, &archive, false).unwrap();
    let left: Vec<&str> = imported.left.iter().map(|left| &*left.name).collect();
    assert_eq!(
        left,
        [
            "journal/2027-01-01.jsonl: 200000 lines",
            "journal/2027-01-01.jsonl: further lines",
            "journal/2027-01-02.jsonl: 3 lines",
            "signals/2027-01-01.jsonl: 1 line",
            "signals/2027-01-02.jsonl: 1 line",
        ]
    );
    let read = |name: &str| fs::read_to_string(there.join(name)).unwrap();
    assert_eq!(imported.added, 3);
    assert_eq!(read("journal/2027-01-02.jsonl"), format!("{good}\n"));
    assert_eq!(read("signals/2027-01-01.jsonl"), format!("{signal}\n"));
    assert!(!there.join("journal/2027-01-01.jsonl").exists());
}

/// A file of a day that is too large is left out of exports and versions.
#[test]
fn day_does_not_grow_beyond_what_exports_take() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let (name, own) = ("journal/2027-01-01.jsonl", entry("my own"));
    let of_archive: String = (0..160).map(|at| entry(&format!("{at}{}", "x".repeat(100_000))) + "\n").collect();
    let padding = format!("{own}\n{}", (entry(&"y".repeat(90_000)) + "\n").repeat(10));
    assert!(of_archive.len() < 16 << 20 && of_archive.len() + padding.len() > 16 << 20);
    write(&here, &[(name, &of_archive)]);
    write(&there, &[(name, &padding)]);
    let archive = folder.path().join("me.tar.zst");
    export(&here, &archive).unwrap();
    let imported = import(&there, &archive, true).unwrap();
    assert_eq!((imported.merged, imported.kept), (0, vec![name.to_owned()]));
    assert_eq!(fs::read_to_string(there.join(name)).unwrap(), padding);
    let exported = export(&there, &folder.path().join("again.tar.zst")).unwrap();
    assert_eq!((exported.files, exported.left), (1, Vec::new()));
}
