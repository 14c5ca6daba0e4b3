//! Starting a daemon.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use muninn_config::env_vars;

/// The variables that a daemon gets, besides [`OWN`]. No variable with a key is among them: a daemon outlives the program
/// that started it.
const PASSED: [&str; 13] = [
    "HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
    "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
];

/// The variables of Muninn that a daemon gets.
const OWN: [&str; 6] = [
    env_vars::LISTEN,
    env_vars::STATE_DIR,
    env_vars::CACHE_DIR,
    env_vars::LOG,
    env_vars::LOG_FORMAT,
    env_vars::DISCOVER,
];

/// Whether the caller waits for the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The caller ends before the daemon listens.
    Detached,
    /// The caller reads the daemon's output.
    Watched,
}

/// Starts `program daemon run` in a process group of its own, so that no signal of a terminal reaches it. It indexes the
/// worktree of `directory` at once. `config` is the configuration file, if it is not the usual one.
pub fn start(program: &Path, config: Option<&Path>, directory: &Path, how: Start) -> io::Result<Child> {
    let output = || match how {
        Start::Detached => Stdio::null(),
        Start::Watched => Stdio::piped(),
    };
    let mut command = Command::new(program);
    command
        .args(["daemon", "run", "--root"])
        .arg(std::path::absolute(directory)?)
        .env_clear()
        .envs(environment(|name| std::env::var_os(name)))
        // The working directory would keep its file system busy.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output())
        .stderr(output())
        .process_group(0);
    if let Some(config) = config {
        command.env(env_vars::CONFIG, std::path::absolute(config)?);
    }
    command.spawn()
}

/// The environment of a daemon. Its directories are absolute, since it has another working directory.
fn environment(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let passed = PASSED.into_iter().chain(OWN);
    passed
        .filter_map(|name| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            let is_directory = name == env_vars::STATE_DIR || name == env_vars::CACHE_DIR;
            let absolute = is_directory.then(|| std::path::absolute(&value).ok()).flatten();
            Some((name, absolute.map_or(value, Into::into)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_has_absolute_directories_and_no_other_variable() {
        let given = |name: &str| match name {
            "HOME" => Some("/home/ana".into()),
            "MUNINN_STATE_DIR" => Some("state".into()),
            "LANG" => Some("".into()),
            "ANTHROPIC_API_KEY" | "MUNINN_BACKEND_KEY" => Some("secret".into()),
            _ => None,
        };
        let state = std::env::current_dir().unwrap().join("state");
        let expected = [("HOME", "/home/ana".into()), ("MUNINN_STATE_DIR", state.into())];
        assert_eq!(environment(given), expected);
    }
}
