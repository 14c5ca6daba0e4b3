//! A state directory that is damaged, missing, outdated or read-only: requests are still forwarded, and `/healthz` and
//! `muninn doctor` name the problem.

use std::path::Path;
use std::process::Command;

use muninn_tests::{Gateway, TestEnv, Upstream, output, wait_until};
use rusqlite::Connection;

use crate::MUNINN;
use crate::doctor::Report;
use crate::spans::inserted;
use crate::stage::{FILES, QUESTION, quoted, simple};

const CHAT: &str = "/v1/chat/completions";
const SESSION: &[(&str, &str)] = &[("x-session-id", "s")];
const PAGE: usize = 4096;
const DAY_MS: i64 = 86_400_000;

/// An environment whose ledger holds a conversation with a block; no gateway runs.
struct Place {
    env: TestEnv,
    upstream: Upstream,
    root: std::path::PathBuf,
    block: String,
}

impl Place {
    fn empty() -> Place {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.connect(&upstream);
        let root = env.repository("demo", &FILES);
        Place { env, upstream, root, block: String::new() }
    }

    fn new() -> Place {
        let mut place = Place::empty();
        let gateway = place.serve();
        place.block = place.first_turn(&gateway, "s").expect("a block");
        gateway.stop_cleanly();
        place
    }

    fn serve(&self) -> Gateway {
        let gateway = self.env.serve(&self.root, &[]);
        gateway.wait_ready();
        gateway
    }

    /// Asks [`QUESTION`] in a session, and returns the block that was added.
    fn first_turn(&self, gateway: &Gateway, session: &str) -> Option<String> {
        let body = simple(QUESTION)[0].1.clone();
        let response = gateway.post(CHAT, &[("x-session-id", session)], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        let blocks = inserted(body.as_bytes(), &self.upstream.last().body);
        assert_eq!(response.outcome() == "injected", !blocks.is_empty(), "{}", response.outcome());
        blocks.into_iter().next()
    }

    /// Goes on with the first conversation, and returns what it got back.
    fn second_turn(&self, gateway: &Gateway) -> Vec<String> {
        let question = quoted(QUESTION);
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":{question}}},{{"role":"assistant","content":"ok"}},{{"role":"user","content":"thanks"}}]}}"#
        );
        let response = gateway.post(CHAT, SESSION, body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        inserted(body.as_bytes(), &self.upstream.last().body)
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.env.ledger()).unwrap().execute_batch(sql).unwrap();
    }

    /// Makes the ledger larger than a few pages, all in the one file.
    fn fill(&self) {
        self.sql(
            "INSERT INTO ledger (key, block, tokens, before, created_ms, used_ms)
             WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500)
             SELECT randomblob(32), hex(randomblob(1000)), 1, '', created_ms, used_ms FROM number, ledger WHERE ledger.id = 1;
             PRAGMA wal_checkpoint(TRUNCATE);",
        );
    }

    /// Overwrites pages of the ledger, counted from 0, with bytes that are no page.
    fn damage(&self, pages: impl FnOnce(usize) -> std::ops::Range<usize>) {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(self.env.ledger()).unwrap();
        let pages = pages(usize::try_from(file.metadata().unwrap().len()).unwrap() / PAGE);
        let offset = u64::try_from(pages.start * PAGE).unwrap();
        file.write_all_at(&vec![0xa5; pages.len() * PAGE], offset).unwrap();
    }

    /// What `muninn doctor` finds while a gateway listens.
    fn doctor(&self, gateway: &Gateway) -> Report {
        self.env.write_config(&format!(
            "listen = \"{}\"\n{}[context]\ndeadline_ms = 20000\n",
            gateway.address,
            self.upstream.backend("mock")
        ));
        Report::of(&self.env, &self.root)
    }

    fn kept(&self) -> Vec<std::path::PathBuf> {
        let files = std::fs::read_dir(self.env.state_dir()).unwrap().flatten().map(|file| file.path());
        let mut kept: Vec<_> = files.filter(|path| path.to_string_lossy().contains("state.damaged-")).collect();
        kept.retain(|path| !path.to_string_lossy().ends_with("-wal") && !path.to_string_lossy().ends_with("-shm"));
        kept
    }
}

