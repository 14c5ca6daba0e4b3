//! A gateway that several people share, and their keys.

use std::path::PathBuf;

use muninn_tests::http::Response;
use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::FILES;

/// A key as `muninn key new` makes it: the key itself and the lines for the configuration.
pub(super) struct Key {
    pub(super) key: String,
    pub(super) toml: String,
}

pub(super) fn new_key(env: &TestEnv, name: &str) -> Key {
    let made: Value = serde_json::from_str(&env.stdout_of(&env.path("home"), &["key", "new", name, "--json"])).unwrap();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    assert_eq!(text("name"), name);
    Key { key: text("key"), toml: text("toml") }
}

impl Key {
    /// The `x-muninn-key` header with it.
    pub(super) fn header(&self) -> (&str, &str) {
        ("x-muninn-key", &self.key)
    }
}

/// A gateway that is shared by the holders of some keys.
pub(super) struct Shared {
    pub(super) env: TestEnv,
    pub(super) upstream: Upstream,
    pub(super) root: PathBuf,
    pub(super) gateway: Gateway,
    /// Holder of a key without restrictions.
    pub(super) ana: Key,
    /// As the test says.
    pub(super) ben: Key,
}

impl Shared {
    pub(super) fn new(bens: &str) -> Shared {
        Shared::with(Upstream::start(), bens)
    }

    /// `bens` are lines of ben's entry; `ROOT` in them is the served repository.
    pub(super) fn with(upstream: Upstream, bens: &str) -> Shared {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
        let bens = bens.replace("ROOT", root.to_str().unwrap());
        env.connect_with(&upstream, &format!("{}{}{bens}\n", ana.toml, ben.toml));
        let gateway = env.serve(&root, &[]);
        Shared { env, upstream, root, gateway, ana, ben }
    }

    pub(super) fn wait_ready(&self) {
        wait_until("a ready index", || {
            let health = self.get("/healthz", &self.ana).json();
            (health["index"]["state"] == "ready").then_some(())
        });
    }

    pub(super) fn get(&self, target: &str, key: &Key) -> Response {
        self.gateway.request("GET", target, &[key.header()], b"")
    }

    pub(super) fn post(&self, target: &str, key: &Key, body: &str) -> Response {
        self.gateway.post(target, &[key.header()], body.as_bytes())
    }
}

/// An error's type and code, where the path's wire format has them.
pub(super) fn kind(response: &Response) -> (String, Option<String>) {
    let error = response.json()["error"].clone();
    let text = |field: &str| error[field].as_str().map(str::to_owned);
    (text("type").unwrap(), text("code"))
}
