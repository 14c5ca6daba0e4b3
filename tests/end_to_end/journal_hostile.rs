//! Remotes that send bombs, and repositories and addresses that name programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use muninn_tests::{Reply, TestEnv, Upstream, git, output};
use serde_json::json;

use crate::doctor::Report;
use crate::journal::{journal, json_of, repository};

/// A repository with one own entry, and a remote.
struct Scene {
    env: TestEnv,
    root: PathBuf,
    remote: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let (env, root) = repository();
        let remote = env.path("remote.git");
        git(&root, &["init", "--quiet", "--bare", remote.to_str().unwrap()]).unwrap();
        git(&root, &["remote", "add", "origin", remote.to_str().unwrap()]).unwrap();
        let scene = Scene { env, root, remote };
        scene.write("own");
        scene
    }

    fn write(&self, section: &str) {
        let read = json_of(&self.env, &self.root, &["read", section]);
        let version = read["version"].as_str().unwrap();
        json_of(&self.env, &self.root, &["write", section, "--entry", "the owner's", "--version", version]);
    }

    fn tip(&self) -> String {
        git(&self.root, &["rev-parse", "refs/muninn/journal"]).unwrap()
    }

    /// A tree of the remote with these entries, ten times each.
    fn tenfold(&self, mode: &str, id: &str, extension: &str) -> String {
        let index = self.env.path("index");
        fs::remove_file(&index).ok();
        let mut lines = String::new();
        for name in 0..10 {
            lines.push_str(&format!("{mode} {id}\t{name}{extension}\n"));
        }
        let listed = self.env.path("lines");
        fs::write(&listed, lines.replace("040000 ", "040000 tree ").replace("100644 ", "100644 blob ")).unwrap();
        let mut command = muninn_tests::git_command(&self.remote, &["mktree"]);
        let made = command.stdin(fs::File::open(&listed).unwrap()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    /// The remote's journal is one entry with 10^10 files.
    fn send_bomb(&self) {
        let file = self.env.path("x");
        fs::write(&file, "x").unwrap();
        let blob = git(&self.remote, &["hash-object", "-w", file.to_str().unwrap()]).unwrap();
        let mut tree = self.tenfold("100644", blob.trim(), ".md");
        for _ in 0..9 {
            tree = self.tenfold("040000", &tree, "");
        }
        self.send(&tree, "work_context: x\n\nbomb\n\nSection: a\n");
    }

    /// The remote's journal is one entry.
    fn send(&self, tree: &str, message: &str) {
        let commit = git(&self.remote, &["commit-tree", tree, "-m", message]).unwrap();
        git(&self.remote, &["update-ref", "refs/muninn/journal", commit.trim()]).unwrap();
    }

    fn send_entry(&self) {
        let tree = git(&self.remote, &["write-tree"]).unwrap();
        self.send(tree.trim(), "work_context: x\n\na stranger's\n\nSection: a\n");
    }

    /// Runs the command with at most 300 MB of memory.
    fn bounded(&self, arguments: &[&str]) -> Output {
        let muninn = self.env.muninn();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -d 300000 && exec \"$@\"", "sh"]);
        command.arg(muninn.get_program()).args(arguments);
        self.env.clean(&mut command);
        command.current_dir(&self.root);
        output(command)
    }

    /// A program that leaves a file, and the file.
    fn canary(&self) -> (String, PathBuf) {
        let (program, file) = (self.env.path("canary.sh"), self.env.path("canary"));
        fs::write(&program, format!("#!/bin/sh\necho ran \"$@\" >> {}\n", file.display())).unwrap();
        executable(&program);
        (program.to_str().unwrap().to_owned(), file)
    }
}