fn ledger(gateway: &Gateway) -> String {
    gateway.health()["ledger"].as_str().unwrap().to_owned()
}

fn wait_put_aside(gateway: &Gateway) -> String {
    wait_until("a ledger that was put aside", || {
        Some(ledger(gateway)).filter(|health| health.starts_with("put aside: "))
    })
}

#[test]
fn ledger_with_damaged_pages_is_set_aside_at_start_and_keeps_sound_rows() {
    let place = Place::new();
    place.fill();
    place.damage(|pages| pages / 2..pages / 2 + 2);
    let before = Report::of(&place.env, &place.root);
    let gateway = place.serve();
    let health = wait_put_aside(&gateway);
    let kept = place.kept();
    assert_eq!(kept.len(), 1, "the damaged file is kept");
    assert!(health.contains(kept[0].to_str().unwrap()) && health.contains("of its turns"), "{health}");
    assert_eq!(place.second_turn(&gateway), [place.block.as_str()], "a sound row is put back");
    assert!(place.first_turn(&gateway, "other").is_some(), "and new context is added");
    let report = place.doctor(&gateway);
    let ledger = report.about("ledger");
    assert_eq!((ledger[0].0, ledger[1].0), ("ok", "note"), "{ledger:?}");
    assert!(ledger[1].1.contains("was moved to "), "{ledger:?}");
    assert!(before.about("ledger")[0].1.contains("is damaged: "), "{:?}", before.about("ledger"));
    assert!(report.only("running gateway", "note").contains("put aside"));
}

#[test]
fn ledger_damaged_while_in_use_is_set_aside_and_context_continues() {
    let place = Place::new();
    let gateway = place.serve();
    assert!(place.first_turn(&gateway, "running").is_some());
    place.fill();
    place.damage(|pages| 1..pages);
    drop(place.first_turn(&gateway, "notices"));
    wait_put_aside(&gateway);
    assert_eq!(place.kept().len(), 1);
    assert!(place.first_turn(&gateway, "after").is_some(), "context goes on without a restart");
    let report = place.doctor(&gateway);
    assert!(report.only("running gateway", "note").contains("put aside"));
    assert_eq!(report.about("ledger")[0].0, "ok");
    let stopped = gateway.stop_cleanly();
    assert!(stopped.stderr.contains("is damaged and will be put aside"), "{}", stopped.stderr);
}

#[test]
fn two_gateways_set_a_damaged_ledger_aside_once() {
    let place = Place::new();
    let gateways = [place.serve(), place.serve()];
    place.fill();
    place.damage(|pages| 1..pages);
    for gateway in &gateways {
        drop(place.first_turn(gateway, "notices"));
    }
    for (number, gateway) in gateways.iter().enumerate() {
        wait_put_aside(gateway);
        assert!(place.first_turn(gateway, &format!("after {number}")).is_some());
    }
    assert_eq!(place.kept().len(), 1);
    wait_until("receipts of both in the one new ledger", || {
        let receipts = place.env.stdout_of(&place.root, &["why", "--json"]);
        (receipts.contains("\"after 0\"") && receipts.contains("\"after 1\"")).then_some(())
    });
}

#[test]
fn removed_state_directory_gets_no_new_blocks_and_still_replays() {
    let place = Place::new();
    let gateway = place.serve();
    assert_eq!(place.second_turn(&gateway), [place.block.as_str()]);
    std::fs::remove_dir_all(place.env.state_dir()).unwrap();
    assert_eq!(place.first_turn(&gateway, "new"), None, "no durable row, no block");
    assert_eq!(place.second_turn(&gateway), [place.block.as_str()], "a running conversation keeps its blocks");
    let health = ledger(&gateway);
    assert!(health.starts_with("removed: ") && health.contains("restarted"), "{health}");
    let report = place.doctor(&gateway);
    assert!(report.only("running gateway", "bad").contains("removed: "), "{}", report.value());
    let stopped = gateway.stop();
    assert!(stopped.stderr.contains("was removed while in use"), "{}", stopped.stderr);
    assert!(place.first_turn(&place.serve(), "new").is_some(), "a restart adds again");
}

