//! `muninn install` and `muninn uninstall`: the files of every client, byte for byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use muninn_tests::{TestEnv, at_terminal, output};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::FILES;

struct Stage {
    env: TestEnv,
    root: PathBuf,
}

impl Stage {
    fn new() -> Stage {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        Stage { env, root }
    }

    /// The binary, without the clients' own commands in `PATH`.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.muninn();
        command.current_dir(&self.root).args(arguments);
        command.env("PATH", self.env.path("no-programs"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        output(self.command(arguments))
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail, and returns its exit code and error.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{output:?}");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn home(&self, name: &str) -> PathBuf {
        self.env.path("home").join(name)
    }

    fn write(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Every file and directory of the home, of the configuration and of the repository, with its text.
    fn files(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut all = BTreeMap::new();
        let mut open = vec![self.env.path("home"), self.env.path("config"), self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(".git") {
                    continue;
                }
                if path.is_dir() {
                    open.push(path.clone());
                }
                let text = std::fs::read_to_string(&path).ok();
                all.insert(path, text);
            }
        }
        all
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const CLIENTS: [&str; 5] = ["claude-code", "codex", "opencode", "cursor", "vscode"];

#[test]
fn every_client_is_connected_and_restored() {
    for client in CLIENTS {
        for scope in ["user", "project"] {
            let stage = Stage::new();
            stage.write(&stage.home(".claude.json"), "{\n  \"numStartups\": 3\n}");
            stage.write(&stage.home(".codex/config.toml"), "# mine\nmodel = \"gpt-5\" # keep\n");
            stage.write(&stage.root.join(".vscode/mcp.json"), "{\n\t// mine\n\t\"servers\": {},\n}\n");
            let before = stage.files();
            // All that the client supports in this scope.
            let with = match (client, scope) {
                ("cursor" | "vscode", _) => "mcp",
                (_, "user") => "mcp,hooks,gateway",
                _ => "mcp,hooks",
            };
            let install = ["install", client, "--scope", scope, "--with", with];

            let shown = stage.said(&[&install[..], &["--dry-run"]].concat());
            assert!(shown.contains("muninn") && shown.contains("dry run"), "{client}: {shown}");
            assert_eq!(stage.files(), before, "{client}: a dry run writes nothing");
            assert!(!stage.env.state_dir().join("installs").exists(), "{client}: nowhere");

            stage.said(&[&install[..], &["--yes"]].concat());
            let after = stage.files();
            let own_path = format!("{:?}", MUNINN);
            let has_server = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(&own_path));
            assert!(after.values().any(has_server), "{client}: {after:?}");
            for (path, text) in before.iter().filter_map(|(path, text)| Some((path, text.as_ref()?))) {
                let comments = text.split_inclusive('\n').filter(|line| line.contains("mine") || line.contains("keep"));
                let now = after[path].as_ref().unwrap();
                assert!(comments.clone().all(|comment| now.contains(comment)), "{client}: {now}");
            }
            let again = stage.said(&[&install[..], &["--yes"]].concat());
            assert!(again.contains("nothing was changed"), "{client}: {again}");

            stage.said(&["uninstall", client, "--scope", scope, "--yes"]);
            assert_eq!(stage.files(), before, "{client}: uninstalling restores every byte and removes its folders");
            let again = stage.said(&["uninstall", client, "--scope", scope, "--yes"]);
            assert!(again.contains("nothing is installed"), "{client}: {again}");
        }
    }
}

#[test]
fn the_gateway_is_set_as_the_documentation_says() {
    let stage = Stage::new();
    for client in ["claude-code", "codex", "opencode"] {
        let said = stage.said(&["install", client, "--with", "gateway", "--yes"]);
        assert!(said.contains("muninn serve"), "{said}");
    }
    let url = "http://127.0.0.1:4747";
    assert_eq!(json(&stage.home(".claude/settings.json"))["env"]["ANTHROPIC_BASE_URL"], url);
    let codex: toml::Table = std::fs::read_to_string(stage.home(".codex/config.toml")).unwrap().parse().unwrap();
    assert_eq!(codex["model_provider"].as_str(), Some("muninn"));
    assert_eq!(codex["model_providers"]["muninn"]["base_url"].as_str(), Some("http://127.0.0.1:4747/v1"));
    assert_eq!(codex["model_providers"]["muninn"]["wire_api"].as_str(), Some("responses"));
    let opencode = json(&stage.env.path("config").join("opencode/opencode.json"));
    assert_eq!(opencode["provider"]["openai"]["options"]["baseURL"], format!("{url}/v1"));
}

#[test]
fn later_edits_of_the_user_survive_and_parts_add_up() {
    let stage = Stage::new();
    let settings = stage.home(".claude/settings.json");
    stage.write(&settings, "{\n  \"model\": \"opus\"\n}\n");
    stage.said(&["install", "claude-code", "--with", "gateway", "--yes"]);
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("\"opus\",", "\"sonnet\",\n  \"theme\": \"dark\",")).unwrap();
    stage.said(&["install", "claude-code", "--with", "mcp", "--yes"]);
    assert_eq!(json(&stage.home(".claude.json"))["mcpServers"]["muninn"]["command"], MUNINN);
    stage.said(&["uninstall", "claude-code", "--yes"]);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{\n  \"model\": \"sonnet\",\n  \"theme\": \"dark\"\n}\n");
    assert!(!stage.home(".claude.json").exists());
}

#[test]
fn files_that_cannot_be_edited_are_left_alone() {
    let stage = Stage::new();
    let (claude, codex) = (stage.home(".claude.json"), stage.home(".codex/config.toml"));
    let claude_code = ["install", "claude-code", "--with", "mcp", "--yes"];
    for text in ["{ \"a\": }", "[]", "{\"mcpServers\": []}"] {
        std::fs::write(&claude, text).unwrap();
        let (code, error) = stage.refused(&claude_code);
        assert_eq!(code, 1);
        assert!(error.contains(".claude.json") && error.contains("nothing was changed"), "{error}");
        assert_eq!(std::fs::read_to_string(&claude).unwrap(), text);
    }
    stage.write(&codex, "model = \"x\"\nmodel = \"y\"\n");
    let (_, error) = stage.refused(&["install", "codex", "--with", "mcp", "--yes"]);
    assert!(error.contains("is not valid TOML: line 2"), "{error}");

    std::fs::write(&claude, "{}").unwrap();
    let mut mode = std::fs::metadata(&claude).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&claude, mode).unwrap();
    let (_, error) = stage.refused(&claude_code);
    assert!(error.contains("is read-only"), "{error}");
    assert_eq!(std::fs::read_to_string(&claude).unwrap(), "{}");

