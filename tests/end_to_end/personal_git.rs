//! Versions of a personal memory whose directory came from elsewhere: whatever lies in it, git runs no program of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use muninn_tests::{TestEnv, git_command, output};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::doctor::Report;

/// A home whose memory has versions, and a program that must not run.
struct Desk {
    env: TestEnv,
    root: PathBuf,
    canary: PathBuf,
    /// A command that leaves the canary, in the words of git's configuration.
    evil: String,
}

impl Desk {
    fn new() -> Desk {
        let env = TestEnv::new(MUNINN);
        let (canary, program) = (env.path("canary"), env.path("evil"));
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", canary.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let root = env.path("home/.local/share/muninn/personal");
        let desk = Desk { env, root, canary, evil: program.display().to_string() };
        assert!(desk.commit().status.success());
        desk
    }

    /// Commits what has changed, with a filter among the user's own settings.
    fn commit(&self) -> Output {
        let mut command = self.env.muninn();
        command.args(["personal", "init", "--name", "Ann", "--git"]).envs([
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "filter.evil.clean"),
            ("GIT_CONFIG_VALUE_0", &self.evil),
            ("GIT_CONFIG_KEY_1", "submodule.recurse"),
            ("GIT_CONFIG_VALUE_1", "true"),
        ]);
        output(command)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn change(&self) {
        self.write("state/today.md", "# Today\n\nA boat.\n");
        self.write("entities/people/bob.md", "# Bob\n");
    }

