//! Maps shrink where they lose, and recover where they gain.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_config::{Overrides, load};
use muninn_context_engine::value::Prices;
use muninn_ledger::{Effect, Estimate, ReceiptItem};
use muninn_session::identify;
use muninn_tests::TestEnv;
use muninn_wire::{Prompt, WireFormat};

use super::*;
use crate::deep::{DeepLane, ProgressSender};
use crate::turn::{Plan, PlanRequest, new_receipt, plan};
use crate::{App, Workspace};

const QUESTION: &str = "how does refill_bucket refill the token bucket of a shard";

/// The receipt of a map of 100 tokens at a price of 555, and its gain.
fn measured(number: usize, worktree: &str, gain: f64) -> Receipt {
    let estimate = Estimate { price: 555.0, gain: Some(9_000.0), call: Some(1_000.0) };
    let effect = Effect { exploring_calls: 6, places_used: 0, files_missed: 0, spared_calls: 0.0, gain: Some(gain) };
    Receipt {
        tokens: 100,
        estimate: Some(estimate),
        effect: Some(effect),
        ..Receipt::of(format!("{number:06}"), worktree.as_ref(), QUESTION)
    }
}

fn balance(gains: &[f64]) -> Balance {
    let mut balance = Balance::default();
    for (number, gain) in gains.iter().enumerate() {
        balance.note(&measured(number, "/w", *gain));
    }
    balance
}

#[test]
fn factor_is_the_share_of_the_price_that_was_gained() {
    let factor = |gain: f64| balance(&[gain; WINDOW]).factor();
    assert_eq!(balance(&[0.0; WINDOW - 1]).factor(), 1.0);
    assert_eq!((factor(555.0), factor(9_000.0)), (1.0, 1.0));
    assert_eq!((factor(0.0), factor(55.5)), (0.125, 0.125));
    assert!((factor(277.5) - 0.5).abs() < 1e-6 && (factor(554.0) - 1.0).abs() < 0.01);
    let reason = balance(&[155.0; WINDOW]).loss().unwrap();
    assert_eq!(reason, (31_000.0, 111_000.0));
}

#[test]
fn only_the_newest_effects_count_and_each_receipt_once() {
    let lost_then_won: Vec<f64> = [[0.0; WINDOW], [600.0; WINDOW]].concat();
    assert_eq!(balance(&lost_then_won).factor(), 1.0);
    assert!(balance(&lost_then_won[..WINDOW + 20]).factor() < 0.2);
    let mut balance = balance(&[0.0; WINDOW]);
    for number in 0..WINDOW {
        balance.note(&measured(number, "/w", 600.0));
    }
    assert_eq!((balance.factor(), balance.maps.len()), (1.0, WINDOW));
}

#[test]
fn price_of_memory_and_unknown_effects_do_not_count() {
    let mut balance = Balance::default();
    for number in 0..WINDOW {
        let mut receipt = measured(number, "/w", 300.0);
        let memory = r#"{"kind":"memory","source":"01","tokens":50,"score":1.0,"why":""}"#;
        receipt.items = vec![serde_json::from_str::<ReceiptItem>(memory).unwrap()];
        balance.note(&receipt);
        balance.note(&Receipt { effect: None, ..measured(number + WINDOW, "/w", 0.0) });
    }
    assert_eq!(balance.factor(), 1.0);
    let free = Estimate { price: 0.0, gain: Some(0.0), call: Some(0.0) };
    for number in 0..WINDOW {
        let estimate = Some(free);
        balance.note(&Receipt { estimate, ..measured(number + 2 * WINDOW, "/w", 0.0) });
    }
    assert_eq!(balance.factor(), 1.0);
}

struct Home {
    env: TestEnv,
    root: PathBuf,
}