    std::fs::remove_file(&claude).unwrap();
    std::fs::create_dir(&claude).unwrap();
    let (_, error) = stage.refused(&claude_code);
    assert!(error.contains("is not a regular file"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_lead_nowhere_else() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let stage = Stage::new();
    let (link, target) = (stage.home(".claude.json"), stage.home("dotfiles/claude.json"));
    stage.write(&target, "{\n}\n");
    std::fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).unwrap();
    symlink(&target, &link).unwrap();
    let said = stage.said(&["install", "claude-code", "--with", "mcp", "--yes"]);
    assert!(said.contains("is a symbolic link to"), "{said}");
    assert!(link.is_symlink());
    assert_eq!(json(&target)["mcpServers"]["muninn"]["command"], MUNINN);
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    stage.said(&["uninstall", "claude-code", "--yes"]);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "{\n}\n");

    std::fs::remove_file(&target).unwrap();
    let (_, error) = stage.refused(&["install", "claude-code", "--with", "mcp", "--yes"]);
    assert!(error.contains("a symbolic link to a file that does not exist"), "{error}");

    let outside = stage.env.path("outside.json");
    std::fs::write(&outside, "{}").unwrap();
    symlink(&outside, stage.root.join(".mcp.json")).unwrap();
    symlink(stage.env.path("home"), stage.root.join(".cursor")).unwrap();
    for client in ["claude-code", "cursor"] {
        let (_, error) = stage.refused(&["install", client, "--scope", "project", "--with", "mcp", "--yes"]);
        assert!(error.contains("leads out of the repository"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
}

#[test]
fn nothing_is_written_without_consent() {
    let stage = Stage::new();
    let before = stage.files();
    let (code, error) = stage.refused(&["install", "cursor"]);
    assert_eq!(code, 2);
    assert!(error.contains("--yes"), "{error}");
    let (status, shown) = at_terminal(stage.command(&["install", "cursor"]), "n\n");
    assert!(status.success() && shown.contains("nothing was changed"), "{shown}");
    assert_eq!(stage.files(), before);
    let (status, shown) = at_terminal(stage.command(&["install", "cursor"]), "y\n");
    assert!(status.success() && shown.contains("created"), "{shown}");
    assert_eq!(json(&stage.home(".cursor/mcp.json"))["mcpServers"]["muninn"]["command"], MUNINN);
}

#[test]
fn parts_that_a_client_does_not_have_are_refused() {
    let stage = Stage::new();
    for arguments in [
        &["install", "cursor", "--with", "hooks"][..],
        &["install", "vscode", "--with", "gateway"],
        &["install", "codex", "--with", "gateway", "--scope", "project"],
        &["install", "emacs"],
    ] {
        assert_eq!(stage.refused(arguments).0, 2, "{arguments:?}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let stage = Stage::new();
    let key = format!("sk-ant-{}", "api03-Zq8vT2mXw4LkRj6NpYb1Hd7".repeat(2));
    stage.write(
        &stage.home(".claude/settings.json"),
        &format!("{{\n  \"env\": {{\n    \"ANTHROPIC_API_KEY\": \"{key}\"\n  }}\n}}\n"),
    );
    let shown = stage.said(&["install", "claude-code", "--with", "gateway", "--dry-run"]);
    assert!(shown.contains("ANTHROPIC_API_KEY") && !shown.contains(&key), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_failing_file_takes_back_the_others() {
    let stage = Stage::new();
    stage.write(&stage.home(".claude.json"), "{\n}");
    // No file can be created there, not even by root.
    std::os::unix::fs::symlink("/proc/sys/kernel", stage.home(".claude")).unwrap();
    let (code, error) = stage.refused(&["install", "claude-code", "--with", "mcp,gateway", "--yes"]);
    assert_eq!(code, 1);
    assert!(error.contains("settings.json") && error.contains("nothing was changed"), "{error}");
    assert_eq!(std::fs::read_to_string(stage.home(".claude.json")).unwrap(), "{\n}");
    let said = stage.said(&["uninstall", "claude-code"]);
    assert!(said.contains("nothing is installed"), "{said}");
}
