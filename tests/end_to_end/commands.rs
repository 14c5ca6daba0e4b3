//! The commands, as a user runs them.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use muninn_tests::{Reply, TestEnv, Upstream, answers, at_terminal, http, wait_until};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, Stage};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn kill(signal: &str, id: u32) {
    let status = Command::new("kill").args([signal, &id.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn ask_without_a_backend_shows_the_pack_and_how_to_connect_one() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let output = env.run(&root, &["ask", QUESTION]);
    assert!(output.status.success(), "{output:?}");
    let (said, progress) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(said.contains("No model is connected") && said.contains("[[backends]]"), "{said}");
    assert!(said.contains("src/rate_limiter.rs:") && said.contains("fn refill"), "{said}");
    assert!(said.contains("receipt ") && said.contains(" tok"), "{said}");
    assert!(progress.contains("indexed 4 files") && progress.contains("muninn/context"), "{progress}");

    let answer = json(&env.stdout_of(&root, &["ask", "--json", QUESTION]));
    let keys: Vec<_> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["answer", "model", "receipt", "request_id"]);
    assert_eq!(answer["model"], "muninn/context");
    assert!(answer["answer"].as_str().unwrap().contains("src/rate_limiter.rs:"));
    let receipt = &answer["receipt"];
    assert_eq!(receipt["outcome"], "injected");
    assert!(receipt["tokens"].as_u64().unwrap() > 0 && receipt["ms"].as_f64().unwrap() > 0.0, "{receipt}");
    let first = &receipt["items"][0];
    assert_eq!(first["kind"], "code");
    let (path, lines) = first["source"].as_str().unwrap().split_once(':').unwrap();
    assert_eq!(path, "src/rate_limiter.rs");
    let (from, to) = lines.split_once('-').unwrap();
    assert!(from.parse::<u32>().unwrap() <= to.parse::<u32>().unwrap());
    assert!(first["tokens"].as_u64().unwrap() > 0, "{first}");
    assert!(first["score"].as_f64().unwrap() > 0.0, "{first}");

    let why = json(&env.stdout_of(&root, &["why", answer["request_id"].as_str().unwrap(), "--json"]));
    assert_eq!(&why, receipt, "why shows the same receipt");
}

#[test]
fn ask_for_the_built_in_model_warns_if_another_is_connected() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &FILES);
    env.write_config(&format!("[test]\ndiscovery_ports = [{}]\n", upstream.address.port()));
    let mut command = env.muninn();
    command.env_remove("MUNINN_DISCOVER").current_dir(&root);
    let output = command.args(["ask", "--model", "muninn/context", QUESTION]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("src/rate_limiter.rs:"), "{said}");
    assert!(said.contains("answers without a model") && !said.contains("No model is connected"), "{said}");
}

#[cfg(unix)]
#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let env = TestEnv::new(MUNINN);
    let wild = "// check\u{202e}\u{2066}\u{61c} the end\n";
    let root = env.repository("demo", &[("src/wild.rs", wild)]);
    for arguments in [&["read", "src/wild.rs"][..], &["grep", "check"]] {
        let mut command = env.muninn();
        command.current_dir(&root).args(arguments);
        let (ended, shown) = at_terminal(command, "");
        assert!(ended.success() && shown.contains("\u{fffd}\u{fffd}\u{fffd}"), "{shown:?}");
        assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{61c}']), "{shown:?}");
    }
    let piped = env.stdout_of(&root, &["read", "src/wild.rs"]);
    assert!(piped.contains('\u{202e}'), "a pipe gets what the file holds: {piped:?}");
}

#[test]
fn ask_with_a_backend_streams_its_answer() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    let said = env.stdout_of(&root, &["ask", QUESTION]);
    assert!(said.starts_with("ok\n"), "{said}");
    assert!(said.contains("src/rate_limiter.rs:") && !said.contains("No model is connected"), "{said}");
    let sent = upstream.last();
    assert_eq!(sent.target, "/v1/chat/completions");
    assert!(sent.text().contains("<muninn-context>") && sent.text().contains(r#""model":"mock-1""#), "{}", sent.text());
    let answer = json(&env.stdout_of(&root, &["ask", "--json", "--model", "other", QUESTION]));
    assert_eq!((&answer["answer"], &answer["model"]), (&"ok".into(), &"other".into()));
}

#[test]
fn ask_twice_makes_two_conversations() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    for _ in 0..2 {
        let answer = json(&env.stdout_of(&root, &["ask", "--json", QUESTION]));
        assert_eq!(answer["receipt"]["outcome"], "injected", "{answer}");
        assert_eq!(answer["receipt"]["items"][0]["kind"], "code", "{answer}");
    }
}

