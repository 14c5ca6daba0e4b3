//! Having the system's service manager start the daemon at every login: a systemd user unit, or a launchd agent.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use muninn_base::private_file;
use muninn_config::paths;

use super::super::{CliError, Common, Exit, output};
use super::control;
use super::place::DaemonPlace;

/// The first line of what Muninn writes; other files are left alone.
const MARK: &str = "Written by `muninn daemon install`; `muninn daemon uninstall` removes it.";
/// The name of the unit, and of the agent.
const UNIT: &str = "muninn.service";
const LABEL: &str = "muninn.daemon";

/// The command that a service manager starts.
struct Service {
    program: PathBuf,
    config: Option<PathBuf>,
    /// The PATH of the shell that installs it: services have a short one, without the user's agents.
    path: String,
}

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    fn of_system() -> Manager {
        if cfg!(target_os = "macos") { Manager::Launchd } else { Manager::Systemd }
    }

    /// The file that it reads.
    fn file(self) -> Result<PathBuf, CliError> {
        Ok(match self {
            Manager::Systemd => paths::user_config_dir()?.join("systemd/user").join(UNIT),
            Manager::Launchd => {
                let home = etcetera::home_dir().map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
                home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"))
            }
        })
    }

    fn text(self, service: &Service) -> String {
        match self {
            Manager::Systemd => unit(service),
            Manager::Launchd => plist(service),
        }
    }

    /// The commands that start the service now and at every login.
    fn starting(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Manager::Systemd => commands(&[
                &["systemctl", "--user", "daemon-reload"],
                &["systemctl", "--user", "enable", "--now", UNIT],
            ]),
            Manager::Launchd => commands(&[&["launchctl", "bootstrap", &launchd_domain(), &file.to_string_lossy()]]),
        }
    }

    /// The commands that stop it.
    fn stopping(self) -> Vec<Vec<String>> {
        match self {
            Manager::Systemd => commands(&[&["systemctl", "--user", "disable", "--now", UNIT]]),
            Manager::Launchd => commands(&[&["launchctl", "bootout", &format!("{}/{LABEL}", launchd_domain())]]),
        }
    }
}

fn commands(all: &[&[&str]]) -> Vec<Vec<String>> {
    let words = |command: &&[&str]| command.iter().map(|word| (*word).to_owned()).collect();
    all.iter().map(words).collect()
}

