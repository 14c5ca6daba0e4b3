//! Keys at the WebSocket.

use muninn_tests::socket::{Received, Socket};
use serde_json::{Value, json};

use super::stage::Shared;
use crate::websocket::{create, last, message};

#[test]
fn an_upgrade_that_is_refused_sends_the_client_to_http_which_tells_the_reason() {
    let shared = Shared::new("requests_per_minute = 2");
    let open = |headers: &[(&str, &str)]| Socket::open(shared.gateway.address, headers);
    for headers in [&[][..], &[("authorization", "Bearer muninn-wrong")]] {
        let refused = open(headers).err().unwrap();
        assert_eq!(refused.status, 426, "{}", refused.body);
        assert!(refused.body.contains("key"), "{}", refused.body);
    }
    // An upgrade is no request; each frame is one.
    for _ in 0..4 {
        assert!(open(&[shared.ben.header()]).is_ok());
    }
    let mut socket = open(&[shared.ben.header()]).unwrap();
    let mut statuses = Vec::new();
    for _ in 0..3 {
        socket.send(create(None, &[message("user", "hi")], json!({})));
        statuses.push(last(&socket.response())["status"].clone());
    }
    assert_eq!(statuses, [Value::Null, Value::Null, json!(429)]);
    // No other path answers without counting.
    let upgrade = [shared.ben.header(), ("connection", "upgrade"), ("upgrade", "websocket")];
    assert_eq!(shared.gateway.request("GET", "/v1/models", &upgrade, b"").status, 429);
    // A page of another origin is refused before.
    let page = [shared.ana.header(), ("origin", "https://evil.example")];
    assert_eq!(open(&page).err().unwrap().status, 403);
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let upgrade = [shared.ana.header(), ("connection", "upgrade"), ("upgrade", "websocket")];
        assert_eq!(shared.gateway.request("GET", path, &upgrade, b"").status, 426, "{path}");
    }
}

#[test]
fn a_key_that_is_revoked_closes_its_connections() {
    let shared = Shared::new("");
    let mut socket = Socket::open(shared.gateway.address, &[shared.ben.header()]).unwrap();
    socket.send(create(None, &[message("user", "hi")], json!({})));
    assert_eq!(last(&socket.response())["type"], "response.completed");
    shared.env.connect_with(&shared.upstream, &shared.ana.toml);
    shared.gateway.hang_up();
    assert_eq!(socket.receive(), Received::Closed(1008));
}
