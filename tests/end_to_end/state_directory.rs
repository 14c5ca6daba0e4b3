//! The state directory: other users control neither it nor a file in it, whichever command uses it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use muninn_tests::{TestEnv, output_with};
use serde_json::json;

use crate::MUNINN;
use crate::doctor::Report;

/// Commands that use the directory, each in a way of its own.
const COMMANDS: [&[&str]; 14] = [
    &["status"],
    &["stats"],
    &["why", "--last"],
    &["remember", "The build needs Rust."],
    &["recall", "build"],
    &["index"],
    &["scan"],
    &["remind", "list"],
    &["journal", "toc"],
    &["install", "claude-code", "--yes"],
    &["ask", "x"],
    &["serve", "--listen", "127.0.0.1:0"],
    &["run", "--", "true"],
    &["daemon", "start"],
];

struct Place {
    env: TestEnv,
    root: PathBuf,
}

impl Place {
    fn new() -> Place {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &crate::stage::FILES);
        fs::create_dir(env.state_dir()).unwrap();
        set_mode(&env.state_dir(), 0o700);
        Place { env, root }
    }

    fn hook(&self) -> Output {
        let mut command = self.env.muninn();
        command.current_dir(&self.root).args(["hook", "UserPromptSubmit"]);
        let input = json!({"session_id": "s", "cwd": self.root, "prompt": crate::stage::QUESTION});
        output_with(command, input.to_string().as_bytes())
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn give_away(path: &Path) -> bool {
    let given = Command::new("chown").args(["-h", "12345"]).arg(path).status();
    given.is_ok_and(|status| status.success())
}

type Arrange = fn(&Place) -> bool;

#[test]
fn directory_that_others_control_is_used_by_no_command() {
    let cases: [(&str, Arrange, &str); 5] = [
        (
            "open to all",
            |place| {
                set_mode(&place.env.state_dir(), 0o777);
                true
            },
            "run `chmod 700` on it",
        ),
        ("another user's", |place| give_away(&place.env.state_dir()), "belongs to user 12345"),
        (
            "below an open directory",
            |place| {
                set_mode(&place.env.path("state"), 0o777);
                true
            },
            "other users can write into",
        ),
        (
            "open, with a link in it",
            |place| {
                symlink("/etc/passwd", place.env.state_dir().join("hook.log")).unwrap();
                set_mode(&place.env.state_dir(), 0o777);
                true
            },
            "is a symbolic link",
        ),
        (
            "a link of another user's",
            |place| {
                fs::rename(place.env.state_dir(), place.env.path("state/real")).unwrap();
                symlink(place.env.path("state/real"), place.env.state_dir()).unwrap();
                give_away(&place.env.state_dir())
            },
            "belongs to user 12345",
        ),
    ];
    for (name, arrange, expected) in cases {
        let place = Place::new();
        if !arrange(&place) {
            println!("skipped: only root gives directories away");
            continue;
        }
        for arguments in COMMANDS {
            let refused = place.env.run(&place.root, arguments);
            let is_named =
                text(&refused).contains(expected) && text(&refused).contains("the state directory is not used");
            assert!(is_named && !refused.status.success(), "{name}: {arguments:?}: {refused:?}");
        }
        let hook = place.hook();
        assert!(hook.status.success() && hook.stdout.is_empty(), "{name}: {hook:?}");
        assert!(text(&hook).contains(expected), "{name}: the log has no other place: {hook:?}");
        let report = Report::of(&place.env, &place.root);
        assert!(report.only("state", "bad").contains(expected), "{name}");
        let entries = fs::read_dir(place.env.state_dir()).into_iter().flatten();
        let written: Vec<_> =
            entries.flatten().map(|entry| entry.file_name()).filter(|entry| entry != "hook.log").collect();
        assert!(written.is_empty(), "{name}: {written:?}");
    }
}

#[test]
fn own_directory_that_others_may_enter_is_closed_once() {
    for open in [0o755, 0o750] {
        let place = Place::new();
        set_mode(&place.env.state_dir(), open);
        let first = place.env.run(&place.root, &["remind", "list"]);
        assert!(first.status.success() && text(&first).contains("it now has mode 700"), "{open:o}: {first:?}");
        assert_eq!(mode(&place.env.state_dir()), 0o700);
        let second = place.env.run(&place.root, &["remind", "list"]);
        assert!(second.status.success() && !text(&second).contains("mode 700"), "{open:o}: {second:?}");
    }
    let place = Place::new();
    set_mode(&place.env.state_dir(), 0o755);
    let hook = place.hook();
    assert!(text(&hook).is_empty() && !hook.stdout.is_empty(), "{hook:?}");
    let log = fs::read_to_string(place.env.state_dir().join("hook.log")).unwrap();
    assert!(log.contains("it now has mode 700"), "{log}");
    place.env.run(&place.root, &["daemon", "stop"]);
}

/// The user's own directory elsewhere, by a link of the user's.
#[test]
fn link_of_the_user_to_a_directory_of_the_user_is_followed() {
    let place = Place::new();
    let real = place.env.path("elsewhere");
    fs::rename(place.env.state_dir(), &real).unwrap();
    symlink(&real, place.env.state_dir()).unwrap();
    place.env.stdout_of(&place.root, &["remember", "The build needs Rust."]);
    assert!(place.env.stdout_of(&place.root, &["recall", "build"]).contains("needs Rust"));
    assert!(real.join("spool").exists() || fs::read_dir(&real).unwrap().count() > 0);
}

/// Whatever lies in place of a file, the file that it leads to is neither read nor written.
#[test]
fn links_in_place_of_its_files_are_not_followed() {
    for name in [
        "hook.log", "daemon.log", "run.log", "state.db", "state.db-wal", "state.db-shm", "state.queue.lock",
        "state.turn.lock", "reminders.db", "reminders.db-wal", "secret", "gateway-4747",
    ] {
        let place = Place::new();
        let victim = place.env.path("victim");
        fs::write(&victim, "kept\n").unwrap();
        set_mode(&victim, 0o644);
        symlink(&victim, place.env.state_dir().join(name)).unwrap();
        let report = Report::of(&place.env, &place.root);
        assert!(report.only("state", "bad").contains("is a symbolic link"), "{name}");
        let hook = place.hook();
        assert!(hook.status.success(), "{name}: {hook:?}");
        for arguments in [
            &["daemon", "start"][..],
            &["remind", "once", "tea", "+9h", "Tea"],
            &["status"],
            &["why"],
            &["run", "--", "true"],
        ] {
            drop(place.env.run(&place.root, arguments));
        }
        place.env.run(&place.root, &["daemon", "stop"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept\n", "{name}");
        assert_eq!(mode(&victim), 0o644, "{name}");
        let beside = ["victim-wal", "victim-shm", "victim-journal"].map(|name| place.env.path(name));
        assert!(beside.iter().all(|path| !path.exists()), "{name}");
    }
}
