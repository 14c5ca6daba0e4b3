//! Planning over a store that takes its time, fails half way, or whose client leaves.

use std::cell::Cell;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use futures_util::future::poll_fn;
use http::HeaderMap;
use muninn_config::{Overrides, load};
use muninn_ledger::{
    Counters, Entry, KeyUsage, LedgerHealth, NewEntry, ReceiptsOf, Store, StoreCounts, StoreError, TurnKey, UsageSum,
    Use,
};
use muninn_tests::TestEnv;

use super::*;

const BODY: &str =
    r#"{"model":"m","messages":[{"role":"user","content":"How does refill_tokens fill the token bucket?"}]}"#;
const BEFORE: &str = "/// Fills the token bucket at its rate.\npub fn refill_tokens(bucket: &mut Bucket) {\n    bucket.tokens += bucket.rate;\n}\n";
const AFTER: &str = "/// Fills the token bucket to the brim.\npub fn refill_tokens(bucket: &mut Bucket) {\n    bucket.tokens = bucket.most;\n}\n";

thread_local! {
    /// How often the store was waited for. The number of other waits, such as for the search, depends on the machine.
    static STORE_WAITS: Cell<usize> = const { Cell::new(0) };
}

struct Home {
    env: TestEnv,
    root: PathBuf,
}

impl Home {
    fn new() -> Home {
        let env = TestEnv::new("no binary");
        let root =
            env.repository("served", &[("src/bucket.rs", BEFORE), ("README.md", "# limits\n\nA token bucket.\n")]);
        Home { env, root }
    }

    /// An application as after a start, on this state directory.
    fn app(&self, state: &str, fails: Option<Fails>) -> Arc<App> {
        let file = self.env.path("muninn.toml");
        std::fs::write(&file, "discover = false\n[context]\ndeadline_ms = 60000\n").unwrap();
        let overrides = Overrides { config: Some(file), listen: None };
        let config = load(&overrides).unwrap();
        let mut app = App::with_state(config, &self.root, 0, &self.env.path(state)).unwrap();
        app.workspace.refresh(&()).unwrap();
        let inner = app.store.take().unwrap();
        app.store = Some(Arc::new(Slow { inner, fails }));
        Arc::new(app)
    }

    fn write(&self, text: &str) {
        std::fs::write(self.root.join("src/bucket.rs"), text).unwrap();
    }
}

/// Plans a request. Returns the text that it would insert, and its receipt; `None` if the client left: it leaves at the wait for
/// the store that follows `patience` others.
async fn planned(app: &Arc<App>, patience: usize) -> Option<(String, Receipt)> {
    planned_for(app, (WireFormat::Chat, BODY), patience).await
}

