//! Model servers on loopback, without a configured backend: the owner of a listener decides whether it is used.

use std::path::PathBuf;

use muninn_tests::{Gateway, TestEnv, Upstream};

use crate::MUNINN;
use crate::stage::{error_message, simple};

/// A gateway that looks at the port of one server.
fn gateway_beside(env: &TestEnv, server: &Upstream, more: &str) -> Gateway {
    env.serve_with(&repository_beside(env, server, more), &[], |command| {
        command.env_remove("MUNINN_DISCOVER");
    })
}

fn repository_beside(env: &TestEnv, server: &Upstream, more: &str) -> PathBuf {
    env.write_config(&format!("{more}[test]\ndiscovery_ports = [{}]\n", server.address.port()));
    env.repository("demo", &[])
}

/// Gives a server to another user. The kernel lets only root do this, so another user's tests end here; the library's
/// table tests cover the decision for them.
fn is_given(server: &Upstream, user: u32) -> bool {
    let given = server.give_to(user);
    if given.is_err() {
        println!("skipped: only root can make the listener of another user");
    }
    given.is_ok()
}

#[test]
fn listener_of_another_person_gets_no_byte() {
    // 65534 stands for a user whom the system cannot name.
    for (user, is_used, told) in [
        (0, true, "its process belongs to you"),
        (33, true, "system account"),
        (999, true, "user id 999"),
        (65_534, true, "does not tell to whom"),
        (1000, false, "another user"),
        (1001, false, "user id 1001"),
        (60_001, false, "user id 60001"),
        (100_033, false, "user id 100033"),
        (u32::MAX - 1, false, "user id 4294967294"),
    ] {
        let (env, server) = (TestEnv::new(MUNINN), Upstream::start());
        if !is_given(&server, user) {
            return;
        }
        let gateway = gateway_beside(&env, &server, "");
        for (target, body) in simple("hello") {
            let response = gateway.post(target, &[], body.as_bytes());
            assert_eq!(response.status, if is_used { 200 } else { 503 }, "{user}: {}", response.text());
        }
        assert_eq!(gateway.request("GET", "/v1/models", &[], b"").status, 200);
        let said = gateway.stop().stderr;
        assert_eq!(said.matches(told).count(), 1, "{user} is named once: {said}");
        // The first request can search before the start does. It tells in the log.
        let is_warned = said.contains("warning: ") || said.contains(" WARN ");
        assert_eq!(is_warned, !is_used || user == 65_534, "{said}");
        assert_eq!(server.requests().is_empty(), !is_used, "{user}: {:?}", server.requests());
    }
}

#[test]
fn port_that_changes_hands_is_left_at_once() {
    let (env, server) = (TestEnv::new(MUNINN), Upstream::start());
    let gateway = gateway_beside(&env, &server, "");
    let (target, body) = &simple("hello")[0];
    assert_eq!(gateway.post(target, &[], body.as_bytes()).status, 200);
    server.take_requests();
    if !is_given(&server, 1001) {
        return;
    }
    let response = gateway.post(target, &[], body.as_bytes());
    assert_eq!(response.status, 503, "{}", error_message(target, &response));
    assert!(server.requests().is_empty());
    gateway.wait_logged("another user", 1);
}

#[test]
fn printed_lines_of_configuration_accept_a_refused_server() {
    let (env, server) = (TestEnv::new(MUNINN), Upstream::start());
    if !is_given(&server, 1001) {
        return;
    }
    let said = gateway_beside(&env, &server, "").stop().stderr;
    let lines = said.lines().skip_while(|line| *line != "[[backends]]");
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4, "{said}");
    let gateway = gateway_beside(&env, &server, &format!("{}\n", lines.join("\n")));
    let (target, body) = &simple("hello")[0];
    assert_eq!(gateway.post(target, &[], body.as_bytes()).status, 200);
}

#[test]
fn commands_say_which_server_they_use_and_why() {
    let (env, server) = (TestEnv::new(MUNINN), Upstream::start());
    let root = repository_beside(&env, &server, "");
    let said = |arguments: &[&str]| {
        let mut command = env.muninn();
        command.env_remove("MUNINN_DISCOVER").current_dir(&root).args(arguments);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let used = format!("at 127.0.0.1:{} (model mock-1) because no backend is configured", server.address.port());
    for arguments in [&["run", "--", "true"][..], &["ask", "hello"]] {
        let said = said(arguments);
        assert!(said.contains(&used) && said.contains("belongs to you"), "{arguments:?}: {said}");
    }
    server.take_requests();
    if is_given(&server, 1001) {
        for arguments in [&["run", "--", "true"][..], &["ask", "hello"]] {
            let said = said(arguments);
            assert_eq!(said.matches("not using").count(), 1, "{arguments:?}: {said}");
        }
        assert!(server.requests().is_empty());
    }
}

#[test]
fn doctor_names_foreign_servers_and_a_foreign_program_on_its_own_port() {
    let (env, server, taken) = (TestEnv::new(MUNINN), Upstream::start(), Upstream::start());
    let root = repository_beside(&env, &server, &format!("listen = \"{}\"\n", taken.address));
    let printed = || {
        let mut command = env.muninn();
        command.env_remove("MUNINN_DISCOVER").current_dir(&root).arg("doctor");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let before = printed();
    assert!(!before.contains("another user"), "{before}");
    if is_given(&server, 1001) && is_given(&taken, 1002) {
        server.take_requests();
        taken.take_requests();
        let printed = printed();
        for line in [
            format!("not using {}", server.address),
            format!("{} is taken: its process belongs to another user, user id 1002", taken.address),
        ] {
            assert!(printed.contains(&line), "{line:?} is missing: {printed}");
        }
        assert!(server.requests().is_empty() && taken.requests().is_empty());
    }
}
