//! A clean environment for the binary: its own home, git without user settings, no variable of the machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::git::{git, init, set_git_environment};
use crate::{Gateway, PATIENCE, Upstream, wait_until};

/// A temporary home; removed when dropped.
pub struct TestEnv {
    folder: tempfile::TempDir,
    binary: PathBuf,
}

impl TestEnv {
    /// Makes an empty home for `binary`.
    ///
    /// # Panics
    /// When no directory can be made.
    #[must_use]
    pub fn new(binary: &str) -> TestEnv {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "config", "state", "cache", "repositories"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        TestEnv {
            folder,
            binary: binary.into(),
        }
    }

    /// A path inside the temporary directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The directory of ledger and receipts.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.path("state").join("muninn")
    }

    /// The database of ledger and receipts.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.state_dir().join("state.db")
    }

    /// A git repository with these files, committed on `main`.
    ///
    /// # Panics
    /// When git fails.
    #[must_use]
    pub fn repository(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = self.path("repositories").join(name);
        std::fs::create_dir_all(&root).unwrap();
        init(&root, files);
        if !files.is_empty() {
            self.commit(&root, "first");
        }
        root.canonicalize().unwrap()
    }

    /// Commits everything that is there.
    pub fn commit(&self, root: &Path, message: &str) {
        self.git(root, &["add", "--all", "--force"]);
        self.git(root, &["commit", "--quiet", "--message", message]);
    }

    /// Runs git and returns its output on stdout.
    ///
    /// # Panics
    /// When it fails.
    pub fn git(&self, root: &Path, arguments: &[&str]) -> String {
        git(root, arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The binary in this environment, without arguments.
    #[must_use]
    pub fn muninn(&self) -> Command {
        let mut command = Command::new(&self.binary);
        self.clean(&mut command);
        command
    }

    /// Gives any command this environment and nothing else.
    pub fn clean(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("MUNINN_DISCOVER", "0")
            .current_dir(self.path("home"));
        set_git_environment(command);
        let config = self.path("muninn.toml");
        if config.exists() {
            command.env("MUNINN_CONFIG", config);
        }
    }

    /// Writes the user's configuration, which every later command is pointed to.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_config(&self, text: &str) {
        std::fs::write(self.path("muninn.toml"), text).unwrap();
    }

    /// Configures one backend named `mock` that speaks both dialects, and a deadline that a busy machine and a binary
    /// without optimisation keep.
    pub fn connect(&self, upstream: &Upstream) {
        self.connect_with(upstream, "");
    }

    /// The same, with more TOML tables besides.
    pub fn connect_with(&self, upstream: &Upstream, more: &str) {
        let patience = "[context]\ndeadline_ms = 20000\n";
        self.write_config(&format!("{}{patience}{more}", upstream.backend("mock")));
    }

    /// Runs `muninn` to its end.
    ///
    /// # Panics
    /// When it cannot be started, or does not end.
    pub fn run(&self, root: &Path, arguments: &[&str]) -> Output {
        let mut command = self.muninn();
        command.current_dir(root).args(arguments);
        output(command)
    }

    /// Runs `muninn`, which must succeed, and returns its stdout.
    ///
    /// # Panics
    /// When it does not, with all that it said.
    pub fn stdout_of(&self, root: &Path, arguments: &[&str]) -> String {
        let output = self.run(root, arguments);
        assert!(output.status.success(), "muninn {arguments:?}: {output:#?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts `muninn serve` for `root` on a free port.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn serve(&self, root: &Path, extra: &[&str]) -> Gateway {
        self.serve_with(root, extra, |_| {})
    }

    /// The same, with a hand on its environment.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn serve_with(&self, root: &Path, extra: &[&str], adjust: impl FnOnce(&mut Command)) -> Gateway {
        let mut command = self.muninn();
        command.args([OsStr::new("serve"), OsStr::new("--root"), root.as_os_str()]);
        command.args(["--listen", "127.0.0.1:0"]).args(extra);
        adjust(&mut command);
        Gateway::spawn(command).unwrap_or_else(|stopped| panic!("muninn serve did not start: {stopped:?}"))
    }
}

/// Runs a command to its end, with nothing to read.
///
/// # Panics
/// When it cannot be started, or does not end in time.
pub fn output(mut command: Command) -> Output {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let id = child.id().to_string();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        sender.send(child.wait_with_output()).ok();
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            Command::new("kill").args(["-KILL", &id]).status().ok();
            panic!("{command:?} did not end within {PATIENCE:?}");
        }
    }
}

/// The receipt of a request, as `muninn why ID --json` prints it.
///
/// # Panics
/// When there is none in time: receipts are written a moment after the answer.
#[must_use]
pub fn why(env: &TestEnv, id: &str) -> serde_json::Value {
    wait_until(&format!("the receipt {id}"), || {
        let output = env.run(&env.path("home"), &["why", id, "--json"]);
        output
            .status
            .success()
            .then(|| serde_json::from_slice(&output.stdout).unwrap())
    })
}
