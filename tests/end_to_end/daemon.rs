//! The daemon: one per user, started by a command or by a hook, safe from other users, and gone by itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use muninn_tests::{TestEnv, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::SESSION;
use crate::stage::{FILES, QUESTION};

pub(crate) const PATIENT: &str = "[context]\ndeadline_ms = 20000\n[hooks]\ndeadline_ms = 20000\n";

/// A home whose daemon ends with the test.
pub(crate) struct Home {
    pub(crate) env: TestEnv,
    pub(crate) root: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Home {
        let env = TestEnv::new(MUNINN);
        env.write_config(PATIENT);
        let root = env.repository("demo", &FILES);
        Home { env, root }
    }

    pub(crate) fn daemon(&self, arguments: &[&str]) -> Output {
        self.env.run(&self.root, &[&["daemon"], arguments].concat())
    }

    pub(crate) fn start(&self) -> Value {
        let output = self.daemon(&["start"]);
        assert!(output.status.success(), "{output:?}");
        self.status().unwrap()
    }

    /// The status; `None` if no process listens.
    pub(crate) fn status(&self) -> Option<Value> {
        let output = self.daemon(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(if status["running"] == true { 0 } else { 4 }));
        (status["running"] == true).then_some(status)
    }

    /// The directory of the socket: the tests have no runtime directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.env.state_dir().join("run")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.env.state_dir().join("daemon.log")).unwrap()
    }

    /// Waits until the index of the repository is ready.
    pub(crate) fn wait_indexed(&self) {
        wait_until("a ready index", || self.log().contains("index ready").then_some(()));
    }

    pub(crate) fn hook(&self, event: &str, more: &Value, variables: &[(&str, &str)]) -> Output {
        let mut input = json!({"session_id": SESSION, "cwd": self.root});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        let mut command = self.env.muninn();
        command.current_dir(&self.root).args(["hook", event]);
        command.envs(variables.iter().copied());
        let output = muninn_tests::output_with(command, input.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        output
    }

    /// The block for a prompt.
    pub(crate) fn prompt(&self, prompt: &str) -> Option<String> {
        let output = self.hook("UserPromptSubmit", &json!({"prompt": prompt}), &[]);
        if output.stdout.is_empty() {
            return None;
        }
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    /// The newest receipt, which a daemon writes after its reply.
    pub(crate) fn last_receipt(&self, root: &Path) -> Option<Value> {
        let shown = self.env.run(root, &["why", "--last", "--json"]);
        serde_json::from_slice(&shown.stdout).ok()
    }

    fn connect(&self, status: &Value) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(status["socket"].as_str().unwrap()).unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Also a daemon that a hook has just started, and that does not listen yet.
        let output = self.daemon(&["start"]);
        if output.status.success() {
            self.daemon(&["stop"]);
        }
    }
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

fn is_alive(status: &Value) -> bool {
    // A process that nobody waits for yet is no longer alive. Its first thread can end before the others, which hold its socket.
    let path = PathBuf::from(format!("/proc/{}", status["process"]));
    let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
    let threads = path.join("task").read_dir().map_or(0, Iterator::count);
    threads > 1 || stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

pub(crate) fn kill(status: &Value) {
    let done = Command::new("kill").args(["-KILL", &status["process"].to_string()]).status();
    assert!(done.unwrap().success());
    wait_until("the end of the process", || (!is_alive(status)).then_some(()));
}

fn line(reader: &mut BufReader<UnixStream>) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn daemon_is_started_shown_and_stopped() {
    let home = Home::new();
    let shown = home.daemon(&["status"]);
    assert_eq!((shown.status.code(), text(&shown).as_str()), (Some(4), "no daemon is running\n"));
    assert_eq!(text(&home.daemon(&["stop"])), "no daemon is running\n");
    let status = home.start();
    assert_eq!(status["host"], "daemon");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    let socket = PathBuf::from(status["socket"].as_str().unwrap());
    assert_eq!((mode(&socket), mode(&home.directory())), (0o600, 0o700));
    home.wait_indexed();
    let shown = text(&home.daemon(&["status"]));
    let worktree = format!("worktree    {}", home.root.display());
    assert!(shown.starts_with("a daemon (version ") && shown.contains(&worktree), "{shown}");
    let again = home.daemon(&["start"]);
    assert!(again.status.success() && text(&again).contains("is running already"), "{again:?}");
    let second = home.daemon(&["run"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second).contains(&format!("process {}) is running already", status["process"])));
    assert_eq!(text(&home.daemon(&["stop"])), "stopped\n");
    assert!(!socket.exists());
    wait_until("the end of the process", || (!is_alive(&status)).then_some(()));
    assert_eq!(home.status(), None);
}

#[test]
fn two_starts_at_once_make_one_daemon() {
    let home = Home::new();
    let start = || -> Child {
        let mut command = home.env.muninn();
        command.current_dir(&home.root).args(["daemon", "start"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<Output> =
        [start(), start(), start()].map(|child| child.wait_with_output().unwrap()).into_iter().collect();
    assert!(started.iter().all(|output| output.status.success()), "{started:?}");
    let listening = started.iter().filter(|output| text(output).starts_with("listening on "));
    assert_eq!(listening.count(), 1, "{started:?}");
}

#[test]
fn socket_of_a_killed_daemon_is_replaced() {
    let home = Home::new();
    let first = home.start();
    kill(&first);
    assert!(Path::new(first["socket"].as_str().unwrap()).exists());
    assert_eq!(home.status(), None);
    let second = home.start();
    assert_ne!(first["process"], second["process"]);
    assert_eq!(first["socket"], second["socket"]);
}

#[test]
fn unsafe_directory_is_refused_and_hooks_work_without_the_daemon() {
    let home = Home::new();
    let directory = home.directory();
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = home.daemon(&["start"]);
    let expected = "can be entered by other users (mode 777)";
    assert!(refused.status.code() == Some(1) && text(&refused).contains(expected), "{refused:?}");
    assert!(home.prompt(QUESTION).unwrap().contains("src/rate_limiter.rs"));

    let other = home.env.path("other");
    std::fs::rename(&directory, &other).unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o700)).unwrap();
    symlink(&other, &directory).unwrap();
    let refused = home.daemon(&["start"]);
    assert!(refused.status.code() == Some(1) && text(&refused).contains("is no directory"), "{refused:?}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0, "nothing is written there");
}

#[test]
fn runtime_directory_holds_the_socket_of_the_user() {
    let home = Home::new();
    let runtime = home.env.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = home.env.muninn();
        command.current_dir(&home.root).env("XDG_RUNTIME_DIR", &runtime);
        muninn_tests::output({
            command.args(arguments);
            command
        })
    };
    let started = run(&["daemon", "start"]);
    assert!(started.status.success(), "{started:?}");
    let directory = runtime.join("muninn");
    assert_eq!(mode(&directory), 0o700);
    let listening = format!("listening on {}", directory.display());
    assert!(text(&started).starts_with(&listening), "{started:?}");
    assert!(run(&["daemon", "stop"]).status.success());
}

#[test]
fn bad_calls_do_not_disturb_the_daemon() {
    let home = Home::new();
    let status = home.start();
    // Half a line of a client that dies.
    home.connect(&status).get_ref().write_all(b"{\"version\":").unwrap();
    // 5 MiB without an end.
    home.connect(&status).get_ref().write_all(&vec![b' '; 5 << 20]).unwrap_err();
    let mut wrong = home.connect(&status);
    wrong.get_ref().write_all(b"nonsense\n").unwrap();
    assert!(line(&mut wrong).contains("not understood"));
    // A client that dies after its request.
    let request =
        json!({"hook_turn": {"session": {"client": "claude-code", "directory": home.root}, "prompt": QUESTION}});
    let call = json!({"version": env!("CARGO_PKG_VERSION"), "method": "call", "request": request});
    home.connect(&status).get_ref().write_all(format!("{call}\n").as_bytes()).unwrap();
    let after = wait_until("the end of the call", || {
        home.status().filter(|status| status["calls"] == 1 && status["active"] == 0)
    });
    assert_eq!(after["process"], status["process"]);
    home.wait_indexed();
    assert!(home.prompt(QUESTION).unwrap().contains("src/rate_limiter.rs"));
}

#[test]
fn newer_version_replaces_the_daemon() {
    let home = Home::new();
    let status = home.start();
    let mut newer = home.connect(&status);
    newer
        .get_ref()
        .write_all(b"{\"version\":\"99.0.0\",\"method\":\"call\",\"request\":{\"of_the_future\":1}}\n")
        .unwrap();
    let expected = format!("{{\"version\":\"{}\"}}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(line(&mut newer), expected);
    assert_eq!(newer.read_to_end(&mut Vec::new()).unwrap(), 0);
    wait_until("the end of the daemon", || (!is_alive(&status)).then_some(()));
    assert!(home.log().contains("99.0.0"), "{}", home.log());
    assert_ne!(home.start()["process"], status["process"]);
}

#[test]
fn daemon_has_no_secret_of_the_program_that_starts_it() {
    let home = Home::new();
    let mut command = home.env.muninn();
    command
        .current_dir(&home.root)
        .args(["daemon", "start"])
        .env("ANTHROPIC_API_KEY", "sk-ant-secret")
        .env("MUNINN_BACKEND_KEY", "sk-secret")
        .env("SSH_AUTH_SOCK", "/tmp/agent");
    assert!(muninn_tests::output(command).status.success());
    let status = home.status().unwrap();
    let environment = std::fs::read(format!("/proc/{}/environ", status["process"])).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    let mut names: Vec<_> =
        environment.split('\0').filter_map(|variable| variable.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    let expected =
        ["HOME", "MUNINN_CONFIG", "MUNINN_DISCOVER", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
    names.retain(|name| !["LANG", "LC_ALL", "LOGNAME", "TMPDIR", "TZ", "USER"].contains(name));
    assert_eq!(names, expected);
    assert!(!environment.contains("secret"));
}

#[test]
fn daemon_keeps_no_file_of_the_program_that_starts_it() {
    let home = Home::new();
    let mut command = Command::new("sh");
    home.env.clean(&mut command);
    let lock = home.env.path("lock");
    command
        .current_dir(&home.root)
        .args(["-c", "exec 7> \"$0\"; exec \"$1\" daemon start"])
        .args([lock.as_os_str(), MUNINN.as_ref()]);
    assert!(muninn_tests::output(command).status.success());
    let files = format!("/proc/{}/fd", home.status().unwrap()["process"]);
    let mut open = std::fs::read_dir(files).unwrap().filter_map(|entry| entry.unwrap().path().read_link().ok());
    assert!(lock.exists() && !open.any(|path| path == lock));
}

/// A limit on the size of files stands for a full disk: every write fails.
#[test]
fn full_disk_does_not_keep_the_daemon_from_answering() {
    let home = Home::new();
    home.env.stdout_of(&home.root, &["index"]);
    let mut command = Command::new("sh");
    home.env.clean(&mut command);
    command
        .current_dir(&home.root)
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" daemon run", MUNINN])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    let mut stdout = BufReader::new(daemon.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert!(first.starts_with("listening on "), "{first}");
    assert_eq!(home.status().unwrap()["process"], json!(daemon.id()));
    // Without a durable ledger nothing is injected, and the prompt passes.
    assert_eq!(home.prompt(QUESTION), None);
    let status = home.status().unwrap();
    assert_eq!((&status["calls"], &status["active"]), (&json!(1), &json!(0)));
    assert_eq!(text(&home.daemon(&["stop"])), "stopped\n");
    let ended = wait_until("the end of the daemon", || daemon.try_wait().unwrap());
    assert!(ended.success(), "{ended:?}");
}

/// Between two calls, and when the user asks for it.
#[test]
fn configuration_is_read_again_on_a_signal() {
    let home = Home::new();
    let status = home.start();
    home.env.write_config(&format!("{PATIENT}daemon_idle_minutes = 7\n"));
    let process = status["process"].as_u64().or(status["pid"].as_u64()).unwrap();
    let hung_up = std::process::Command::new("kill").args(["-HUP", &process.to_string()]).status().unwrap();
    assert!(hung_up.success());
    wait_until("the new configuration", || home.log().contains("the configuration was reloaded").then_some(()));
    assert_eq!(home.status().unwrap(), status, "the process stays");
}
