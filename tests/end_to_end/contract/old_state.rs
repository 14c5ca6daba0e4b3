//! A ledger of an earlier version: its conversations continue with every block replayed.
//!
//! With `UPDATE_GOLDEN=1` the ledger is made anew, by the binary under test; that is for a version which people upgrade
//! from. The conversations name a directory that is not served, so that no path of the machine is in their keys.

use std::path::{Path, PathBuf};

use muninn_tests::{TestEnv, Upstream};

use super::assert_recorded;
use crate::MUNINN;
use crate::formats::{Format, Turn, backend, call};
use crate::stage::{FILES, QUESTION};

/// Formats whose system text names the directory: in chat completions a system message could be anyone's.
const FORMATS: [Format; 2] = [Format::Messages, Format::Responses];

fn kept_ledger() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/contract/old_state/state.db")
}

/// The first turn, or the first and a second.
fn request(format: Format, turns: usize) -> String {
    let user = |words: &str| Turn::User(words.to_owned());
    let second = [
        Turn::Called("call_1".to_owned()),
        Turn::Result("call_1".to_owned()),
        user("How does parse_invoice read an Invoice from a line?"),
    ];
    let all = [&[user(QUESTION)][..], &second[..if turns == 1 { 0 } else { 3 }]].concat();
    let body = format.request(&format!("{}-1", format.dialect()), false, &all);
    body.replace("Be brief.", "Working directory: /srv/demo")
}

/// The block in a body, as JSON has it.
fn block(body: &str) -> &str {
    let start = body.find("<muninn-context>").expect("a block");
    let length = body[start..].find("</muninn-context>").expect("its end");
    &body[start..start + length]
}

#[test]
fn conversations_of_an_earlier_version_go_on_with_their_blocks() {
    let upstream = Upstream::start_with(call);
    let env = TestEnv::new(MUNINN);
    let backends = FORMATS.map(|format| backend(format.dialect(), &upstream.url(), format));
    let routes = FORMATS.map(Format::dialect);
    let routes = routes.map(|name| format!("[[routes]]\nmodel = \"{name}-*\"\nbackend = \"{name}\"\n"));
    env.write_config(&format!("{}{}", backends.concat(), routes.concat()));
    let root = env.repository("demo", &FILES);
    let is_made_anew = std::env::var_os("UPDATE_GOLDEN").is_some();
    if !is_made_anew {
        std::fs::create_dir_all(env.state_dir()).unwrap();
        std::fs::copy(kept_ledger(), env.ledger()).unwrap();
        // A new exploration would find something else.
        for (path, text) in FILES {
            std::fs::write(root.join(path), text.replace("fn refill", "fn refill_slowly")).unwrap();
        }
    }
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    for format in FORMATS {
        let headers = [("x-muninn-repo", root.to_str().unwrap()), ("x-session-id", format.dialect())];
        let asked = |turns| {
            let response = gateway.post(format.path(), &headers, request(format, turns).as_bytes());
            (upstream.last().text(), response.outcome().to_owned())
        };
        let (first, outcome) = asked(1);
        assert_eq!(outcome, if is_made_anew { "injected" } else { "replayed" });
        assert_recorded(&format!("old_state/{}", format.dialect()), &first);
        let (second, _) = asked(2);
        assert!(second.contains(block(&first)), "{second}");
    }
    gateway.stop_cleanly();
    if is_made_anew {
        assert!(!env.ledger().with_extension("db-wal").exists());
        std::fs::copy(env.ledger(), kept_ledger()).unwrap();
    }
}
