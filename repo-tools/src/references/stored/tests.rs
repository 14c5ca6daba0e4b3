//! References in each format, compared with git's.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use muninn_tests::git;

use crate::{CommitChain, ObjectId, Signature, Worktree};

/// The formats: references, objects.
const FORMATS: [(&str, &str); 4] =
    [("files", "sha1"), ("files", "sha256"), ("reftable", "sha1"), ("reftable", "sha256")];

struct Fixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    name: String,
}

impl Fixture {
    fn new((references, objects): (&str, &str)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("r");
        fs::create_dir(&root).unwrap();
        let fixture = Self { _folder: folder, root, name: format!("{references} {objects}") };
        let (references, objects) = (format!("--ref-format={references}"), format!("--object-format={objects}"));
        fixture.git(&["init", "-q", "-b", "main", &references, &objects]);
        fixture
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = git(&self.root, arguments).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        output.trim_end().to_owned()
    }

    fn commit(&self, message: &str) {
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn worktree(&self) -> Worktree {
        Worktree::discover(&self.root).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// The branch and the commit of HEAD, as git shows them.
fn head_of_git(root: &Path) -> (Option<String>, Option<String>) {
    let line = |arguments: &[&str]| git(root, arguments).ok().map(|text| text.trim_end().to_owned());
    (line(&["symbolic-ref", "-q", "--short", "HEAD"]), line(&["rev-parse", "-q", "--verify", "HEAD"]))
}

#[test]
fn head_is_read_in_every_format_and_state() {
    const STEPS: &[&[&str]] = &[
        &["status"],
        &["commit", "-q", "--allow-empty", "-m", "first"],
        &["commit", "-q", "--allow-empty", "-m", "second"],
        &["checkout", "-q", "-b", "feature/ü/x"],
        &["commit", "-q", "--allow-empty", "-m", "third"],
        &["branch", "-m", "feature/y"],
        &["checkout", "-q", "--detach", "main"],
        &["pack-refs", "--all"],
        &["gc", "--quiet", "--prune=now"],
        &["checkout", "-q", "main"],
        &["merge", "-q", "--no-ff", "-m", "merge", "feature/y"],
        &["reset", "-q", "--hard", "HEAD~1"],
        &["commit", "-q", "--amend", "--allow-empty", "-m", "other"],
        &["checkout", "-q", "--orphan", "fresh"],
        &["checkout", "-q", "main"],
        &["tag", "-a", "-m", "v", "v1"],
        &["checkout", "-q", "v1"],
        &["symbolic-ref", "HEAD", "refs/heads/feature/y"],
    ];
    for format in FORMATS {
        let fixture = Fixture::new(format);
        let worktree = fixture.worktree();
        for step in STEPS {
            fixture.git(step);
            let found = (worktree.branch().unwrap(), worktree.head_commit().unwrap());
            assert_eq!(found, head_of_git(&fixture.root), "{} {step:?}", fixture.name);
            let checkout = worktree.checkout().unwrap();
            assert_eq!((checkout.branch, checkout.head), found, "{} {step:?}", fixture.name);
        }
        assert_eq!(worktree.checkout().unwrap().default_branch.as_deref(), Some("main"));
        fixture.git(&["update-ref", "refs/remotes/origin/develop", "HEAD"]);
        fixture.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop"]);
        assert_eq!(worktree.checkout().unwrap().default_branch.as_deref(), Some("develop"));
    }
}

#[test]
fn linked_worktrees_and_submodules_have_a_head_of_their_own() {
    for format in FORMATS {
        let fixture = Fixture::new(format);
        fixture.commit("first");
        fixture.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        let side = fixture.path("../side");
        let (main, linked) = (fixture.worktree(), Worktree::discover(&side).unwrap());
        for arguments in [
            &["commit", "-q", "--allow-empty", "-m", "x"][..],
            &["checkout", "-q", "--detach"],
            &["checkout", "-q", "side"],
        ] {
            git(&side, arguments).unwrap();
            for (worktree, root) in [(&main, &fixture.root), (&linked, &side)] {
                let found = (worktree.branch().unwrap(), worktree.head_commit().unwrap());
                assert_eq!(found, head_of_git(root), "{} {arguments:?}", fixture.name);
            }
        }
        assert!(linked.has_branch("main").unwrap() && !main.has_branch("side").unwrap());
        assert!(linked.has_commit(&main.head_commit().unwrap().unwrap()).unwrap());
        assert!(!main.has_commit(&linked.head_commit().unwrap().unwrap()).unwrap());
    }
}

#[test]
fn head_that_cannot_be_read_is_an_error() {
    type Damage = fn(&Fixture);
    const FILES: &[(&str, Damage)] = &[
        ("garbage in the branch", |at| {
            fs::write(at.path(".git/refs/heads/main"), "xyz\n").unwrap();
        }),
        ("empty branch", |at| {
            fs::write(at.path(".git/refs/heads/main"), "").unwrap();
        }),
        ("branch that leads to itself", |at| {
            fs::write(at.path(".git/refs/heads/main"), "ref: refs/heads/main\n").unwrap();
        }),
        ("HEAD without a name", |at| {
            fs::write(at.path(".git/HEAD"), "ref: \n").unwrap();
        }),
        ("HEAD of tables", |at| {
            fs::write(at.path(".git/HEAD"), "ref: refs/heads/.invalid\n").unwrap();
        }),
        ("no HEAD", |at| fs::remove_file(at.path(".git/HEAD")).unwrap()),
        ("HEAD as a directory", |at| {
            fs::remove_file(at.path(".git/HEAD")).unwrap();
            fs::create_dir(at.path(".git/HEAD")).unwrap();
        }),
        ("malformed configuration", |at| {
            fs::write(at.path(".git/config"), "[[").unwrap();
        }),
        ("packed references that are none", |at| {
            at.git(&["pack-refs", "--all"]);
            fs::write(at.path(".git/packed-refs"), "what\n").unwrap();
        }),
        ("truncated id", |at| {
            fs::write(at.path(".git/HEAD"), "0123456789abcdef\n").unwrap();
        }),
    ];
    const TABLES: &[(&str, Damage)] = &[
        ("no list", |at| {
            fs::remove_file(at.path(".git/reftable/tables.list")).unwrap();
        }),
        ("list of nothing", |at| {
            fs::write(at.path(".git/reftable/tables.list"), "gone.ref\n").unwrap();
        }),
        ("list as a directory", |at| {
            fs::remove_file(at.path(".git/reftable/tables.list")).unwrap();
            fs::create_dir(at.path(".git/reftable/tables.list")).unwrap();
        }),
        ("no tables", |at| fs::remove_dir_all(at.path(".git/reftable")).unwrap()),
        ("damaged table", |at| {
            at.git(&["pack-refs", "--all"]);
            let list = fs::read_to_string(at.path(".git/reftable/tables.list")).unwrap();
            fs::write(at.path(".git/reftable").join(list.trim_end()), "REFTwhat").unwrap();
            // The list has to change too: tables are never changed.
            fs::write(at.path(".git/reftable/tables.list"), format!("{list}\n")).unwrap();
        }),
    ];
    let files = FILES.iter().map(|case| (FORMATS[0], case));
    for (format, (name, damage)) in files.chain(TABLES.iter().map(|case| (FORMATS[2], case))) {
        let fixture = Fixture::new(format);
        fixture.commit("first");
        let worktree = fixture.worktree();
        assert_eq!(worktree.branch().unwrap().as_deref(), Some("main"));
        damage(&fixture);
        let found = worktree.branch();
        assert!(found.is_err(), "{name}: {found:?}");
        assert!(worktree.checkout().is_err() && worktree.has_branch("x").is_err(), "{name}");
        assert!(worktree.head_commit().is_err(), "{name}");
    }
}

#[test]
fn head_as_a_link_names_its_branch() {
    let fixture = Fixture::new(FORMATS[0]);
    fixture.commit("first");
    fs::remove_file(fixture.path(".git/HEAD")).unwrap();
    symlink("refs/heads/main", fixture.path(".git/HEAD")).unwrap();
    let found = fixture.worktree().branch();
    assert!(found.as_ref().is_ok_and(|name| name.as_deref() == Some("main")), "{found:?}");
}

#[test]
fn format_can_change_while_a_worktree_is_open() {
    for objects in ["sha1", "sha256"] {
        let fixture = Fixture::new(("files", objects));
        // Not every git can migrate logs.
        fixture.git(&["config", "core.logAllRefUpdates", "false"]);
        fixture.commit("first");
        let worktree = fixture.worktree();
        for format in ["reftable", "files", "reftable"] {
            fixture.git(&["refs", "migrate", &format!("--ref-format={format}")]);
            fixture.commit(format);
            assert_eq!(worktree.branch().unwrap().as_deref(), Some("main"), "{format} {objects}");
            assert_eq!(worktree.head_commit().unwrap(), head_of_git(&fixture.root).1, "{format} {objects}");
        }
    }
}

#[test]
fn chain_is_a_reference_that_git_knows() {
    let signature = Signature { name: "Ada".to_owned(), email: "ada@example.org".to_owned(), seconds: 0, offset: 0 };
    for format in FORMATS {
        let fixture = Fixture::new(format);
        let git_dir = fixture.path(".git");
        let mut tip = None;
        for number in ["1", "2", "3"] {
            let chain = CommitChain::open(&git_dir, "refs/muninn/journal").unwrap();
            assert_eq!(chain.tip().unwrap(), tip);
            let written = chain.write(tip, &[("a/b.md", Some(number))], (&signature, &signature), "entry");
            let written = written.unwrap();
            let wrong = if tip.is_some() { None } else { Some(written) };
            assert!(!chain.advance(wrong, Some(written), &[]).unwrap(), "{}", fixture.name);
            let before = format!("refs/muninn/before-fetch/{number}");
            let others = [(before.clone(), tip), ("refs/muninn/gone".to_owned(), None)];
            assert!(chain.advance(tip, Some(written), &others).unwrap(), "{}", fixture.name);
            let below = CommitChain::open(&git_dir, "refs/muninn/journal").unwrap();
            let below = below.refs_below("refs/muninn/before-fetch/").unwrap();
            let of_git = fixture.git(&["for-each-ref", "--format=%(refname)", "refs/muninn/before-fetch/"]);
            assert_eq!(below.len(), of_git.lines().count(), "{}", fixture.name);
            assert_eq!(below.into_iter().find(|(name, _)| *name == before).map(|(_, id)| id), tip);
            tip = Some(written);
            let known = fixture.git(&["rev-parse", "refs/muninn/journal"]);
            assert_eq!(ObjectId::from_hex(&known), tip, "{}", fixture.name);
        }
        fixture.git(&["gc", "--quiet", "--prune=now"]);
        fixture.git(&["fsck", "--strict"]);
        let chain = CommitChain::open(&git_dir, "refs/muninn/journal").unwrap();
        let commits: Vec<_> = chain.history(chain.tip().unwrap()).map(Result::unwrap).collect();
        assert_eq!((commits.len(), chain.tip().unwrap()), (3, tip), "{}", fixture.name);
        assert_eq!(chain.file(commits[0].id, "a/b.md").unwrap().unwrap().text, "3");
        let is_file = git_dir.join("refs/muninn/journal").exists() || git_dir.join("packed-refs").exists();
        assert_eq!(is_file, format.0 == "files", "{}", fixture.name);
        assert!(chain.advance(tip, None, &[]).unwrap(), "{}", fixture.name);
        let chain = CommitChain::open(&git_dir, "refs/muninn/journal").unwrap();
        assert_eq!(chain.tip().unwrap(), None, "{}", fixture.name);
    }
}

#[test]
fn ids_of_the_other_hash_are_unknown() {
    for format in FORMATS {
        let fixture = Fixture::new(format);
        fixture.commit("first");
        let chain = CommitChain::open(&fixture.path(".git"), "refs/muninn/journal").unwrap();
        for digits in [40, 64] {
            let id = "1".repeat(digits);
            assert!(!fixture.worktree().has_commit(&id).unwrap(), "{}", fixture.name);
            let id = ObjectId::from_hex(&id).unwrap();
            assert!(!chain.knows(id).unwrap(), "{}", fixture.name);
            assert_eq!(chain.text(id), None, "{}", fixture.name);
        }
    }
}

#[test]
fn blob_ids_are_those_of_git() {
    for format in FORMATS {
        let fixture = Fixture::new(format);
        for text in ["", "hello\n", "ü\r\n\0x"] {
            fs::write(fixture.path("file"), text).unwrap();
            let of_git = fixture.git(&["hash-object", "--no-filters", "file"]);
            let id = fixture.worktree().blob_id(text.as_bytes()).unwrap();
            assert_eq!(id.to_string(), of_git, "{}", fixture.name);
            assert_eq!(crate::BlobId::from_bytes(id.as_bytes()), Some(id));
        }
    }
}

#[test]
fn programs_of_the_repository_do_not_run() {
    let fixture = Fixture::new(FORMATS[2]);
    fixture.commit("first");
    let (marker, program) = (fixture.path("../ran"), fixture.path("../program"));
    fs::write(&program, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    // A signed commit makes git ask the program that the repository names, if the log is to show signatures.
    let commit = fixture.git(&["cat-file", "commit", "HEAD"]);
    let signed =
        commit.replacen("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1);
    fs::write(fixture.path("../signed"), signed + "\n").unwrap();
    let signed = fixture.git(&["hash-object", "-t", "commit", "-w", "../signed"]);
    fixture.git(&["update-ref", "--create-reflog", "-m", "branch: Created from main", "refs/heads/side", &signed]);
    fixture.git(&["reset", "-q", "--hard", &signed]);
    fs::create_dir_all(fixture.path(".git/hooks")).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        fs::copy(program, fixture.path(".git/hooks").join(hook)).unwrap();
    }
    fixture.git(&["config", "log.showSignature", "true"]);
    for key in [
        "gpg.program",
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "pager.for-each-ref",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "core.alternateRefsCommand",
        "alias.for-each-ref",
        "alias.log",
        "core.hooksPath",
    ] {
        fixture.git(&["config", key, program]);
    }
    fs::remove_file(&marker).ok();
    let worktree = fixture.worktree();
    worktree.checkout().unwrap();
    worktree.has_branch("side").unwrap();
    worktree.has_branch("gone").unwrap();
    let chain = CommitChain::open(worktree.git_dir(), "refs/muninn/journal").unwrap();
    assert!(chain.advance(None, ObjectId::from_hex(&signed), &[]).unwrap());
    assert!(!marker.exists());
}
