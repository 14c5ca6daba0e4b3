//! The files that a personal memory consists of: the one list that imports, exports and versions go by.
//!
//! A directory or an archive from elsewhere may hold anything: a git repository whose configuration names programs, links
//! that lead outside, names that another file system takes for one of these. So the list says what is allowed, and
//! everything else is left where it is and named.

use std::path::Path;
use std::{fs, io};

use serde::Serialize;

use super::file_kind::is_name;
use super::paths::{ENTITIES, JOURNAL, REMINDERS, SIGNALS, STATE};

pub use super::file_kind::{FileKind, folded};

/// What Muninn, git and macrodata keep beside the memory. It is left out without a word.
const BESIDE: [&str; 6] = [".index", ".git", ".gitignore", ".daemon.pid", ".daemon.log", ".pending-context"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    /// The path below the directory, with `/`.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
}

/// A file, a directory or a setting that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its path below the directory, or its name.
    pub name: String,
    /// The reason.
    pub why: &'static str,
}

/// The files of a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// Those of the memory, in the order of their paths.
    pub files: Vec<MemoryFile>,
    /// What else lies there. A directory is named without its files.
    pub left: Vec<LeftOut>,
}

/// Whether a memory has a directory at a path below its own.
pub fn is_folder(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        [name] => [STATE, ENTITIES, JOURNAL, SIGNALS, REMINDERS].contains(&name),
        [ENTITIES, name] => is_name(name),
        _ => false,
    }
}

/// Lists the files of a directory. Links are not followed, and directories that a memory does not have are not entered.
pub fn list(root: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    enter(root, "", &mut listing)?;
    Ok(listing)
}

/// Lists a directory; `at` is its path below the root, with a slash at its end.
fn enter(root: &Path, at: &str, listing: &mut Listing) -> io::Result<()> {
    let entries = fs::read_dir(root.join(at))?;
    let mut names: Vec<_> = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort();
    for name in names {
        let path = format!("{at}{}", name.to_string_lossy());
        // One that was removed meanwhile is not there.
        let Ok(metadata) = fs::symlink_metadata(root.join(at).join(&name)) else {
            continue;
        };
        let kind = FileKind::of(&path).filter(|_| name.to_str().is_some());
        let why = match kind {
            _ if at.is_empty() && (BESIDE.contains(&&*path) || path.starts_with(UNFINISHED)) => continue,
            _ if metadata.is_symlink() => "a symbolic link",
            _ if metadata.is_dir() && is_folder(&path) => {
                enter(root, &format!("{path}/"), listing)?;
                continue;
            }
            Some(kind) if metadata.is_file() && metadata.len() > kind.most_bytes() => "too large",
            Some(kind) if metadata.is_file() => {
                listing.files.push(MemoryFile { path, kind });
                continue;
            }
            _ => NO_PART,
        };
        listing.left.push(LeftOut { name: path, why });
    }
    Ok(())
}