#[test]
fn ask_reports_the_backends_error() {
    let env = TestEnv::new(MUNINN);
    let outside = env.run(&env.path("home"), &["ask", "why?"]);
    assert_eq!(outside.status.code(), Some(4), "{outside:?}");
    assert!(String::from_utf8_lossy(&outside.stderr).contains("hint: "), "{outside:?}");
    let upstream =
        Upstream::start_with(|_| muninn_tests::Reply::json(401, r#"{"error":{"message":"bad key","type":"x"}}"#));
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    let refused = env.run(&root, &["ask", "why?"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("bad key"), "{refused:?}");
}

#[test]
fn why_shows_one_receipt_or_the_latest() {
    let stage = Stage::new();
    let first = stage.ask("/v1/chat/completions", &[], &crate::stage::simple(QUESTION)[0].1);
    let second = stage.ask("/v1/messages", &[], &crate::stage::simple("hello there")[1].1);
    let receipt = stage.why(&second);
    assert_eq!(receipt["id"], second.request_id());
    assert_eq!((&receipt["format"], &receipt["outcome"]), (&"messages".into(), &"none".into()));
    assert!(receipt["reason"].is_string(), "{receipt}");

    let text = stage.env.stdout_of(&stage.root, &["why", first.request_id()]);
    for part in ["injected", "src/rate_limiter.rs:", "TokenBucket", " tok", "mock", stage.root.to_str().unwrap()] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let header = text.lines().find(|line| line.contains("source")).unwrap();
    let columns: Vec<_> = header.split_whitespace().collect();
    assert_eq!(columns, ["score", "tokens", "kind", "source", "why"], "{text}");
    let start = &first.request_id()[..24].to_lowercase();
    assert_eq!(text, stage.env.stdout_of(&stage.root, &["why", start]), "the beginning of an id will do");
    let last = stage.env.stdout_of(&stage.root, &["why", "--last"]);
    assert!(last.contains(second.request_id()), "{last}");
    let last = json(&stage.env.stdout_of(&stage.root, &["why", "--last", "--json"]));
    assert_eq!(last["id"], second.request_id());

    let listed = stage.env.stdout_of(&stage.root, &["why"]);
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[0].starts_with(second.request_id()) && lines[1].starts_with(first.request_id()), "{listed}");
    assert!(
        lines[1].contains(stage.root.to_str().unwrap()) && lines[1].contains("How does the TokenBucket"),
        "{listed}"
    );
    let listed = json(&stage.env.stdout_of(&stage.root, &["why", "--json"]));
    assert_eq!(listed.as_array().unwrap().len(), 2);

    let missing = stage.env.run(&stage.root, &["why", "01ZZZZZZZZZZZZZZZZZZZZZZZZ"]);
    assert_eq!(missing.status.code(), Some(4), "{missing:?}");
    assert!(missing.stdout.is_empty());
}

#[test]
fn index_reports_files_read_and_files_reused() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let first = json(&env.stdout_of(&root, &["index", "--json"]));
    assert_eq!((&first["files"], &first["reused"]), (&4.into(), &0.into()), "{first}");
    assert!(first["chunks"].as_u64().unwrap() >= 4, "{first}");
    std::fs::write(root.join("src/parser.rs"), "pub fn changed() {}\n").unwrap();
    let second = json(&env.stdout_of(&root, &["index", "--json"]));
    assert_eq!((&second["files"], &second["reused"]), (&4.into(), &3.into()), "{second}");
    assert!(env.stdout_of(&root, &["index"]).starts_with("indexed 4 files (4 unchanged)"));
}

#[test]
fn status_names_each_directory() {
    let stage = Stage::new();
    drop(stage.ask("/v1/messages", &[], &crate::stage::simple(QUESTION)[1].1));
    let status = json(&stage.env.stdout_of(&stage.root, &["status", "--json"]));
    assert_eq!(status["root"], stage.root.to_str().unwrap());
    assert_eq!(status["state"], stage.env.state_dir().to_str().unwrap());
    assert_eq!((&status["branch"], &status["initialised"]), (&"main".into(), &false.into()));
    assert_eq!(status["backends"][0]["name"], "mock");
    assert_eq!(status["head"].as_str().unwrap(), stage.env.git(&stage.root, &["rev-parse", "HEAD"]).trim());
    assert!(status["ledger"].is_object(), "{status}");
    let text = stage.env.stdout_of(&stage.root, &["status"]);
    for line in [
        "Gateway",
        "  address         127.0.0.1:",
        &format!("  backends        mock at {} (", stage.upstream.url()),
        "Repository",
        &format!("  directory       {}", stage.root.display()),
        "  branch          main",
        &format!("  index           {}", stage.env.path("cache").display()),
        "Memory",
        "  .muninn/        not set up; `muninn init` creates it",
        "State on this machine",
        &format!("  directory       {}", stage.env.state_dir().display()),
        "  ledger          1 turn, 1 with an inserted block",
        "  receipts        1",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "no `{line}`: {text}");
    }
    assert!(!text.contains('{') && !text.contains('"'), "{text}");
}

