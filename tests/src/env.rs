//! A clean environment for the binary: a home of its own, git without user settings, no variables of the machine.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::git::{git, init, set_git_environment};
use crate::{Gateway, PATIENCE, Upstream, wait_until};

/// A temporary home. Dropping it removes the directory.
pub struct TestEnv {
    folder: tempfile::TempDir,
    binary: PathBuf,
}

/// The folder of temporary homes: in memory if it has room and runs programs, because on a disk a test mostly waits for
/// it.
fn temporary() -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{StatVfsMountFlags, statvfs};
        const ROOM: u64 = 4 << 30;
        let is_fit = |system: rustix::fs::StatVfs| {
            system.f_bavail * system.f_frsize >= ROOM && !system.f_flag.contains(StatVfsMountFlags::NOEXEC)
        };
        if statvfs("/dev/shm").is_ok_and(is_fit) {
            return "/dev/shm".into();
        }
    }
    std::env::temp_dir()
}

impl TestEnv {
    /// Creates an empty home for `binary`.
    ///
    /// # Panics
    /// If a directory cannot be created.
    #[must_use]
    pub fn new(binary: &str) -> TestEnv {
        TestEnv::below(&temporary(), binary)
    }

    /// [`TestEnv::new`] where other temporary files are, on a disk as a rule, to measure what a user waits for.
    ///
    /// # Panics
    /// If a directory cannot be created.
    #[must_use]
    pub fn on_disk(binary: &str) -> TestEnv {
        TestEnv::below(&std::env::temp_dir(), binary)
    }

    fn below(folder: &Path, binary: &str) -> TestEnv {
        let folder = tempfile::tempdir_in(folder).unwrap();
        for name in ["home", "config", "state", "cache", "repositories"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        TestEnv { folder, binary: binary.into() }
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

    /// Creates a git repository with these files, committed on `main`, and returns its root.
    ///
    /// # Panics
    /// If git fails.
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

    /// Commits all files, including ignored ones.
    pub fn commit(&self, root: &Path, message: &str) {
        self.git(root, &["add", "--all", "--force"]);
        self.git(root, &["commit", "--quiet", "--message", message]);
    }

    /// Runs git and returns its output on stdout.
    ///
    /// # Panics
    /// If git fails.
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

    /// Replaces a command's environment by this one.
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

    /// Writes the user's configuration, which all later commands use.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write_config(&self, text: &str) {
        std::fs::write(self.path("muninn.toml"), text).unwrap();
    }

    /// Configures one backend named `mock` with the dialects `openai` and `anthropic`, and a deadline that is long
    /// enough for a busy machine and an unoptimised binary.
    pub fn connect(&self, upstream: &Upstream) {
        self.connect_with(upstream, "");
    }

    /// [`Self::connect`] with additional TOML tables.
    pub fn connect_with(&self, upstream: &Upstream, more: &str) {
        let deadline = "[context]\ndeadline_ms = 20000\n";
        self.write_config(&format!("{}{deadline}{more}", upstream.backend("mock")));
    }

    /// Runs `muninn` to its end.
    ///
    /// # Panics
    /// If it cannot be started, or does not end within [`PATIENCE`].
    pub fn run(&self, root: &Path, arguments: &[&str]) -> Output {
        let mut command = self.muninn();
        command.current_dir(root).args(arguments);
        output(command)
    }

    /// Runs `muninn` and returns its stdout.
    ///
    /// # Panics
    /// If it fails; the message contains its output.
    pub fn stdout_of(&self, root: &Path, arguments: &[&str]) -> String {
        let output = self.run(root, arguments);
        assert!(output.status.success(), "muninn {arguments:?}: {output:#?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts `muninn serve` for `root` on a free port.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn serve(&self, root: &Path, extra: &[&str]) -> Gateway {
        self.serve_with(root, extra, |_| {})
    }

    /// [`Self::serve`] with a command that `adjust` changes.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn serve_with(&self, root: &Path, extra: &[&str], adjust: impl FnOnce(&mut Command)) -> Gateway {
        let mut command = self.muninn();
        command.args([OsStr::new("serve"), OsStr::new("--root"), root.as_os_str()]);
        command.args(["--listen", "127.0.0.1:0"]).args(extra);
        adjust(&mut command);
        Gateway::spawn(command).unwrap_or_else(|stopped| panic!("muninn serve did not start: {stopped:?}"))
    }
}

/// Runs a command to its end, with an empty stdin.
///
/// # Panics
/// If it cannot be started, or does not end within [`PATIENCE`].
pub fn output(command: Command) -> Output {
    output_with(command, &[])
}

/// Runs a command to its end, with this stdin, which it need not read.
///
/// # Panics
/// As [`output`].
pub fn output_with(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).ok();
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

/// Waits for the receipt of a request, which is written after the answer. Returns the output of `muninn why ID --json`.
///
/// # Panics
/// If there is none within [`PATIENCE`].
#[must_use]
pub fn why(env: &TestEnv, id: &str) -> serde_json::Value {
    wait_until(&format!("the receipt {id}"), || {
        let output = env.run(&env.path("home"), &["why", id, "--json"]);
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    })
}