fn executable(program: &Path) {
    fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn fetched_bomb_is_refused_and_every_command_goes_on_in_little_memory() {
    let scene = Scene::new();
    scene.send_bomb();
    let tip = scene.tip();
    for command in ["fetch", "sync"] {
        let refused = scene.bounded(&["journal", command]);
        let told = told(&refused);
        assert!(
            refused.status.code() == Some(1) && told.contains("is refused") && told.contains("50000"),
            "{refused:?}"
        );
        assert_eq!(scene.tip(), tip);
    }
    scene.write("own");
    let good = [&["journal", "toc"][..], &["journal", "read", "own"], &["recall", "owner's"], &["doctor"]];
    for command in good {
        let output = scene.bounded(command);
        assert!(!told(&output).contains("files and folders"), "{command:?}: {output:?}");
    }
    assert_eq!(json_of(&scene.env, &scene.root, &["list", "own"]).as_array().unwrap().len(), 2);
    assert_eq!(Report::of(&scene.env, &scene.root).only("journal", "ok"), "2 entries");
}

/// A plain `git fetch` moves the ref without a check.
#[test]
fn bomb_that_another_program_has_fetched_is_named_by_doctor() {
    let scene = Scene::new();
    scene.send_bomb();
    git(&scene.root, &["fetch", "--quiet", "origin", "+refs/muninn/journal:refs/muninn/journal"]).unwrap();
    for command in [&["journal", "toc"][..], &["journal", "write", "b", "--entry", "x", "--version", "new"]] {
        let refused = scene.bounded(command);
        let told = told(&refused);
        assert!(refused.status.code() == Some(1) && told.contains("50000") && told.contains("doctor"), "{refused:?}");
    }
    assert_ne!(scene.bounded(&["recall", "bomb"]).status.code(), None);
    let report = Report::of(&scene.env, &scene.root);
    assert!(report.only("journal", "bad").contains("50000 files and folders"));
    assert!(report.value().to_string().contains("git update-ref refs/muninn/journal COMMIT"));
}

#[test]
fn fetch_is_undone_by_the_command_and_doctor_names_it() {
    let scene = Scene::new();
    let own = scene.tip();
    let tree = git(&scene.remote, &["write-tree"]).unwrap();
    let message = format!("work_context: x\n\na stranger's\n\nSection: own\nWas: {own}");
    scene.send(tree.trim(), &message);
    assert_eq!(json_of(&scene.env, &scene.root, &["fetch"])["received"], 1);
    scene.write("own");
    let id = format!("own#{}", own.trim());
    assert_eq!(json_of(&scene.env, &scene.root, &["read", &id])["content"], "the owner's");
    let report = Report::of(&scene.env, &scene.root);
    assert!(report.only("journal", "bad").contains("Was:"));
    assert!(report.value().to_string().contains("muninn journal undo-fetch"));
    let undone = json_of(&scene.env, &scene.root, &["undo-fetch"]);
    assert_eq!(undone, json!({"remote": "origin", "removed": 1, "kept": 1}));
    let listed = json_of(&scene.env, &scene.root, &["list", "own"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(Report::of(&scene.env, &scene.root).only("journal", "ok"), "2 entries");
    let nothing = journal(&scene.env, &scene.root, &["undo-fetch"]);
    assert!(nothing.status.code() == Some(1) && told(&nothing).contains("no fetch to undo"), "{nothing:?}");
}

#[test]
fn addresses_that_start_a_program_are_refused_at_once() {
    let scene = Scene::new();
    let (program, canary) = scene.canary();
    let addresses = [
        "fd::".to_owned(),
        "fd::0,1".to_owned(),
        "fd::17/foo".to_owned(),
        format!("ext::{program}"),
        format!("ext::{program}%20x"),
        format!("EXT::{program}"),
        "testgit::/x".to_owned(),
        "http::https://example.com/".to_owned(),
        "hg://example.com/a".to_owned(),
        "ftp://127.0.0.1:1/a".to_owned(),
        format!("--upload-pack={program}"),
        format!("-c=core.sshCommand={program}"),
    ];
    for address in &addresses {
        for command in ["fetch", "push", "sync"] {
            let refused = journal(&scene.env, &scene.root, &[command, "--", address]);
            let told = told(&refused);
            assert!(refused.status.code() == Some(1) && told.contains("is no remote"), "{address}: {told}");
        }
        // The name of such an address is no better.
        git(&scene.root, &["config", "remote.evil.url", address]).unwrap();
        let refused = journal(&scene.env, &scene.root, &["fetch", "evil"]);
        assert!(refused.status.code() == Some(1) && told(&refused).contains("is no remote"), "{refused:?}");
    }
    assert!(!canary.exists());
}

/// Each setting, the address of the remote, and whether the transfer is refused by the setting's name.
#[test]
fn programs_that_a_repository_names_never_run() {
    let server = Upstream::start_with(|_| Reply::json(401, "{}").header("www-authenticate", "Basic realm=\"x\""));
    let http = format!("{}/a.git", server.url());
    let scene = Scene::new();
    scene.send_entry();
    let (program, canary) = scene.canary();
    let local = scene.remote.to_str().unwrap();
    let rewritten = format!("url.ext::{program} .insteadof");
    let helper = format!("!{program}");
    let table = [
        ("core.sshcommand", program.as_str(), "ssh://127.0.0.1:1/a", true),
        ("core.gitproxy", &program, "git://127.0.0.1:1/a", true),
        ("core.askpass", &program, &http, true),
        ("credential.helper", &helper, &http, true),
        ("credential.http://127.0.0.1.helper", &helper, &http, true),
        ("remote.origin.vcs", "ext", local, true),
        ("remote.origin.uploadpack", &program, local, true),
        ("remote.origin.receivepack", &program, local, true),
        (&rewritten, &local[..5], local, true),
        ("http.proxy", "http://127.0.0.1:1", &http, true),
        ("core.alternaterefscommand", &program, local, false),
        ("core.fsmonitor", &program, local, false),
        ("core.hookspath", scene.env.path("hooks").to_str().unwrap(), local, false),
        ("core.pager", &program, local, false),
        ("gpg.program", &program, local, false),
        ("push.gpgsign", "true", local, false),
        ("uploadpack.packobjectshook", &program, local, false),
        ("gc.auto", "1", local, false),
        ("protocol.ext.allow", "always", local, false),
        ("include.path", scene.env.path("included").to_str().unwrap(), local, false),
    ]
    .map(|(key, value, address, refused)| (key.to_owned(), value.to_owned(), address.to_owned(), refused));
    fs::write(
        scene.env.path("included"),
        format!(
            "[core]\n\tsshCommand = {program}\n\tgitProxy = {program}\n[url \"ext::{program} \"]\n\tinsteadOf = /\n"
        ),
    )
    .unwrap();
    fs::create_dir_all(scene.env.path("hooks")).unwrap();
    for hook in ["reference-transaction", "pre-push", "post-update", "pre-receive", "update", "pre-auto-gc"] {
        for folder in [scene.env.path("hooks"), scene.root.join(".git/hooks"), scene.remote.join("hooks")] {
            fs::create_dir_all(&folder).unwrap();
            fs::copy(&program, folder.join(hook)).unwrap();
        }
    }
    // A repository on this machine that is pushed to can be a stranger's too.
    for (key, value) in [("core.alternateRefsCommand", &*program), ("core.fsmonitor", &program)] {
        git(&scene.remote, &["config", key, value]).unwrap();
    }
    for (key, value, address, is_refused) in &table {
        git(&scene.root, &["config", "remote.origin.url", address]).unwrap();
        git(&scene.root, &["config", key, value]).unwrap();
        scene.write("own");
        let synced = journal(&scene.env, &scene.root, &["sync"]);
        let told = told(&synced);
        assert!(!canary.exists(), "{key}: {}", fs::read_to_string(&canary).unwrap());
        if *is_refused {
            assert!(
                synced.status.code() == Some(1) && told.contains(&**key) && told.contains("--global"),
                "{key}: {told}"
            );
        } else {
            assert!(synced.status.success(), "{key}: {told}");
        }
        git(&scene.root, &["config", "--unset-all", key]).unwrap();
    }
}

/// What the user's own configuration names is the user's.
#[test]
fn programs_that_the_users_configuration_names_are_used() {
    let scene = Scene::new();
    scene.send_entry();
    let ssh = scene.env.path("ssh.sh");
    let ran = scene.env.path("ssh-ran");
    let script = format!("#!/bin/sh\necho x >> {}\nfor last; do :; done\nexec sh -c \"$last\"\n", ran.display());
    fs::write(&ssh, script).unwrap();
    executable(&ssh);
    let own = scene.env.path("gitconfig");
    let address = format!("ssh://example.com{}", scene.remote.display());
    let conditional = scene.env.path("conditional");
    fs::write(&conditional, format!("[core]\n\tsshCommand = {}\n", ssh.display())).unwrap();
    let configurations = [
        format!("[core]\n\tsshCommand = {}\n", ssh.display()),
        // By the directory of the repository, and by the address of its remote.
        format!("[includeIf \"gitdir:{}/\"]\n\tpath = {}\n", scene.root.display(), conditional.display()),
        format!("[includeIf \"hasconfig:remote.*.url:ssh://example.com/**\"]\n\tpath = {}\n", conditional.display()),
        format!("[core]\n\tsshCommand = {}\n[url \"ssh://example.com/\"]\n\tinsteadOf = own:\n", ssh.display()),
    ];
    for (number, configuration) in configurations.iter().enumerate() {
        fs::write(&own, configuration).unwrap();
        let address = if number == 3 { address.replace("ssh://example.com/", "own:") } else { address.clone() };
        git(&scene.root, &["config", "remote.origin.url", &address]).unwrap();
        let mut command = scene.env.muninn();
        command.args(["journal", "sync"]).current_dir(&scene.root).env("GIT_CONFIG_GLOBAL", &own);
        let synced = output(command);
        assert!(synced.status.success(), "{number}: {}", told(&synced));
        assert!(fs::remove_file(&ran).is_ok(), "{number}");
    }
}

#[test]
fn push_to_a_working_repository_on_this_machine_changes_none_of_its_files() {
    let scene = Scene::new();
    let (program, canary) = scene.canary();
    let other = scene.env.path("other");
    git(&scene.root, &["clone", "--quiet", ".", other.to_str().unwrap()]).unwrap();
    fs::write(other.join(".git/info/attributes"), "* filter=x\n").unwrap();
    for (key, value) in
        [("receive.denyCurrentBranch", "updateInstead"), ("filter.x.smudge", &*program), ("filter.x.clean", &program)]
    {
        git(&other, &["config", key, value]).unwrap();
    }
    git(&other, &["symbolic-ref", "HEAD", "refs/muninn/journal"]).unwrap();
    git(&scene.root, &["config", "remote.origin.url", other.to_str().unwrap()]).unwrap();
    let pushed = journal(&scene.env, &scene.root, &["push"]);
    assert_eq!(pushed.status.code(), Some(1), "{pushed:?}");
    assert!(!canary.exists() && !other.join("own.md").exists());
}

#[test]
fn remote_that_closes_or_answers_garbage_is_an_error_soon() {
    let scene = Scene::new();
    let server = Upstream::start_with(|_| Reply::json(200, "\u{1b}[2J garbage\n"));
    let tip = scene.tip();
    for address in [format!("{}/a.git", server.url()), "git://127.0.0.1:1/a".to_owned()] {
        let started = Instant::now();
        let failed = journal(&scene.env, &scene.root, &["fetch", &address]);
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        assert!(!told(&failed).contains('\u{1b}') && started.elapsed() < Duration::from_secs(30));
        assert_eq!(scene.tip(), tip);
    }
}