#[test]
fn status_says_what_the_gateway_added() {
    let stage = Stage::new();
    let status = || {
        let mut command = stage.env.muninn();
        command.current_dir(&stage.root).env("MUNINN_LISTEN", stage.gateway.address.to_string()).arg("status");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let line = |text: &str| text.lines().find(|line| line.starts_with("  added time ")).map(str::to_owned);
    assert_eq!(line(&status()), None, "nothing was asked");
    for _ in 0..2 {
        drop(stage.ask("/v1/messages", &[], &crate::stage::simple(QUESTION)[1].1));
    }
    // The end of an answer is counted behind its last byte.
    let counted = || stage.gateway.request("GET", "/healthz", &[], b"").json()["added"]["requests"].clone();
    muninn_tests::wait_until("both requests", || (counted() == 2).then_some(()));
    let text = status();
    let line = line(&text).unwrap_or_else(|| panic!("{text}"));
    let [p50, p99] = [" (p50)", " (p99)"].map(|name| {
        let before = line.split(name).next().unwrap().trim_end_matches(" ms");
        before.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    });
    assert!(0.0 < p50 && p50 <= p99, "{line}");
    assert!(line.ends_with("before it sent the last 2 requests on"), "{line}");
}

#[test]
fn config_check_names_file_key_and_suggestion() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &[]);
    env.connect(&upstream);
    assert!(env.stdout_of(&root, &["config", "check"]).contains("no problems found"));
    let checked = json(&env.stdout_of(&root, &["config", "check", "--json"]));
    assert_eq!((&checked["ok"], &checked["backends"][0]), (&true.into(), &"mock".into()));
    for (text, expected) in [
        ("[contxt]\n", "Did you mean `context`?"),
        ("[limits]\nbody_byte = 1\n", "Did you mean `body_bytes`?"),
        ("[[backends]]\nname = \"a\"\nurll = \"http://x\"\n", "Did you mean `url`?"),
        (
            "[[backends]]\nname = \"a\"\nurl = \"http://x\"\ndialect = \"openai\"\nkey_env = \"NO_SUCH_KEY\"\n",
            "NO_SUCH_KEY is not set",
        ),
        ("= nonsense", "line 1"),
    ] {
        env.write_config(text);
        for command in [&["config", "check"][..], &["serve", "--listen", "127.0.0.1:0"], &["ask", "x"]] {
            let output = env.run(&root, command);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{text}: {said}");
            assert!(said.contains(expected) && said.contains("muninn.toml"), "{expected}: {said}");
        }
    }
    env.write_config("listen = \"here\"\n");
    let output = env.run(&root, &["config", "check"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("listen: `here` is not an address"), "{said}");
    let missing = env.run(&root, &["config", "check", "--config", "/no/such/file.toml"]);
    assert_eq!(missing.status.code(), Some(3), "{missing:?}");
}