#[test]
fn clock_far_ahead_at_start_deletes_nothing() {
    let place = Place::new();
    // To a ledger, this equals a clock that is 40 days ahead.
    let past = 40 * DAY_MS;
    place.sql(&format!("UPDATE ledger SET used_ms = used_ms - {past}, created_ms = created_ms - {past}"));
    let connection = Connection::open(place.env.ledger()).unwrap();
    let moved = connection.execute("UPDATE clock SET seen_ms = seen_ms - ?1, retention_ms = retention_ms - ?1", [past]);
    drop((moved, connection));
    let report = Report::of(&place.env, &place.root);

    let gateway = place.serve();
    // Retention runs after a write; it has finished when the gateway has stopped.
    assert!(place.first_turn(&gateway, "other").is_some());
    assert_eq!(ledger(&gateway), "ok");
    gateway.stop_cleanly();
    assert_eq!(place.second_turn(&place.serve()), [place.block.as_str()]);
    assert!(report.only("clock", "note").contains("40 days"), "{}", report.value());
}

#[test]
fn receipt_from_the_future_does_not_stay_the_latest() {
    let place = Place::new();
    place.sql(
        "INSERT INTO receipts (id, body) SELECT '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', replace(body, id, '7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
         FROM receipts LIMIT 1",
    );
    let gateway = place.serve();
    assert!(place.first_turn(&gateway, "later").is_some());
    gateway.stop_cleanly();
    let latest: serde_json::Value =
        serde_json::from_str(&place.env.stdout_of(&place.root, &["why", "--last", "--json"])).unwrap();
    assert_eq!(latest["session"], "later");
}

#[test]
fn ledger_of_a_newer_version_is_untouched_and_reported() {
    let place = Place::new();
    place.sql("PRAGMA user_version = 99");
    let gateway = place.serve();
    assert_eq!(place.first_turn(&gateway, "new"), None);
    assert!(ledger(&gateway).contains("newer muninn (version 99"), "{}", ledger(&gateway));
    let report = place.doctor(&gateway);
    assert!(report.only("ledger", "bad").contains("newer muninn (version 99"));
    assert!(report.only("running gateway", "bad").contains("version 99"));
    assert!(place.kept().is_empty());
    place.sql("PRAGMA user_version = 3");
    assert_eq!(place.second_turn(&place.serve()), [place.block.as_str()], "it is as it was");
}

/// A command to which file modes apply even if the tests run as root; `None` if that is impossible.
fn bound_by_modes(env: &TestEnv, arguments: &[&str], directory: &Path) -> Option<Command> {
    let probe = env.path("probe");
    std::fs::create_dir(&probe).ok();
    set_mode(&probe, 0o500);
    let wrapped = |program: &str| {
        let mut command = Command::new("setpriv");
        env.clean(&mut command);
        command.args(["--bounding-set", "-dac_override", "--", program]);
        command
    };
    let mut command = if std::fs::write(probe.join("x"), "").is_err() {
        env.muninn()
    } else {
        std::fs::remove_file(probe.join("x")).unwrap();
        let mut touch = wrapped("touch");
        let is_bound = touch.arg(probe.join("x")).status().is_ok_and(|status| !status.success());
        is_bound.then(|| wrapped(MUNINN))?
    };
    command.args(arguments).current_dir(directory);
    Some(command)
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn unwritable_state_directory_is_reported() {
    let place = Place::new();
    set_mode(&place.env.state_dir(), 0o500);
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let Some(serve) = bound_by_modes(&place.env, &serve, &place.root) else {
        println!("skipped: modes bind nobody here");
        return;
    };
    let gateway = Gateway::spawn(serve).unwrap();
    assert_eq!(place.first_turn(&gateway, "new"), None);
    let health = ledger(&gateway);
    assert!(health.contains("readonly") || health.contains("denied"), "{health}");
    drop(place.doctor(&gateway));
    let report = output(bound_by_modes(&place.env, &["doctor", "--json"], &place.root).unwrap());
    let report = Report::read(report);
    assert!(report.only("state", "bad").contains("ermission denied"), "{}", report.value());
    assert!(report.only("running gateway", "bad").contains(&health));
    set_mode(&place.env.state_dir(), 0o700);
}