/// How the name of an archive begins while it is written.
pub const UNFINISHED: &str = ".muninn-export";
/// Why most files are left.
pub const NO_PART: &str = "a personal memory has no such file";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::personal::file_kind::folded;

    #[test]
    fn files_of_the_layout_are_taken() {
        for (path, kind) in [
            ("identity.md", FileKind::Text),
            ("macrodata.json", FileKind::Settings),
            ("state/today.md", FileKind::Text),
            ("state/my own plans.md", FileKind::Text),
            ("entities/people/jörg.md", FileKind::Text),
            ("entities/people/jo\u{308}rg.md", FileKind::Text),
            ("entities/people/O'Brien, Ann (née X) & co.md", FileKind::Text),
            ("entities/客户/山田.md", FileKind::Text),
            ("entities/ideas/🚀 rocket.md", FileKind::Text),
            ("entities/people/a.b.c.md", FileKind::Text),
            ("entities/people/connie.md", FileKind::Text),
            ("journal/2027-01-31.jsonl", FileKind::Lines),
            ("signals/2027-01-31.jsonl", FileKind::Lines),
            ("reminders/tea-1_a.b.json", FileKind::Reminder),
        ] {
            assert_eq!(FileKind::of(path), Some(kind), "{path}");
        }
        assert!(is_folder("entities/people") && is_folder("journal"));
    }

    #[test]
    fn other_names_are_left() {
        let long = format!("entities/people/{}.md", "x".repeat(300));
        for path in [
            "",
            ".",
            "..",
            "identity.MD",
            "Identity.md",
            "notes.md",
            "README.md",
            "Macrodata.json",
            "config.json",
            ".git/config",
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".index/x.md",
            ".daemon.pid",
            "state/.today.md",
            "state/x/today.md",
            "STATE/today.md",
            "state/today.md/",
            "state//today.md",
            "/state/today.md",
            "./identity.md",
            "state/../identity.md",
            "state/today.txt",
            "state/today.md ",
            "state/today.md.",
            "state/today.md::$DATA.md",
            "state/today.md:x.md",
            "entities/a.md",
            "entities/x/.git",
            "entities/x/.git/config",
            "entities/x/.git/a.md",
            "entities/.git/a.md",
            "entities/.GIT/a.md",
            "entities/.git /a.md",
            "entities/.git./a.md",
            "entities/.gıt/a.md",
            "entities/.g\u{200c}it/a.md",
            "entities/\u{200d}.git/a.md",
            "entities/．git/a.md",
            "entities/․git/a.md",
            "entities/git~1/a.md",
            "entities/GI7EBA~1/a.md",
            "entities/x/..md",
            "entities/x/a\nb.md",
            "entities/x/a\u{202e}b.md",
            "entities/x/a\\b.md",
            "entities/x\\..\\y/a.md",
            "entities/x/a／b.md",
            "entities/x/con.md",
            "entities/x/NUL.a.md",
            "entities/com1/a.md",
            "entities/people/deep/a.md",
            "entities/people/.gitattributes",
            "entities/people/a.sh",
            &long,
            "journal/2027-1-1.jsonl",
            "journal/20270101.jsonl",
            "journal/2027-02-30.jsonl",
            "journal/notes.jsonl",
            "journal/2027-01-01.json",
            "reminders/.x.json",
            "reminders/a b.json",
            "reminders/x.sh",
            "reminders/x/y.json",
            "hooks/post-commit",
        ] {
            assert_eq!(FileKind::of(path), None, "{path}");
        }
        for path in ["", ".git", "entities/.git", "entities/x/y", "state/x", "STATE", "entities/git~1"] {
            assert!(!is_folder(path), "{path}");
        }
    }

    #[test]
    fn names_that_some_file_system_folds_are_equal() {
        for (one, other) in [
            ("entities/people/Ann.md", "entities/people/ann.md"),
            ("entities/people/jörg.md", "entities/people/jo\u{308}rg.md"),
            ("entities/people/straße.md", "entities/people/STRASSE.md"),
            ("entities/people/ﬁn.md", "entities/people/fin.md"),
            ("entities/people/ｘ.md", "entities/people/x.md"),
            ("entities/people/\u{212a}.md", "entities/people/k.md"),
            ("entities/people/ı.md", "entities/people/i.md"),
        ] {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("entities/people/a.md"), folded("entities/people/b.md"));
    }

    #[cfg(unix)]
    #[test]
    fn listing_enters_no_link_and_no_other_directory() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("me");
        for name in [
            "identity.md",
            "entities/people/ann.md",
            "entities/people/.git/config",
            "journal/2027-01-01.jsonl",
            "notes/a.md",
            ".git/config",
            ".index/x",
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), root.join("state")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("entities/people/b.md")).unwrap();
        let large = fs::File::create(root.join("entities/people/c.md")).unwrap();
        large.set_len(1 << 40).unwrap();
        let listing = list(&root).unwrap();
        let files: Vec<&str> = listing.files.iter().map(|file| &*file.path).collect();
        assert_eq!(files, ["entities/people/ann.md", "identity.md", "journal/2027-01-01.jsonl"]);
        let left: Vec<_> = listing.left.iter().map(|left| (&*left.name, left.why)).collect();
        assert_eq!(
            left,
            [
                ("entities/people/.git", NO_PART),
                ("entities/people/b.md", "a symbolic link"),
                ("entities/people/c.md", "too large"),
                ("notes", NO_PART),
                ("state", "a symbolic link"),
            ]
        );
    }
}