#[test]
fn completions_know_the_commands_and_their_options() {
    let env = TestEnv::new(MUNINN);
    let home = env.path("home");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = env.stdout_of(&home, &["completions", shell]);
        for word in ["muninn", "reconcile", "dry-run", "completions"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    assert_eq!(env.run(&home, &["completions", "dosh"]).status.code(), Some(2));
}

#[test]
fn manual_pages_are_printed_or_written_for_each_command() {
    let env = TestEnv::new(MUNINN);
    let home = env.path("home");
    let page = env.stdout_of(&home, &["man"]);
    assert!(page.contains(".TH muninn 1") && page.contains("muninn\\-ask"), "{page}");
    let written = env.run(&home, &["man", "--out", "share/man1"]);
    assert!(written.status.success() && written.stdout.is_empty(), "{written:?}");
    let read = |name: &str| std::fs::read_to_string(home.join("share/man1").join(name)).unwrap();
    assert_eq!(read("muninn.1"), page);
    assert!(read("muninn-knowledge-new.1").contains("applies"));
    std::fs::write(home.join("taken"), "").unwrap();
    let refused = env.run(&home, &["man", "--out", "taken"]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("cannot write the manual pages to taken: "), "{error}");
}

#[test]
fn wrong_usage_has_an_exit_code_of_its_own() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &[]);
    for arguments in [&["fly"][..], &["run"], &["ask"], &["serve", "--no-such-flag"], &["why", "x", "--last"]] {
        assert_eq!(env.run(&root, arguments).status.code(), Some(2), "{arguments:?}");
    }
    assert!(env.stdout_of(&root, &["--help"]).contains("Exit codes"));
    assert_eq!(env.run(&root, &["index", "--root", "/no/such/folder"]).status.code(), Some(4));
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_under_stdout_is_an_error_and_closed_pipe_is_none() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let code = |stdout: Stdio| {
        let mut command = env.muninn();
        command.current_dir(&root).args(["grep", "fn"]).stdout(stdout);
        command.stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (failed, said) = code(full.into());
    assert_eq!(failed, Some(1), "{said}");
    assert!(said.starts_with("error: cannot write to stdout: "), "{said}");
    let (reader, left) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(code(left.into()), (Some(0), String::new()));
}