impl Home {
    /// A repository in which many files answer the question equally well.
    fn new() -> Home {
        let env = TestEnv::new("no binary");
        let text =
            |at: usize| format!("/// Refills the token bucket of shard {at}.\npub fn refill_bucket_{at}() {{}}\n");
        let files: Vec<(String, String)> = (0..12).map(|at| (format!("src/shard_{at}.rs"), text(at))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let root = env.repository("served", &files);
        Home { env, root }
    }

    /// An application as after a start.
    fn app(&self) -> Arc<App> {
        let file = self.env.path("muninn.toml");
        let settings = "discover = false\n[context]\ndeadline_ms = 60000\nthreshold = 0.0\n";
        std::fs::write(&file, settings).unwrap();
        let overrides = Overrides { config: Some(file), listen: None };
        let config = load(&overrides).unwrap();
        let app = App::with_state(config, &self.root, 0, &self.env.path("state")).unwrap();
        app.workspace.refresh(&()).unwrap();
        app.workspace.load_balance(&**app.store.as_ref().unwrap()).unwrap();
        Arc::new(app)
    }
}

/// Plans the first turn of a session of a client with file tools.
fn planned(app: &Arc<App>, session: &str) -> Plan {
    let body = format!(
        r#"{{"model":"m","tools":[{{"type":"function","function":{{"name":"read"}}}}],"messages":[{{"role":"user","content":"{QUESTION}"}}]}}"#
    );
    let prompt = Prompt::parse(WireFormat::Chat, body.as_bytes()).unwrap();
    let (caller, mut headers) = (Caller::local(None), HeaderMap::new());
    headers.insert("x-muninn-session", session.parse().unwrap());
    let identity = identify(&headers, &prompt);
    let (progress, _watching) = ProgressSender::new();
    let request = PlanRequest {
        caller: &caller,
        headers: &headers,
        prompt: &prompt,
        identity: &identity,
        window: None,
        prices: Prices::default(),
        deep: DeepLane::Off,
        progress,
        with_preamble: true,
    };
    let receipt = new_receipt(app, &caller, WireFormat::Chat, session, "m");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(plan(app, request, receipt))
}

fn inserted(plan: &Plan) -> String {
    plan.insertions.iter().fold(String::new(), |mut all, insertion| {
        write!(all, "{}", insertion.bytes).unwrap();
        all
    })
}

/// Gives the last maps of the workspace this gain, as the learner does.
fn observe(workspace: &Workspace, store: &dyn Store, from: usize, gain: f64) {
    for number in from..from + WINDOW {
        let receipt = measured(number, &workspace.root.display().to_string(), gain);
        workspace.note_effect(&receipt);
        store.note_receipt(receipt);
    }
    block_on(store.flush());
}

#[test]
fn maps_that_lose_shrink_across_a_restart_and_recover() {
    let home = Home::new();
    let app = home.app();
    let whole = planned(&app, "before");
    let estimate = whole.receipt.estimate.unwrap();
    assert_eq!(whole.receipt.reason, None);
    assert!(estimate.gain.unwrap() > estimate.price, "{estimate:?}");

    observe(&app.workspace, &**app.store.as_ref().unwrap(), 0, 100.0);
    let shrunk = planned(&app, "after");
    let reason = "packs were reduced: the last 200 lost 91000 tokens";
    assert_eq!(shrunk.receipt.reason.as_deref(), Some(reason));
    assert!(shrunk.receipt.tokens < whole.receipt.tokens);
    assert_eq!(shrunk.receipt.items[0].source, whole.receipt.items[0].source);
    drop(app);

    let app = home.app();
    let again = planned(&app, "restarted");
    assert_eq!(inserted(&again), inserted(&shrunk));
    assert_eq!(again.receipt.reason.as_deref(), Some(reason));
    // Earlier turns are replayed as they were.
    assert_eq!(inserted(&planned(&app, "before")), inserted(&whole));

    observe(&app.workspace, &**app.store.as_ref().unwrap(), WINDOW, 600.0);
    let recovered = planned(&app, "recovered");
    assert_eq!(inserted(&recovered), inserted(&whole));
    assert_eq!(recovered.receipt.reason, None);
    assert_eq!(inserted(&planned(&app, "after")), inserted(&shrunk));
}
