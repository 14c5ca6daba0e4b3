//! Hooks with bad input, without a home and on a full disk: the exit code is 0, and nothing is printed.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::MUNINN;
use crate::hooks::{Hooked, assert_silent, context, hook};
use crate::stage::QUESTION;

#[test]
fn any_fault_is_silent_and_exits_with_0() {
    let hooked = Hooked::new();
    let (env, root) = (&hooked.team.env, &hooked.team.root);
    let good = hooked.input(json!({"prompt": QUESTION})).to_string();
    let good = good.as_bytes();
    let arguments: [&[&str]; 8] = [
        &["NoSuchEvent"],
        &["PostToolUse"],
        &["Stop"],
        &[],
        &["--probe"],
        &["UserPromptSubmit", "--client", "no-such-client"],
        &["UserPromptSubmit", "--config", "/no/such/file.toml"],
        &["--no-such-flag", "--client=x", "UserPromptSubmit"],
    ];
    for arguments in arguments {
        assert_silent(&hook(env, root, arguments, good, &[]));
    }
    let unknown = ["--no-such-flag", "UserPromptSubmit", "further", "--config"];
    let block = context(&hook(env, root, &unknown, good, &[]), "UserPromptSubmit");
    assert!(block.is_some(), "unknown arguments are ignored");
    let deep = "[".repeat(100_000);
    for input in ["", "nonsense", "{\"prompt\":", "{}", "[]", "null", "\"x\"", &deep] {
        assert_silent(&hook(env, root, &["UserPromptSubmit"], input.as_bytes(), &[]));
    }
    let elsewhere = json!({"prompt": QUESTION, "cwd": "/no/such/directory"}).to_string();
    assert_silent(&hook(env, root, &["UserPromptSubmit"], elsewhere.as_bytes(), &[]));
    std::fs::write(env.path("file"), "x").unwrap();
    let file = env.path("file").display().to_string();
    assert_silent(&hook(env, root, &["UserPromptSubmit"], good, &[("MUNINN_STATE_DIR", &file)]));
    env.write_config("[no.such]\nkey = 1\n");
    assert_silent(&hook(env, root, &["UserPromptSubmit"], good, &[]));
    let log = std::fs::read_to_string(env.state_dir().join("hook.log")).unwrap();
    assert!(log.contains("no-such-client") && log.contains("unknown"), "{log}");
}

/// A limit on the size of files stands for a full disk: every write fails.
#[test]
#[cfg(unix)]
fn full_disk_is_silent() {
    let hooked = Hooked::new();
    let mut command = Command::new("sh");
    hooked.team.env.clean(&mut command);
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" hook UserPromptSubmit";
    command.current_dir(&hooked.team.root).args(["-c", limited, MUNINN]);
    let input = hooked.input(json!({"prompt": QUESTION})).to_string();
    // Without a durable row nothing is injected, and the prompt passes.
    assert_silent(&muninn_tests::output_with(command, input.as_bytes()));
}

#[test]
fn no_home_is_silent() {
    let hooked = Hooked::new();
    let mut command = hooked.team.env.muninn();
    command
        .current_dir(&hooked.team.root)
        .args(["hook", "UserPromptSubmit", "--config"])
        .arg(hooked.team.env.path("muninn.toml"));
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "MUNINN_CONFIG"] {
        command.env_remove(name);
    }
    let input = hooked.team.env.path("input.json");
    std::fs::write(&input, hooked.input(json!({"prompt": QUESTION})).to_string()).unwrap();
    command.stdin(std::fs::File::open(&input).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn input_that_never_ends_is_given_up() {
    let hooked = Hooked::new();
    hooked.team.env.write_config("[hooks]\ndeadline_ms = 200\n");
    let mut command = hooked.team.env.muninn();
    command.args(["hook", "UserPromptSubmit"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    assert_silent(&output);
}

#[cfg(target_os = "linux")]
#[test]
fn transcript_that_is_a_pipe_or_a_device_is_not_read() {
    let hooked = Hooked::new();
    let pipe = hooked.team.env.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let input = hooked.input(json!({"prompt": QUESTION, "transcript_path": path, "session_id": path}));
        let block = context(&hooked.run("UserPromptSubmit", &input), "UserPromptSubmit");
        assert!(block.unwrap().contains("src/rate_limiter.rs"), "the prompt stands alone");
    }
}
