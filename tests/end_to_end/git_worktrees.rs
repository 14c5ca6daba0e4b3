//! The worktree of a repository is the one that git names, and only if it is the user's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use muninn_tests::{TestEnv, git};

use crate::MUNINN;
use crate::git_formats::stderr;
use crate::mcp::ALONE;
use crate::stage::FILES;

#[test]
fn separate_git_directories_show_their_own_worktree() {
    let env = TestEnv::new(MUNINN);
    env.write_config(ALONE);
    let (work, elsewhere) = (env.path("work"), env.path("elsewhere"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("private.txt"), "PRIVATE").unwrap();
    fs::write(work.join("own.txt"), "OWN").unwrap();
    for name in [".git", "data"] {
        let target = elsewhere.join(name);
        git(&work, &["init", "-q", &format!("--separate-git-dir={}", target.display())]).unwrap();
        let shown = env.stdout_of(&work, &["tree"]);
        assert!(shown.contains("own.txt") && !shown.contains("private.txt"), "{name}: {shown}");
        env.stdout_of(&work, &["init", "--memory", "repo"]);
        assert!(work.join(".muninn/config.toml").exists() && !elsewhere.join(".muninn").exists(), "{name}");
        fs::remove_dir_all(work.join(".muninn")).unwrap();
        fs::remove_file(work.join(".git")).unwrap();
    }
    let home = env.path("home");
    fs::write(home.join("notes.txt"), "PRIVATE").unwrap();
    let archive = env.repository("archive", &FILES);
    symlink(&home, archive.join("link")).unwrap();
    for named in [home.to_str().unwrap(), "../link", "../../../home"] {
        env.git(&archive, &["config", "core.worktree", named]);
        let output = env.run(&archive, &["tree"]);
        assert!(!output.status.success() && stderr(&output).contains("does not lead back"), "{named}: {output:?}");
        assert!(!env.run(&archive, &["init"]).status.success());
        assert!(!home.join(".muninn").exists());
    }
}

#[test]
fn repository_of_another_user_is_refused_until_it_is_declared_safe() {
    let env = TestEnv::new(MUNINN);
    env.write_config(ALONE);
    let root = env.repository("theirs", &FILES);
    // Only root can give files away; anybody else meets other owners in every multi-user system.
    let chown = |path: &Path| std::os::unix::fs::lchown(path, Some(12_345), None).is_ok();
    if !chown(&root.join(".git")) {
        return;
    }
    let run = |more: &[(&str, &str)]| {
        let mut command = env.muninn();
        command.args(["tree"]).current_dir(&root).envs(more.iter().copied());
        muninn_tests::output(command)
    };
    let config = env.path("gitconfig");
    let global = [("GIT_CONFIG_GLOBAL", config.to_str().unwrap())];
    for (text, is_safe) in [
        ("", false),
        ("[safe]\ndirectory = /elsewhere\n", false),
        ("[safe]\ndirectory = *\n", true),
        ("[safe]\ndirectory = *\ndirectory =\n", false),
    ] {
        fs::write(&config, text).unwrap();
        let output = run(&global);
        assert_eq!(output.status.success(), is_safe, "{text}: {output:?}");
        assert_eq!(stderr(&output).contains("dubious ownership"), !is_safe, "{text}: {output:?}");
    }
    fs::write(&config, format!("[safe]\ndirectory = {}\n", root.display())).unwrap();
    assert!(run(&global).status.success());
    assert!(run(&[("SUDO_UID", "12345")]).status.success(), "the user of sudo");
    let variables = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "safe.directory"), ("GIT_CONFIG_VALUE_0", "*")];
    assert!(run(&variables).status.success());
    env.git(&root, &["config", "--file", ".git/config", "safe.directory", "*"]);
    assert!(!run(&[]).status.success(), "the repository cannot allow itself");
}