async fn planned_for(app: &Arc<App>, (format, body): (WireFormat, &str), patience: usize) -> Option<(String, Receipt)> {
    let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
    let (caller, headers) = (Caller::local(None), HeaderMap::new());
    let identity = identify(&headers, &prompt);
    let (progress, _watching) = ProgressSender::new();
    let asked = PlanRequest {
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
    let receipt = new_receipt(app, &caller, format, "id", "m");
    let mut planning = pin!(plan(app, asked, receipt));
    STORE_WAITS.set(0);
    let plan = poll_fn(|context| match planning.as_mut().poll(context) {
        Poll::Ready(plan) => Poll::Ready(Some(plan)),
        Poll::Pending if STORE_WAITS.get() > patience => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    plan.await.map(|plan| {
        let inserted = plan.insertions.iter().map(|insertion| insertion.bytes.as_str());
        (inserted.collect(), plan.receipt)
    })
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// Waits until all that was asked of the store is done.
async fn blocks_of(app: &App) -> i64 {
    let store = app.store.as_ref().unwrap();
    // Another row, behind those that were asked for before.
    store.record(TurnKey::for_test(1), NewEntry::default()).await.unwrap();
    store.flush().await;
    store.counts().await.unwrap().blocks
}

#[test]
fn each_text_of_a_request_is_decoded_once() {
    let home = Home::new();
    let app = home.app("state", None);
    let text = |text: &str| serde_json::json!({"type": "text", "text": text});
    let turn = |role: &str, texts: Vec<serde_json::Value>| serde_json::json!({"role": role, "content": texts});
    let system = format!("You are an agent.\nWorking directory: {}\n", home.root.display());
    let reminder = format!("<system-reminder>\nPrimary working directory: {}\n</system-reminder>", home.root.display());
    let body = serde_json::json!({
        "model": "m", "stream": true, "system": [text(&system), text("Be \"brief\".")],
        "messages": [
            turn("user", vec![text(&reminder), text("What does\nthis do?")]),
            turn("assistant", vec![text("It fills\na bucket.")]),
            turn("user", vec![text("How does\nrefill_tokens fill the token bucket?")]),
        ],
    });
    let (body, before) = (body.to_string(), muninn_wire::decoded_texts());
    let (inserted, _) = run(planned_for(&app, (WireFormat::Messages, &body), usize::MAX)).unwrap();
    assert!(inserted.contains("at its rate"), "{inserted}");
    assert_eq!(muninn_wire::decoded_texts() - before, 6, "of two system texts and four others");
}

#[test]
fn a_client_that_leaves_at_any_wait_for_the_store_gets_on_its_return_what_the_ledger_says() {
    let home = Home::new();
    let (mut recorded, mut unrecorded) = (0, 0);
    for patience in 0.. {
        home.write(BEFORE);
        let app = home.app(&format!("state-{patience}"), None);
        let finished = run(planned(&app, patience));
        let blocks = run(blocks_of(&app));
        if let Some((inserted, _)) = &finished {
            assert!(inserted.contains("at its rate"), "{inserted}");
            assert_eq!(blocks, 1, "what is inserted is in the ledger");
        }
        // What would be found anew is something else by now.
        home.write(AFTER);
        drop(app);
        let app = home.app(&format!("state-{patience}"), None);
        let (again, _) = run(planned(&app, usize::MAX)).unwrap();
        match blocks {
            0 => assert!(again.contains("to the brim"), "after {patience} waits: {again}"),
            _ => assert!(again.contains("at its rate"), "after {patience} waits: {again}"),
        }
        assert_eq!(run(planned(&app, usize::MAX)).unwrap().0, again);
        match finished {
            Some(_) => break,
            None if blocks == 0 => unrecorded += 1,
            None => recorded += 1,
        }
    }
    assert!(recorded > 0 && unrecorded > 2, "{recorded} and {unrecorded} times");
}

#[test]
fn a_store_that_fails_half_way_leaves_nothing_injected() {
    let home = Home::new();
    for fails in [Fails::Entries, Fails::Record] {
        let app = home.app(&format!("state-{fails:?}"), Some(fails));
        let (inserted, receipt) = run(planned(&app, usize::MAX)).unwrap();
        assert_eq!(inserted, "", "{fails:?}");
        assert_eq!(receipt.outcome, Outcome::Failed);
        assert_eq!(receipt.reason.as_deref(), Some("the thread of the ledger at a test did not answer"));
        run(app.store.as_ref().unwrap().flush());
        drop(app);
        let app = home.app(&format!("state-{fails:?}"), None);
        let (again, _) = run(planned(&app, usize::MAX)).unwrap();
        match fails {
            // It went without, and stays so.
            Fails::Record => assert_eq!(again, ""),
            // Nothing is known of it.
            Fails::Entries => assert!(again.contains("at its rate"), "{again}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fails {
    Entries,
    Record,
}

/// A store whose every answer takes its time, as over a network. One of its methods may fail half way.
struct Slow {
    inner: Arc<dyn Store>,
    fails: Option<Fails>,
}

impl Slow {
    async fn half_way(&self, method: Option<Fails>) -> Result<(), StoreError> {
        STORE_WAITS.set(STORE_WAITS.get() + 1);
        tokio::task::yield_now().await;
        match method {
            Some(method) if self.fails == Some(method) => Err(StoreError::Unanswered { path: "a test".to_owned() }),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Slow {
    fn counters(&self) -> Arc<dyn Counters> {
        self.inner.counters()
    }

    async fn entries(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        self.half_way(Some(Fails::Entries)).await?;
        let entries = self.inner.entries(keys).await;
        self.half_way(None).await?;
        entries
    }

    async fn record(&self, key: TurnKey, entry: NewEntry) -> Result<Entry, StoreError> {
        self.half_way(Some(Fails::Record).filter(|_| entry.block.is_some())).await?;
        let recorded = self.inner.record(key, entry).await;
        self.half_way(None).await?;
        recorded
    }

    async fn record_without_block(&self, key: TurnKey, entry: NewEntry) {
        let _never = self.half_way(None).await;
        self.inner.record_without_block(key, entry).await;
    }

    fn note_uses(&self, uses: Vec<Use>) {
        self.inner.note_uses(uses);
    }

    fn note_receipt(&self, receipt: Receipt) {
        self.inner.note_receipt(receipt);
    }

    fn note_usage(&self, key: &str, day: jiff::civil::Date, usage: UsageSum) {
        self.inner.note_usage(key, day, usage);
    }

    async fn usage(&self, today: jiff::civil::Date) -> Result<Vec<KeyUsage>, StoreError> {
        self.inner.usage(today).await
    }

    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError> {
        self.inner.receipt(id).await
    }

    async fn receipt_ids(&self, part: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.inner.receipt_ids(part, limit).await
    }

    async fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        self.inner.receipts(limit).await
    }

    async fn receipts_of(&self, asked: ReceiptsOf<'_>) -> Result<Vec<Receipt>, StoreError> {
        self.inner.receipts_of(asked).await
    }

    async fn measured(&self, worktree: &str, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        self.inner.measured(worktree, limit).await
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        self.inner.counts().await
    }

    async fn health(&self) -> LedgerHealth {
        self.inner.health().await
    }

    async fn flush(&self) {
        self.inner.flush().await;
    }
}
