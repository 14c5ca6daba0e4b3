//! Bounds of a run, and settings of repositories that name programs.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::{GitRunError, RemoteError, RunLimits, run_git};
use super::transfer_git;
use crate::commit_chain::CommitChain;
use crate::fixture::Fixture;

const LIMITS: RunLimits =
    RunLimits { total: Duration::from_secs(60), silence: Duration::from_secs(60), output: 1 << 20 };

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn peer_that_accepts_and_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let repo = Fixture::with(&[]);
    let silence = Duration::from_millis(500);
    for address in ["git", "http"].map(|scheme| format!("{scheme}://127.0.0.1:{port}/a.git")) {
        let mut command = transfer_git(&repo.path(".git"));
        command.args(["ls-remote", &address]).env("NO_PROXY", "*").env("no_proxy", "*");
        let started = Instant::now();
        let result = run_git(command, RunLimits { silence, ..LIMITS }, &|| false);
        assert!(matches!(result, Err(GitRunError::Silent(_))), "{address}: {result:?}");
        assert!(started.elapsed() < Duration::from_secs(20), "{address}");
    }
    drop(listener);
}

#[cfg(unix)]
#[test]
fn run_that_takes_too_long_or_too_much_is_ended_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script =
        format!("sleep 1000 & echo $! > {}; trap '' TERM; while :; do echo x >&2; sleep 0.05; done", file.display());
    let is_full = || file.metadata().is_ok_and(|pid| pid.len() > 0);
    let total = Duration::from_secs(2);
    let too_long = run_git(shell(&script), RunLimits { total, ..LIMITS }, &|| false);
    assert!(matches!(too_long, Err(GitRunError::TooLong(_))), "{too_long:?}");
    let first = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let too_much = run_git(shell(&script), LIMITS, &is_full);
    assert!(matches!(too_much, Err(GitRunError::TooMuch)), "{too_much:?}");
    for pid in [first, std::fs::read_to_string(&file).unwrap()] {
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        // It may be a zombie until its new parent looks after it.
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let is_gone = state.map_or(rustix::process::test_kill_process(pid).is_err(), |stat| stat.contains(") Z "));
        assert!(is_gone, "{pid:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_of_git_and_of_what_it_starts_is_bounded() {
    let wanted = 600_000_000;
    let script = format!("sleep 0.3; head -c {wanted} /dev/zero | tail -c {wanted} | wc -c");
    let result = run_git(shell(&script), LIMITS, &|| false);
    assert!(!matches!(&result, Ok(count) if count.trim() == wanted.to_string()), "{result:?}");
}

#[test]
fn output_is_bounded_and_errors_are_told_without_progress() {
    let result = run_git(shell("head -c 9000000 /dev/zero"), LIMITS, &|| false).unwrap();
    assert_eq!(result.len(), 1 << 20);
    let script = "printf 'remote: Counting objects: 50%% (1/2)\\rremote: Counting objects: 100%% (2/2), done.\\n\
                  Receiving objects: 3%% (1/33)\\rfatal: no\\nerror: yes\\n' >&2; exit 1";
    match run_git(shell(script), LIMITS, &|| false) {
        Err(GitRunError::Failed(message)) => assert_eq!(message, "fatal: no\nerror: yes"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn setting_of_a_repository_that_starts_a_program_or_leads_elsewhere_is_refused_by_its_name() {
    let settings = [
        ("core.sshcommand", "touch x"),
        ("core.gitproxy", "touch x"),
        ("core.askpass", "touch x"),
        ("credential.helper", "!touch x"),
        ("credential.https://example.com.helper", "store"),
        ("remote.origin.vcs", "ext"),
        ("remote.origin.uploadpack", "touch x;git-upload-pack"),
        ("remote.origin.receivepack", "touch x;git-receive-pack"),
        ("remote.origin.proxy", "http://example.org"),
        ("http.proxy", "http://example.org"),
        ("http.https://example.com.proxy", "http://example.org"),
        ("url.ext::touch x.insteadof", "https://example.com/"),
        ("url.ssh://-oProxyCommand=x/.pushinsteadof", "https://"),
    ];
    for (key, value) in settings {
        let repo = Fixture::with(&[]);
        repo.git(&["remote", "add", "origin", "https://example.com/a.git"]);
        repo.git(&["config", key, value]);
        let chain = CommitChain::open(&repo.path(".git"), "refs/x").unwrap();
        let error = chain.remote("origin", repo.root()).unwrap_err();
        assert_eq!(error, RemoteError::Setting { key: key.to_owned() });
    }
}

#[test]
fn harmless_settings_of_a_repository_are_no_obstacle_and_its_remotes_are_found() {
    let repo = Fixture::with(&[]);
    for (key, value) in [
        ("remote.origin.url", "https://example.com/a.git"),
        ("remote.origin.pushurl", "git@example.com:a.git"),
        ("remote.other.vcs", "ext"),
        ("core.hooksPath", ".husky"),
        ("core.fsmonitor", "true"),
        ("credential.username", "ann"),
        ("credential.helper", ""),
        ("http.postBuffer", "524288000"),
        ("url.https://mirror.example.com/.insteadOf", "https://other.example.com/"),
        ("include.path", "/dev/null"),
    ] {
        repo.git(&["config", key, value]);
    }
    let chain = CommitChain::open(&repo.path(".git"), "refs/x").unwrap();
    let remote = chain.remote("origin", repo.root()).unwrap();
    let addresses = [("url", "https://example.com/a.git"), ("pushurl", "git@example.com:a.git")];
    assert_eq!(remote.addresses, addresses.map(|(key, address)| (key, address.to_owned())));
    assert_eq!((remote.is_local, remote.directory.as_deref()), (false, Some(repo.root())));
    let typed = chain.remote("../elsewhere", repo.root()).unwrap();
    assert_eq!((typed.addresses.len(), typed.is_local, typed.directory), (0, true, None));
    for address in ["ext::touch x", "fd::17", "hg://example.com/a", "-oProxyCommand=x"] {
        repo.git(&["config", "remote.origin.url", address]);
        let chain = CommitChain::open(&repo.path(".git"), "refs/x").unwrap();
        let error = chain.remote("origin", repo.root()).unwrap_err();
        assert_eq!(error, RemoteError::Address(address.to_owned()));
    }
}

#[test]
fn users_own_list_of_transports_is_kept() {
    let allowed = |command: &Command| {
        let mut variables = command.get_envs();
        let found = variables.find(|(name, _)| *name == "GIT_ALLOW_PROTOCOL");
        found.and_then(|(_, value)| value).map(|value| value.to_string_lossy().into_owned())
    };
    assert_eq!(allowed(&super::git()).as_deref(), Some("file:git:http:https:ssh"));
    assert_eq!(super::protocols(Some("ssh:ext:https")), "https:ssh");
    assert_eq!(super::protocols(Some("")), "");
}