#[test]
fn run_starts_a_gateway_for_its_child_and_stops_it() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    let script = "env; read from; echo \"stdin=$from\"; exit 7";
    let mut child = env
        .muninn()
        .current_dir(&root)
        .args(["run", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("ANTHROPIC_BASE_URL=") || !seen.contains("OPENAI_BASE_URL=") {
        assert_ne!(stdout.read_line(&mut seen).unwrap(), 0, "{seen}");
    }
    let value = |name: &str| seen.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).unwrap().to_owned();
    let address = value("ANTHROPIC_BASE_URL").strip_prefix("http://").unwrap().parse().unwrap();
    assert_eq!(value("OPENAI_BASE_URL"), format!("http://{address}/v1"));
    let answer = http::request(address, "POST", "/v1/messages", &[], br#"{"messages":[]}"#);
    assert_eq!((answer.status, upstream.requests().len()), (200, 1));
    drop(child.stdin.take().map(|mut stdin| std::io::Write::write_all(&mut stdin, b"typed\n")));
    let status = child.wait().unwrap();
    stdout.read_to_string(&mut seen).unwrap();
    assert!(seen.contains("stdin=typed"), "{seen}");
    assert_eq!(status.code(), Some(7), "the child's own exit code");
    assert!(TcpStream::connect(address).is_err(), "the gateway is gone");
    assert!(!env.stdout_of(&root, &["why"]).is_empty(), "its receipts are not");
}

#[test]
fn run_forwards_signals_in_both_directions() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let killed = env.run(&root, &["run", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(killed.status.code(), Some(137), "{killed:?}");
    let script = "sleep 60 & inner=$!; trap 'kill $inner; echo got it; exit 3' TERM; echo ready; wait $inner";
    let mut child =
        env.muninn().current_dir(&root).args(["run", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    stdout.read_line(&mut seen).unwrap();
    assert_eq!(seen, "ready\n");
    kill("-TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(3));
    stdout.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "ready\ngot it\n");
    let missing = env.run(&root, &["run", "--", "no-such-command-anywhere"]);
    assert_eq!(missing.status.code(), Some(4), "{missing:?}");
}

#[test]
fn stop_drains_open_streams_and_accepts_no_new_ones() {
    let (stage, control) = Stage::scripted();
    control.head(200);
    control.send("data: 1\n\n");
    let body = br#"{"stream":true,"messages":[]}"#;
    let mut stream = http::stream(stage.gateway.address, "POST", "/v1/messages", &[], body);
    stream.read_until("data: 1\n\n");
    stage.gateway.terminate();
    wait_until("a closed port", || TcpStream::connect(stage.gateway.address).err());
    control.send("data: 2\n\n");
    assert_eq!(stream.read_until("data: 2\n\n"), "data: 2\n\n");
    control.finish();
    assert_eq!(stream.next_chunk().unwrap(), None, "a proper end");
    let stopped = stage.gateway.wait();
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(!stopped.stderr.contains("panicked") && !stopped.stderr.contains("cut off"), "{}", stopped.stderr);
}

#[test]
fn stop_has_a_time_limit() {
    let (upstream, control) = Upstream::start_scripted();
    let stage = Stage::with(upstream, "[limits]\ndrain_timeout_ms = 100\n");
    control.head(200);
    control.send("data: 1\n\n");
    let mut stream =
        http::stream(stage.gateway.address, "POST", "/v1/messages", &[], br#"{"stream":true,"messages":[]}"#);
    stream.read_until("data: 1\n\n");
    let stopped = stage.gateway.stop();
    assert!(stopped.status.success() && stopped.stderr.contains("cut off"), "{stopped:?}");
}

#[test]
fn port_in_use_is_reported() {
    let stage = Stage::with(Upstream::start(), "");
    let address = stage.gateway.address.to_string();
    let output = stage.env.run(&stage.root, &["serve", "--listen", &address]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("cannot listen on {address}")) && said.contains("hint: "), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_question_goes_to_the_only_model_and_several_are_listed() {
    let list = |names: &'static [&'static str]| {
        Upstream::start_with(move |request| {
            if request.target.starts_with("/v1/models") {
                let data: Vec<_> = names.iter().map(|name| serde_json::json!({"id": name})).collect();
                return Reply::json(200, serde_json::json!({"object": "list", "data": data}).to_string());
            }
            answers::ok(request)
        })
    };
    let backend = |upstream: &Upstream, name: &str| {
        format!("[[backends]]\nname = \"{name}\"\nurl = \"{}\"\ndialect = \"chat\"\n", upstream.url())
    };
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let [only, two, none] = [list(&["alone"]), list(&["m1", "m2"]), list(&[])];
    env.write_config(&backend(&only, "one"));
    let answer = json(&env.stdout_of(&root, &["ask", "--json", QUESTION]));
    assert_eq!((&answer["model"], &answer["receipt"]["backend"]), (&"alone".into(), &"one".into()));
    for (config, expected) in [
        (backend(&two, "two"), "several models are connected: m1 (two), m2 (two)"),
        (
            backend(&only, "one") + &backend(&two, "two"),
            "several models are connected: alone (one), m1 (two), m2 (two)",
        ),
        (backend(&none, "none"), "no backend lists a model"),
    ] {
        env.write_config(&config);
        let refused = env.run(&root, &["ask", QUESTION]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(expected) && said.contains("--model"), "{said}");
        assert_eq!(refused.status.code(), Some(2), "{said}");
    }
}

#[test]
fn sources_in_utf_16_are_read_by_all_tools() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &[("src/lib.rs", "pub fn other() {\n    refill_bucket();\n}\n")]);
    let wide = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    std::fs::write(root.join("src/wide.rs"), wide("/// Fills the bucket größer.\npub fn refill_bucket() {}\n"))
        .unwrap();
    std::fs::write(root.join("page.md"), wide("# Wide\n\nThe zirconium backup runs at night.\n")).unwrap();
    env.commit(&root, "wide");
    for arguments in [
        &["grep", "refill_bucket"][..],
        &["read", "src/wide.rs"],
        &["outline", "src/wide.rs"],
        &["symbols", "refill_bucket"],
        &["definition", "refill_bucket"],
        &["references", "refill_bucket"],
        &["callers", "refill_bucket"],
    ] {
        let shown = env.stdout_of(&root, arguments);
        assert!(shown.contains("refill_bucket") || shown.contains("src/lib.rs"), "{arguments:?}: {shown}");
    }
    assert!(env.stdout_of(&root, &["definition", "refill_bucket"]).contains("src/wide.rs:2"));
    std::fs::create_dir_all(root.join(".muninn/knowledge")).unwrap();
    env.stdout_of(&root, &["wiki", "new", "wide", "--from", "page.md"]);
    assert!(env.stdout_of(&root, &["wiki", "show", "wide"]).contains("zirconium"));
    std::fs::copy(root.join("page.md"), root.join(".muninn/knowledge/raw.md")).unwrap();
    assert!(env.stdout_of(&root, &["wiki", "show", "raw"]).contains("zirconium"));
    assert!(env.stdout_of(&root, &["recall", "When does the zirconium backup run?"]).contains("zirconium"));
}
