//! Generated hostile repositories: git's configuration, hooks, attributes and nested repositories name programs, and no
//! command of Muninn runs one of them. Repositories like these come in an archive; a clone carries a part of the traps.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use muninn_tests::{TestEnv, git_command, output, output_with};
use serde_json::json;

use crate::MUNINN;
use crate::hooks::PATIENT;

/// Keys of git's configuration that name a program. `RUN` is the program of the trap.
const SETTINGS: [(&str, &str); 44] = [
    ("core.fsmonitor", "RUN"),
    ("core.hooksPath", "HOOKS"),
    ("core.sshCommand", "RUN"),
    ("core.gitProxy", "RUN"),
    ("core.pager", "RUN"),
    ("core.editor", "RUN"),
    ("core.askPass", "RUN"),
    ("core.alternateRefsCommand", "RUN"),
    ("core.attributesFile", "ATTRIBUTES"),
    ("sequence.editor", "RUN"),
    ("pager.status", "RUN"),
    ("pager.log", "RUN"),
    ("diff.external", "RUN"),
    ("diff.trap.command", "RUN"),
    ("diff.trap.textconv", "RUN"),
    ("filter.trap.clean", "RUN"),
    ("filter.trap.smudge", "RUN"),
    ("filter.trap.process", "RUN"),
    ("merge.trap.driver", "RUN"),
    ("credential.helper", "!RUN"),
    ("gpg.program", "RUN"),
    ("gpg.ssh.program", "RUN"),
    ("gpg.x509.program", "RUN"),
    ("commit.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("trailer.trap.command", "RUN"),
    ("trailer.trap.cmd", "RUN"),
    ("interactive.diffFilter", "RUN"),
    ("alias.status", "!RUN"),
    ("alias.fetch", "!RUN"),
    ("alias.rev-parse", "!RUN"),
    ("uploadpack.packObjectsHook", "RUN"),
    ("remote.origin.uploadpack", "RUN"),
    ("remote.origin.receivepack", "RUN"),
    ("remote.origin.vcs", "trap"),
    ("remote.origin.url", "ext::RUN"),
    ("remote.origin.pushurl", "ext::RUN"),
    ("remote.origin.proxy", "RUN"),
    ("url.ext::RUN .insteadOf", "/"),
    ("protocol.ext.allow", "always"),
    ("protocol.allow", "always"),
    ("submodule.nested.update", "!RUN"),
    ("maintenance.auto", "true"),
    ("gc.recentObjectsHook", "RUN"),
];

const HOOKS: [&str; 16] = [
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-checkout", "post-commit", "post-index-change",
    "post-merge", "post-rewrite", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "prepare-commit-msg",
    "proc-receive", "reference-transaction", "sendemail-validate",
];

/// Commands that read the repository, write to it, or exchange something with a remote.
const COMMANDS: [&[&str]; 22] = [
    &["index"],
    &["tree"],
    &["grep", "vault"],
    &["callers", "unlock"],
    &["ask", "--model", "muninn/context", "How does the vault unlock?"],
    &["init", "--memory", "repo"],
    &["remember", "The vault unlocks with two keys."],
    &["recall", "vault"],
    &["flush"],
    &["reconcile", "--here"],
    &["conflicts"],
    &["journal", "write", "vault", "--version", "new", "--entry", "Keys rotate."],
    &["journal", "toc"],
    &["journal", "fetch"],
    &["journal", "push"],
    &["journal", "sync"],
    &["worklog", "append", "Found: the vault has two keys."],
    &["worklog", "archive"],
    &["wiki", "list"],
    &["scan"],
    &["status"],
    &["doctor"],
];

/// The events of a client that a hook answers.
const EVENTS: [&str; 3] = ["SessionStart", "UserPromptSubmit", "SessionEnd"];

/// A repository with traps. A trap that runs leaves a file with its name in `ran`.
struct Trapped {
    env: TestEnv,
    root: PathBuf,
    ran: PathBuf,
}

impl Trapped {
    /// Generates a repository with a random part of all traps, some of them in files that git's configuration includes.
    fn generate(random: &mut Rng) -> Trapped {
        let env = TestEnv::new(MUNINN);
        env.write_config(PATIENT);
        let ran = env.path("ran");
        std::fs::create_dir(&ran).unwrap();
        let source = "/// Unlocks the vault.\npub fn unlock() -> bool {\n    true\n}\n";
        let attributes = "* filter=trap diff=trap merge=trap\n";
        let gitmodules = "[submodule \"nested\"]\n\tpath = nested\n\turl = ext::RUN\n\tupdate = !RUN\n";
        let root = env.repository("trapped", &[("src/vault.rs", source), ("notes.md", "# Vault\n\nIt unlocks.\n")]);
        env.git(&root, &["update-ref", "refs/muninn/journal", "HEAD"]);
        let other = env.path("other.git");
        env.git(&root, &["clone", "-q", "--bare", ".", &other.display().to_string()]);
        env.git(&root, &["remote", "add", "origin", &other.display().to_string()]);
        env.git(&root, &["update-ref", "-d", "refs/muninn/journal"]);
        let trapped = Trapped { env, root, ran };
        if random.bool() {
            trapped.write(".gitattributes", attributes);
        }
        if random.bool() {
            trapped.write(".git/info/attributes", attributes);
        }
        if random.bool() {
            trapped.write(".gitmodules", &gitmodules.replace("RUN", &trapped.program("gitmodules")));
        }
        if random.bool() {
            trapped.nest("src/nested", random);
        }
        trapped.set_traps(&trapped.root.join(".git"), random);
        trapped
    }

    /// Adds a repository inside of the repository, with traps of its own.
    fn nest(&self, place: &str, random: &mut Rng) {
        self.env.git(&self.root, &["init", "-q", place]);
        self.write(&format!("{place}/inner.rs"), "pub fn vault_inner() {}\n");
        self.set_traps(&self.root.join(place).join(".git"), random);
    }

    fn set_traps(&self, git_dir: &Path, random: &mut Rng) {
        // A trap can keep another one from running, so some repositories have few.
        let one_of = [2, 6, 15][random.usize(..3)];
        for name in HOOKS.into_iter().filter(|_| random.u8(..one_of) == 0) {
            std::fs::copy(self.program(name), git_dir.join("hooks").join(name)).unwrap();
        }
        let included = git_dir.join("more");
        for (key, value) in SETTINGS {
            if random.u8(..one_of) > 0 {
                continue;
            }
            let fill = |text: &str| {
                let text = text.replace("RUN", &self.program(key));
                let text = text.replace("HOOKS", &git_dir.join("hooks").display().to_string());
                text.replace("ATTRIBUTES", &git_dir.join("info/attributes").display().to_string())
            };
            let file = if random.u8(..4) == 0 { &included } else { &git_dir.join("config") };
            let arguments = ["config", "--file", &file.display().to_string(), &fill(key), &fill(value)];
            self.env.git(&self.root, &arguments);
        }
        let config = git_dir.join("config").display().to_string();
        self.env.git(&self.root, &["config", "--file", &config, "include.path", "more"]);
    }

    /// Makes the program of a trap, and returns its path.
    fn program(&self, trap: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let name: String = trap.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = self.env.path(&format!("trap-{name}"));
        if !path.exists() {
            let script = format!("#!/bin/sh\n: > '{}'\n", self.ran.join(&name).display());
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        path.display().to_string()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs commands and hooks of Muninn, each with a chance of one half.
    fn use_muninn(&self, random: &mut Rng) -> Vec<String> {
        let mut used = Vec::new();
        for arguments in COMMANDS.into_iter().filter(|_| random.bool()) {
            self.env.run(&self.root, arguments);
            used.push(arguments.join(" "));
        }
        for event in EVENTS.into_iter().filter(|_| random.bool()) {
            let input = json!({"session_id": "s", "cwd": self.root, "prompt": "How does the vault unlock?"});
            let mut command = self.env.muninn();
            command.current_dir(&self.root).args(["hook", event]);
            output_with(command, input.to_string().as_bytes());
            used.push(event.to_owned());
        }
        used
    }

    /// The traps that ran.
    fn sprung(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(&self.ran).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Runs git itself over the repository. Most of these commands fail, because a trap answers nothing.
    fn use_git(&self) {
        for arguments in [
            &["status", "--short"][..],
            &["add", "-A"],
            &["commit", "-q", "--allow-empty", "-m", "trap"],
            &["fetch", "-q", "origin"],
            &["push", "-q", "origin", "HEAD:refs/heads/trap"],
            &["diff", "HEAD~1"],
            &["checkout", "-q", "-f", "HEAD"],
        ] {
            output(git_command(&self.root, arguments));
        }
    }
}

fn check(seeds: std::ops::Range<u64>) {
    let (mut sprung_by_git, mut failures) = (BTreeSet::new(), Vec::new());
    for seed in seeds {
        let mut random = Rng::with_seed(seed);
        let trapped = Trapped::generate(&mut random);
        let used = trapped.use_muninn(&mut random);
        let sprung = trapped.sprung();
        if !sprung.is_empty() {
            failures.push(format!("seed {seed}: {sprung:?} ran; commands: {used:?}"));
        }
        trapped.use_git();
        sprung_by_git.extend(trapped.sprung());
    }
    assert!(failures.is_empty(), "{failures:#?}");
    println!("git itself runs {} of the traps: {sprung_by_git:?}", sprung_by_git.len());
    assert!(sprung_by_git.len() >= 10, "the traps are no traps: {sprung_by_git:?}");
}

#[test]
fn generated_hostile_repositories_run_nothing() {
    check(1000..1010);
}

#[test]
#[ignore = "the long version of the test above"]
fn two_hundred_generated_hostile_repositories_run_nothing() {
    check(1000..1200);
}