fn launchd_domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// `muninn daemon install`.
pub(super) fn install(common: &Common, dry_run: bool) -> Result<ExitCode, CliError> {
    let place = DaemonPlace::of(common)?;
    let service = Service {
        program: std::env::current_exe()?,
        config: place.is_named.then(|| place.config.clone()),
        path: std::env::var("PATH").unwrap_or_default(),
    };
    let manager = Manager::of_system();
    let (file, text) = (manager.file()?, manager.text(&service));
    if dry_run {
        output::print(&format!("{}\n\n{text}", file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    if file.exists() && !is_ours(&file) {
        let message = format!("{} was not written by Muninn, and is left alone", file.display());
        return Err(CliError::new(Exit::Failure, message));
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    private_file::replace(&file, text.as_bytes())?;
    output::line(&format!("wrote {}", file.display()));
    let starting = manager.starting(&file);
    let (last, before) = starting.split_last().unwrap_or((&starting[0], &[]));
    let started = run_all(before).and_then(|()| {
        // The manager's process needs the place of one that a hook started.
        control::stop_daemon(&place)?;
        run_all(std::slice::from_ref(last))
    });
    match started {
        Ok(()) => output::line("the daemon runs now, and starts at every login"),
        Err(why) => output::note(&format!(
            "{why}\nthe service manager cannot be reached from here; in a session of yours, run:\n{}",
            shown(&starting)
        )),
    }
    if manager == Manager::Systemd {
        output::note("note: it ends at your last logout, unless you run `loginctl enable-linger`");
    }
    Ok(ExitCode::SUCCESS)
}

/// `muninn daemon uninstall`.
pub(super) fn uninstall() -> Result<ExitCode, CliError> {
    let manager = Manager::of_system();
    let file = manager.file()?;
    if !file.exists() {
        output::line("no service is installed");
        return Ok(ExitCode::SUCCESS);
    }
    if !is_ours(&file) {
        let message = format!("{} was not written by Muninn, and is left alone", file.display());
        return Err(CliError::new(Exit::Failure, message));
    }
    if let Err(why) = run_all(&manager.stopping()) {
        output::note(&format!("{why}\nthe service manager cannot be reached from here"));
    }
    std::fs::remove_file(&file)?;
    output::line(&format!("removed {}", file.display()));
    Ok(ExitCode::SUCCESS)
}

fn is_ours(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.contains(MARK))
}

/// Runs commands in their order, until one fails.
///
/// # Errors
/// The error output of the command.
fn run_all(commands: &[Vec<String>]) -> Result<(), CliError> {
    for command in commands {
        let ran = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).output();
        let why = match ran {
            Ok(ran) if ran.status.success() => continue,
            Ok(ran) => String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
            Err(error) => format!("cannot start `{}`: {error}", command[0]),
        };
        return Err(CliError::new(Exit::Failure, why));
    }
    Ok(())
}

fn shown(commands: &[Vec<String>]) -> String {
    let lines = commands.iter().map(|command| format!("  {}", command.join(" ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// The unit of systemd. If another process has the place of the daemon, it is tried again.
fn unit(service: &Service) -> String {
    // A word of a command line; and an assignment, where `$` means itself.
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        format!("\"{text}\"")
    };
    let word = |text: &str| quoted(text).replace('$', "$$");
    let mut start = format!("{} daemon run --stay", word(&service.program.to_string_lossy()));
    if let Some(config) = &service.config {
        write!(start, " --config {}", word(&config.to_string_lossy())).ok();
    }
    format!(
        "# {MARK}
[Unit]
Description=Muninn: reminders, hooks and tools
StartLimitIntervalSec=0

[Service]
ExecStart={start}
Environment={}
Restart=on-failure
RestartSec=30
TimeoutStopSec=15
KillMode=mixed
UMask=0077

[Install]
WantedBy=default.target
",
        quoted(&format!("PATH={}", service.path))
    )
}

/// The agent of launchd.
fn plist(service: &Service) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut words = vec![service.program.to_string_lossy().into_owned()];
    words.extend(["daemon", "run", "--stay"].map(str::to_owned));
    if let Some(config) = &service.config {
        words.extend(["--config".to_owned(), config.to_string_lossy().into_owned()]);
    }
    let words = words.iter().map(|word| format!("\n    <string>{}</string>", escaped(word)));
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>{}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>{}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
"#,
        words.collect::<String>(),
        escaped(&service.path)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            program: "/opt/my \"tools\"/100%/$x/muninn".into(),
            config: Some("/home/ann/a&b.toml".into()),
            path: "/usr/bin:/home/ann/<bin>".to_owned(),
        }
    }

    #[test]
    fn names_with_special_characters_are_quoted() {
        let unit = unit(&service());
        let start = r#"ExecStart="/opt/my \"tools\"/100%%/$$x/muninn" daemon run --stay --config "/home/ann/a&b.toml""#;
        assert!(unit.contains(start), "{unit}");
        assert!(unit.contains("Environment=\"PATH=/usr/bin:/home/ann/<bin>\"\n"), "{unit}");
        let plist = plist(&service());
        for text in [
            "<string>/opt/my \"tools\"/100%/$x/muninn</string>",
            "<string>/home/ann/a&amp;b.toml</string>",
            "<string>/usr/bin:/home/ann/&lt;bin&gt;</string>",
        ] {
            assert!(plist.contains(text), "{plist}");
        }
        assert!(unit.contains(MARK) && plist.contains(MARK));
    }

    /// systemd's own check, where it is installed.
    #[test]
    fn systemd_understands_the_unit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(UNIT);
        let service = Service { program: "/bin/sh".into(), ..service() };
        std::fs::write(&file, unit(&service)).unwrap();
        let check = Command::new("systemd-analyze")
            .args(["--user", "verify"])
            .arg(&file)
            .env("XDG_RUNTIME_DIR", folder.path())
            .output();
        if let Ok(check) = check {
            let said = String::from_utf8_lossy(&check.stderr);
            let about = said.lines().filter(|line| line.contains(UNIT));
            assert_eq!(about.collect::<Vec<_>>(), Vec::<&str>::new());
        }
    }
}