    fn git(&self, directory: &Path, arguments: &[&str]) {
        let done = git_command(directory, arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }

    /// A repository with the object ids of the memory's.
    fn init(&self, directory: &Path, arguments: &[&str]) {
        fs::create_dir_all(directory).unwrap();
        let format = git_command(&self.root, &["rev-parse", "--show-object-format"]).output().unwrap();
        let format = format!("--object-format={}", String::from_utf8(format.stdout).unwrap().trim());
        self.git(directory, &[&["init", "--quiet", &format], arguments].concat());
    }

    /// A repository that runs the program whenever git works in it.
    fn hostile_repository(&self, directory: &Path) {
        self.init(directory, &[]);
        fs::write(directory.join("note.md"), "# Note\n").unwrap();
        self.git(directory, &["add", "note.md"]);
        self.git(directory, &["commit", "--quiet", "-m", "first"]);
        self.arm(&directory.join(".git"));
        fs::write(directory.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
        fs::write(directory.join("note.md"), "# Changed\n").unwrap();
    }

    /// Names the program in the configuration and the hooks of a git directory.
    fn arm(&self, git_dir: &Path) {
        let evil = &self.evil;
        let text = format!(
            "\n[core]\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n\teditor = {evil}\n[filter \"evil\"]\n\tclean = {evil}\n\
             \tprocess = {evil}\n\trequired = true\n[diff \"evil\"]\n\ttextconv = {evil}\n"
        );
        let config = git_dir.join("config");
        let before = fs::read_to_string(&config).unwrap_or_default();
        fs::write(&config, before + &text).unwrap();
        self.arm_hooks(git_dir);
    }

    fn arm_hooks(&self, git_dir: &Path) {
        fs::create_dir_all(git_dir.join("hooks")).unwrap();
        for hook in [
            "pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-index-change", "pre-push",
            "post-receive", "pre-receive", "update", "pre-auto-gc",
        ] {
            fs::copy(&self.evil, git_dir.join("hooks").join(hook)).unwrap();
        }
    }

    fn log(&self) -> String {
        // Git itself refuses the `.gitmodules` of a case once it compares a submodule.
        let arguments = ["log", "--format=%s", "--name-only", "--ignore-submodules=all"];
        let log = git_command(&self.root, &arguments).output().unwrap();
        String::from_utf8(log.stdout).unwrap()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

type Plant = fn(&Desk);

/// The changes beside each are committed, and nothing of it is.
#[test]
fn nested_repositories_and_attributes_run_nothing() {
    let cases: [(&str, Plant); 13] = [
        ("repository", |desk| {
            desk.hostile_repository(&desk.root.join("entities/people"));
        }),
        ("repository with another name", |desk| {
            desk.hostile_repository(&desk.root.join("entities/x"));
        }),
        ("repository of the state", |desk| {
            desk.hostile_repository(&desk.root.join("state"));
        }),
        ("repository that is no part of a memory", |desk| {
            desk.hostile_repository(&desk.root.join("notes/deep"));
        }),
        ("file that names a repository elsewhere", |desk| {
            desk.hostile_repository(&desk.env.path("elsewhere"));
            let line = format!("gitdir: {}\n", desk.env.path("elsewhere/.git").display());
            desk.write("entities/x/.git", &line);
            desk.write("entities/people/.git", &line);
        }),
        ("link to a repository elsewhere", |desk| {
            desk.hostile_repository(&desk.env.path("elsewhere"));
            symlink(desk.env.path("elsewhere/.git"), desk.root.join("entities/people/.git")).unwrap();
        }),
        ("bare repository", |desk| {
            let bare = desk.root.join("entities/x");
            desk.init(&bare, &["--bare"]);
            desk.arm(&bare);
        }),
        ("submodule in the index", |desk| {
            desk.hostile_repository(&desk.root.join("entities/people"));
            // As if an earlier version, or another machine, had committed it.
            let submodule = desk.root.join("entities/people");
            let head = git_command(&submodule, &["-c", "core.fsmonitor=false", "rev-parse", "HEAD"]).output().unwrap();
            let entry = format!("160000,{},entities/people", String::from_utf8(head.stdout).unwrap().trim());
            desk.git(&desk.root, &["update-index", "--add", "--cacheinfo", &entry]);
            desk.git(&desk.root, &["commit", "--quiet", "-m", "a submodule"]);
            let modules =
                format!("[submodule \"x\"]\n\tpath = entities/people\n\turl = ./x\n\tupdate = !{}\n", desk.evil);
            desk.write(".gitmodules", &modules);
        }),
        ("attributes", |desk| {
            drop(desk.write(".gitattributes", "* filter=evil diff=evil merge=evil\n"));
        }),
        ("attributes of folders", |desk| {
            for folder in ["state", "entities", "entities/people", "journal"] {
                desk.write(&format!("{folder}/.gitattributes"), "*.md filter=evil\n");
            }
        }),
        ("attributes in the index", |desk| {
            desk.write(".gitattributes", "* filter=evil\n");
            desk.git(&desk.root, &["add", ".gitattributes"]);
        }),
        ("hooks", |desk| desk.arm_hooks(&desk.root.join(".git"))),
        ("link in place of an entity", |desk| {
            symlink(&desk.evil, desk.root.join("entities/people/evil.md")).unwrap();
        }),
    ];
    for (name, plant) in cases {
        let desk = Desk::new();
        plant(&desk);
        desk.change();
        // What the test itself did may have run it.
        fs::remove_file(&desk.canary).ok();
        let committed = desk.commit();
        assert!(!desk.canary.exists(), "{name}: {committed:?}");
        assert!(committed.status.success(), "{name}: {committed:?}");
        let log = desk.log();
        assert!(
            log.contains("Update state/today.md") && log.contains("Update entities/people/bob.md"),
            "{name}: {log}"
        );
        for other in [".gitattributes", ".gitmodules", "entities/x/", "evil.md", "config", "notes/", "HEAD"] {
            let is_named = log.lines().any(|line| line.contains(other) && !line.ends_with("entities/x/note.md"));
            assert!(!is_named, "{name}: {other}: {log}");
        }
        let shown = git_command(&desk.root, &["-c", "core.hooksPath=/dev/null", "show", "HEAD:state/today.md"])
            .output()
            .unwrap();
        assert_eq!(shown.stdout, b"# Today\n\nA boat.\n", "{name}: as it is on the disk");
    }
}

/// Puts a named pipe into the directory of the memory.
fn pipe(desk: &Desk, name: &str) {
    let path = desk.root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::remove_file(&path).ok();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Git does not run at all, and the reason is named.
#[test]
fn repository_that_came_from_elsewhere_is_refused() {
    let cases: [(&str, Plant, &str); 29] = [
        ("fsmonitor", |desk| set(desk, "core.fsmonitor"), "`core.fsmonitor`"),
        ("ssh", |desk| set(desk, "core.sshCommand"), "`core.sshcommand`"),
        ("editor", |desk| set(desk, "core.editor"), "`core.editor`"),
        ("gpg", |desk| set(desk, "gpg.program"), "`gpg.program`"),
        ("filter", |desk| set(desk, "filter.evil.clean"), "`filter.evil.clean`"),
        ("textconv", |desk| set(desk, "diff.evil.textconv"), "`diff.evil.textconv`"),
        ("merge driver", |desk| set(desk, "merge.evil.driver"), "`merge.evil.driver`"),
        ("credentials", |desk| set(desk, "credential.helper"), "`credential.helper`"),
        ("hooks", |desk| set(desk, "core.hooksPath"), "`core.hookspath`"),
        ("submodule", |desk| set(desk, "submodule.x.update"), "`submodule.x.update`"),
        ("receive-pack", |desk| set(desk, "remote.origin.receivepack"), "`remote.origin.receivepack`"),
        (
            "include",
            |desk| {
                fs::write(desk.env.path("more"), format!("[core]\n\tfsmonitor = {}\n", desk.evil)).unwrap();
                desk.git(&desk.root, &["config", "include.path", desk.env.path("more").to_str().unwrap()]);
            },
            "`include.path`",
        ),
        ("worktree", |desk| desk.git(&desk.root, &["config", "core.worktree", "/"]), "`core.worktree`"),
        ("bare", |desk| desk.git(&desk.root, &["config", "core.bare", "true"]), "`core.bare`"),
        (
            "configuration of a worktree",
            |desk| {
                desk.git(&desk.root, &["config", "extensions.worktreeConfig", "true"]);
            },
            "`extensions.worktreeconfig`",
        ),
        (
            "common directory",
            |desk| {
                desk.hostile_repository(&desk.env.path("elsewhere"));
                desk.write(".git/commondir", desk.env.path("elsewhere/.git").to_str().unwrap());
            },
            ".git/commondir leads elsewhere",
        ),
        (
            "alternates",
            |desk| drop(desk.write(".git/objects/info/alternates", "/elsewhere\n")),
            "alternates leads elsewhere",
        ),
        (
            "attributes of the repository",
            |desk| drop(desk.write(".git/info/attributes", "* filter=evil\n")),
            "info/attributes leads",
        ),
        (
            "git directory elsewhere",
            |desk| {
                desk.hostile_repository(&desk.env.path("elsewhere"));
                fs::rename(desk.root.join(".git"), desk.env.path("old")).unwrap();
                desk.write(".git", &format!("gitdir: {}\n", desk.env.path("elsewhere/.git").display()));
            },
            ".git leads elsewhere",
        ),
        (
            "link to a git directory",
            |desk| {
                desk.hostile_repository(&desk.env.path("elsewhere"));
                fs::rename(desk.root.join(".git"), desk.env.path("old")).unwrap();
                symlink(desk.env.path("elsewhere/.git"), desk.root.join(".git")).unwrap();
            },
            ".git leads elsewhere",
        ),
        (
            "log that is a link",
            |desk| {
                fs::remove_file(desk.root.join(".git/logs/HEAD")).unwrap();
                symlink(desk.env.path("canary"), desk.root.join(".git/logs/HEAD")).unwrap();
            },
            "logs/HEAD leads elsewhere",
        ),
        (
            "configuration that is a link",
            |desk| {
                fs::rename(desk.root.join(".git/config"), desk.env.path("config-file")).unwrap();
                symlink(desk.env.path("config-file"), desk.root.join(".git/config")).unwrap();
            },
            ".git/config leads elsewhere",
        ),
        (
            "pipe in place of patterns",
            |desk| pipe(desk, ".gitignore"),
            ".gitignore leads elsewhere or is no plain file",
        ),
        (
            "pipe in place of patterns of a folder",
            |desk| pipe(desk, "entities/people/.gitignore"),
            "people/.gitignore leads elsewhere or is no plain file",
        ),
        (
            "patterns that are a link",
            |desk| {
                fs::create_dir_all(desk.root.join("journal")).unwrap();
                symlink("/etc/passwd", desk.root.join("journal/.gitignore")).unwrap();
            },
            "journal/.gitignore leads elsewhere or is no plain file",
        ),
        (
            "pipe in place of a commit graph",
            |desk| pipe(desk, ".git/objects/info/commit-graph"),
            "info/commit-graph leads elsewhere or is no plain file",
        ),
        (
            "pipe in place of a pack",
            |desk| pipe(desk, ".git/objects/pack/pack-0000.idx"),
            ".idx leads elsewhere or is no plain file",
        ),
        (
            "pipe in place of an object",
            |desk| pipe(desk, ".git/objects/00/00000000000000000000000000000000000000"),
            "leads elsewhere or is no plain file",
        ),
        (
            "link in place of objects",
            |desk| {
                fs::remove_dir_all(desk.root.join(".git/objects/info")).ok();
                symlink("/tmp", desk.root.join(".git/objects/info")).unwrap();
            },
            "objects/info leads elsewhere or is no plain file",
        ),
    ];
    for (name, plant, expected) in cases {
        let desk = Desk::new();
        plant(&desk);
        desk.change();
        fs::remove_file(&desk.canary).ok();
        let refused = desk.commit();
        assert!(!refused.status.success() && text(&refused).contains(expected), "{name}: {refused:?}");
        let report = Report::of(&desk.env, &desk.env.path("home"));
        let found = report.about("personal memory");
        let is_named = found.iter().any(|(state, says)| *state == "bad" && says.contains(expected));
        assert!(is_named, "{name}: {found:?}");
        assert!(!desk.canary.exists(), "{name}");
    }
}

fn set(desk: &Desk, key: &str) {
    desk.git(&desk.root, &["config", key, &desk.evil]);
}

/// A remote counts if the user's own configuration names it, and no other.
#[test]
fn only_a_remote_of_the_users_configuration_gets_anything() {
    let cases: [(&str, Plant, Option<&str>, &str); 7] = [
        ("a name", |desk| desk.git(&desk.root, &["remote", "add", "origin", "../stranger"]), None, "nothing is pushed"),
        ("a repository in the memory", |_| {}, None, "nothing is pushed"),
        ("the same, confirmed", |_| {}, Some("home/.local/share/muninn/personal/entities/x"), "lies in the directory"),
        (
            "the same by another path",
            |desk| {
                symlink(&desk.root, desk.env.path("link")).unwrap();
            },
            Some("link/entities/x"),
            "lies in the directory",
        ),
        (
            "an address that the repository rewrites",
            |desk| {
                let stranger = desk.env.path("stranger").display().to_string();
                let mine = desk.env.path("mine").display().to_string();
                desk.git(&desk.root, &["config", &format!("url.{stranger}.insteadOf"), &mine]);
            },
            Some("mine"),
            "insteadof`",
        ),
        (
            "a remote with the name of the address",
            |desk| {
                let mine = desk.env.path("mine").display().to_string();
                desk.git(&desk.root, &["config", &format!("remote.{mine}.url"), "../stranger"]);
            },
            Some("mine"),
            "`remote.",
        ),
        ("the user's own", |_| {}, Some("mine"), ""),
    ];
    for (name, plant, remote, expected) in cases {
        let desk = Desk::new();
        for repository in ["stranger", "mine", "home/.local/share/muninn/personal/entities/x"] {
            let bare = desk.env.path(repository);
            desk.init(&bare, &["--bare"]);
            if repository != "mine" {
                desk.arm_hooks(&bare);
            }
        }
        plant(&desk);
        let named = match name {
            "a name" => "origin",
            _ => "./entities/x",
        };
        let settings = json!({"git": {"enabled": true, "autoCommit": true, "remote": named}});
        desk.write("macrodata.json", &settings.to_string());
        if let Some(remote) = remote {
            desk.env.write_config(&format!("[personal]\ngit_remote = {}\n", json!(desk.env.path(remote))));
        }
        desk.change();
        fs::remove_file(&desk.canary).ok();
        let committed = desk.commit();
        let said = text(&committed);
        assert!(said.contains(expected), "{name}: {committed:?}");
        assert!(!desk.canary.exists(), "{name}: {committed:?}");
        let has_commits = |repository: &str| {
            let heads = git_command(&desk.env.path(repository), &["for-each-ref"]).output().unwrap();
            !heads.stdout.is_empty()
        };
        assert!(!has_commits("stranger"), "{name}");
        assert_eq!(has_commits("mine"), name == "the user's own", "{name}: {committed:?}");
        if remote.is_none() {
            let report = Report::of(&desk.env, &desk.env.path("home"));
            let found = report.about("personal memory");
            assert!(found.iter().any(|(_, says)| says.contains("nothing is pushed")), "{name}: {found:?}");
        }
    }
}

/// What a person does beside Muninn stays as it is, and the patterns of the user count.
#[test]
fn work_of_a_person_beside_it_stays() {
    let desk = Desk::new();
    desk.write(".gitignore", ".index/\nsignals/\n");
    desk.write("signals/2027-01-01.jsonl", "{}\n");
    desk.write("README.txt", "mine\n");
    let moved = desk.write("entities/people/moved.md", "# Moved\n");
    assert!(desk.commit().status.success());
    desk.git(&desk.root, &["add", "README.txt"]);
    desk.change();
    fs::remove_file(moved).unwrap();
    assert!(desk.commit().status.success());
    let log = desk.log();
    assert!(log.contains("Remove entities/people/moved.md") && log.contains("Update .gitignore"), "{log}");
    assert!(!log.contains("signals") && !log.contains("README"), "{log}");
    let status = git_command(&desk.root, &["status", "--porcelain"]).output().unwrap();
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "A  README.txt\n");
    let before = desk.log();
    assert!(desk.commit().status.success());
    assert_eq!(desk.log(), before, "nothing has changed");
    // Many at once are one commit, and one by one they are not.
    for number in 0..60 {
        desk.write(&format!("entities/people/{number}.md"), "# X\n");
    }
    assert!(desk.commit().status.success());
    assert!(desk.log().starts_with("Update 60 files\n"), "{}", desk.log());
}

/// Twenty hostile things at once, ten times: whatever they are, none runs, and only files of a memory are committed.
#[test]
fn generated_repositories_run_nothing() {
    let mut seed = 48u64;
    let mut random = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % most
    };
    for round in 0..10 {
        let desk = Desk::new();
        let elsewhere = desk.env.path("elsewhere");
        desk.hostile_repository(&elsewhere);
        for number in 0..20 {
            let places =
                ["state", "journal", "entities", "entities/people", "entities/x", "reminders", "notes/a/b", "."];
            let place = desk.root.join(places[random(places.len())]);
            let own = place.join(format!("n{number}"));
            fs::create_dir_all(&place).unwrap();
            let git = if place == desk.root.join(".") { own.join(".git") } else { place.join(".git") };
            match random(7) {
                0 => desk.hostile_repository(&own),
                1 if !git.exists() && !git.is_symlink() => {
                    fs::create_dir_all(git.parent().unwrap()).unwrap();
                    symlink(elsewhere.join(".git"), &git).unwrap();
                }
                2 if !git.exists() && !git.is_symlink() => {
                    fs::create_dir_all(git.parent().unwrap()).unwrap();
                    fs::write(&git, format!("gitdir: {}\n", elsewhere.join(".git").display())).unwrap();
                }
                3 => fs::write(place.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap(),
                4 => fs::write(place.join(".gitmodules"), format!("[submodule \"x\"]\n\tupdate = !{}\n", desk.evil))
                    .unwrap(),
                5 => {
                    desk.init(&own, &["--bare"]);
                    desk.arm(&own);
                }
                _ => {
                    symlink(&desk.evil, place.join(format!("l{number}.md"))).unwrap();
                }
            }
        }
        desk.change();
        fs::remove_file(&desk.canary).ok();
        let committed = desk.commit();
        assert!(committed.status.success() && !desk.canary.exists(), "{round}: {committed:?}");
        let tree = git_command(&desk.root, &["ls-tree", "-r", "HEAD"]).output().unwrap();
        for line in String::from_utf8(tree.stdout).unwrap().lines() {
            let is_memory = [".md", ".json", ".jsonl", "\t.gitignore"].iter().any(|end| line.ends_with(end));
            assert!(line.starts_with("100644") && is_memory, "{round}: {line}");
        }
    }
}

#[test]
fn repository_of_another_user_is_refused() {
    let desk = Desk::new();
    let git_dir = desk.root.join(".git");
    let given = Command::new("chown").arg("12345").arg(&git_dir).status();
    if !given.is_ok_and(|status| status.success()) {
        println!("skipped: only root gives directories away");
        return;
    }
    let refused = desk.commit();
    assert!(text(&refused).contains("belongs to user 12345"), "{refused:?}");
    let shown: Value =
        serde_json::from_str(&desk.env.stdout_of(&desk.root, &["personal", "context", "--json"])).unwrap();
    assert_eq!(shown["isFirstRun"], false);
}
